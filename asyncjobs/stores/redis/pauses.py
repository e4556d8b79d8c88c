"""Pauses of queues as text: `until:since:by:reason`."""

from urllib.parse import quote, unquote

from asyncjobs.stores.base import Pause


def written(pause: Pause) -> str:
    """Who did it is quoted: it may have a colon, as only what comes last may."""
    until = "" if pause.until is None else pause.until
    return f"{until}:{pause.since}:{quote(pause.by or '', safe='')}:{pause.reason}"


def read(queue: str, stored: bytes) -> Pause:
    until, since, by, reason = stored.decode().split(":", 3)
    return Pause(
        queue=queue,
        since=int(since),
        reason=reason,
        until=int(until) if until else None,
        by=unquote(by) or None,
    )
