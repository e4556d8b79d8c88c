"""Pauses of queues as text: `until:since:reason`, and behind a NUL who it was, if that is known."""

from asyncjobs.stores.base import Pause
from asyncjobs.stores.redis.codec import SEPARATOR


def written(pause: Pause) -> str:
    """Releases that know of nobody read it, too: at the end of the reason."""
    until = "" if pause.until is None else pause.until
    by = f"{SEPARATOR}{pause.by}" if pause.by else ""
    return f"{until}:{pause.since}:{pause.reason}{by}"


def read(queue: str, stored: bytes) -> Pause:
    until, since, rest = stored.decode().split(":", 2)
    reason, _, by = rest.partition(SEPARATOR)
    return Pause(
        queue=queue,
        since=int(since),
        reason=reason,
        until=int(until) if until else None,
        by=by or None,
    )
