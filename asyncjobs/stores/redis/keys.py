"""The names of all keys, and which of them a job is in. `docs/reference/redis.md` is the table of them.

A suffix is a key without the prefix: scripts get the prefix as their one key and build the rest from it.
"""

from typing import Final

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import EntryKind

LANES: Final = 5

QUEUES: Final = "queues"
PAUSED: Final = "paused"
WORKERS: Final = "workers"
INDEXES: Final = "jobs:indexes"
TRASH: Final = "trash"
FAULTS: Final = "jobs:faults"

_PLACES: Final = {
    JobStatus.WAITING: "waiting",
    JobStatus.SCHEDULED: "delayed",
    JobStatus.IN_PROGRESS: "inprogress",
    JobStatus.COMPLETED: "completed",
    JobStatus.FAILED: "dlq",
    JobStatus.CANCELED: "canceled",
}


def lane(priority: int) -> int:
    """−100…−61 is lane 0, 61…100 lane 4; the default priority 0 is in the middle one."""
    return min((priority + 100) // 40, LANES - 1)


def job(job_id: str) -> str:
    return f"job:{job_id}"


def journal(kind: EntryKind, job_id: str) -> str:
    return f"journal:{kind}:{job_id}"


def gone(job_id: str) -> str:
    return f"gone:{job_id}"


def stream(queue: str, number: int) -> str:
    return f"jobs:stream:{queue}:{number}"


def streams(queue: str) -> list[str]:
    """The queue's lanes, the most urgent first."""
    return [stream(queue, number) for number in reversed(range(LANES))]


def sorted_place(status: JobStatus, queue: str) -> str:
    return f"jobs:{_PLACES[status]}:{queue}"


def place(status: JobStatus, queue: str, priority: int) -> str:
    """The one place a job of this status is in."""
    return stream(queue, lane(priority)) if status == JobStatus.QUEUED else sorted_place(status, queue)


def index(queue: str, name: str) -> str:
    return f"jobs:index:{queue}:{name}"


def owner(name: str) -> str:
    return f"jobs:owner:{name}"


def tag(name: str) -> str:
    return f"jobs:tag:{name}"


def fault(digits: str) -> str:
    """The list of its dead jobs, by the time they died."""
    return f"jobs:fault:{digits}"


def indexes(queue: str, name: str, owned_by: str | None, tags: tuple[str, ...]) -> list[str]:
    """The lists by creation time that a job is in from `add` to `delete`."""
    owned = [owner(owned_by)] if owned_by is not None else []
    return [index(queue, name), *owned, *map(tag, tags)]


def bell(queue: str) -> str:
    """What those who wait for a job of the queue listen to."""
    return f"bell:{queue}"


def resumed(queue: str) -> str:
    """What those who wait for the end of a pause listen to instead."""
    return f"resumed:{queue}"


def receipt(key: str) -> str:
    return f"receipt:{key}"


def worker(worker_id: str) -> str:
    return f"worker:{worker_id}"


def series(minute: int) -> str:
    return f"series:{minute}"
