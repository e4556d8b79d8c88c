"""Jobs and queues as text for terminals, and as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from asyncjobs.domain.job import FIELDS, Job, JobError, JobStatus
from asyncjobs.stores.base import Finding, QueueCounts, Resting

_TIMES: Final = frozenset(
    {
        "due_at",
        "created_at",
        "started_at",
        "completed_at",
        "updated_at",
        "claimed_until",
        "unique_until",
        "cancel_requested",
    }
)
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))


def safe(text: str) -> str:
    """The text with everything escaped that would move a cursor, ring a bell or turn the direction of reading."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def iso(ms: int | None) -> str | None:
    """A time in ISO 8601, in UTC, to the millisecond."""
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ago(ms: int, now: int) -> str:
    """A time as seen from now: `3m ago`, `in 2h`."""
    return f"in {span(ms - now)}" if ms > now else f"{span(now - ms)} ago"


def span(ms: int) -> str:
    """A duration in its largest unit."""
    unit, length = next(((unit, length) for unit, length in _UNITS if ms >= length), ("ms", 1))
    return f"{ms // length}{unit}"


def job_document(job: Job) -> dict[str, Any]:
    """Every field of a job under its name, times in ISO 8601."""
    fields = {name: getattr(job, name) for name in FIELDS}
    times = {name: iso(fields[name]) for name in _TIMES}
    return fields | times | {"status": job.status.name, "retry": job.retry and job.retry.to_json()}


def queue_document(counts: QueueCounts) -> dict[str, Any]:
    pause = counts.pause
    return {
        "queue": counts.queue,
        "counts": {status.name: counts.by_status.get(status, 0) for status in JobStatus},
        "oldest_at": iso(counts.oldest_at),
        "pause": pause
        and {"since": iso(pause.since), "until": iso(pause.until), "reason": pause.reason, "by": pause.by},
    }


def as_json(document: object) -> str:
    """One line of ASCII."""
    return json.dumps(document, default=_plain)


def _plain(value: Any) -> Any:
    return asdict(value)


def job_table(jobs: Sequence[Job], now: int) -> list[str]:
    rows = [(job.id, job.status.name, job.queue, job.name, ago(job.created_at, now), note(job, now)) for job in jobs]
    return table([("ID", "STATUS", "QUEUE", "NAME", "CREATED", ""), *rows])


def resting_document(resting: Resting) -> dict[str, Any]:
    """The job, when it was deleted, and until when it rests."""
    times = {"deleted_at": iso(resting.at), "rests_until": iso(resting.until)}
    return job_document(resting.job) | times


def trash_table(rests: Sequence[Resting], now: int) -> list[str]:
    rows = [
        (rest.job.id, rest.job.status.name, rest.job.queue, rest.job.name, ago(rest.at, now), ago(rest.until, now))
        for rest in rests
    ]
    return table([("ID", "STATUS", "QUEUE", "NAME", "DELETED", "UNTIL"), *rows])


def note(job: Job, now: int) -> str:
    """What one wants to know of a job in this status."""
    if job.status == JobStatus.SCHEDULED and job.due_at is not None:
        retry = f"retry {job.retry_count} " if job.retry_count else ""
        return f"{retry}due {ago(job.due_at, now)}"
    if job.status == JobStatus.IN_PROGRESS:
        return f"on {job.worker}" + (", asked to stop" if job.cancel_requested is not None else "")
    if job.error is not None and job.status in (JobStatus.FAILED, JobStatus.CANCELED):
        return f"{job.error.code}: {job.error.message}"
    return ""


def job_lines(job: Job, now: int) -> list[str]:
    """A job, a line for each field that says something, and the traceback as it is."""
    shown = {name: value for name in FIELDS if (value := getattr(job, name)) not in (None, "", ())}
    width = max(map(len, shown))
    lines = [f"{name:<{width}}  {safe(_shown(name, value, now))}" for name, value in shown.items()]
    traceback = job.error.traceback.splitlines() if job.error else []
    return lines + [f"    {safe(line)}" for line in traceback]


def _shown(name: str, value: Any, now: int) -> str:
    if name in _TIMES:
        return f"{iso(value)} ({ago(value, now)})"
    if isinstance(value, JobStatus):
        return value.name
    if isinstance(value, JobError):
        return f"{value.code}: {value.type} {value.message}"
    return value if isinstance(value, str) else as_json(value)


def queue_table(queues: Sequence[QueueCounts], now: int) -> list[str]:
    rows = [
        (
            counts.queue,
            *(str(counts.by_status.get(status, 0)) for status in JobStatus),
            "" if counts.oldest_at is None else span(max(0, now - counts.oldest_at)),
            _pause(counts),
        )
        for counts in queues
    ]
    return table([("QUEUE", *(status.name for status in JobStatus), "OLDEST", ""), *rows])


def _pause(counts: QueueCounts) -> str:
    if counts.pause is None:
        return ""
    until = f" until {iso(counts.pause.until)}" if counts.pause.until is not None else ""
    reason = f": {counts.pause.reason}" if counts.pause.reason else ""
    return f"paused{until}{reason}"


def finding_line(finding: Finding) -> str:
    return safe(f"{'healed' if finding.fixed else 'found'} {finding.code}: {finding.message}")


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell; the last one, the only one of any length, is cut."""
    cells = [[*map(safe, row[:-1]), safe(row[-1][:100])] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
