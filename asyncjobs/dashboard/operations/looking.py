"""A look at the jobs that an order meets first: how many of which sort, and a few of them. It takes but a moment."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from asyncjobs.dashboard.operations.meeting import Met
from asyncjobs.domain.job import Job, JobStatus

SAMPLES: Final = 5
LOOKED_AT: Final = 2_000  # jobs, and a page more
LEAST: Final = 200  # jobs that a page costs as much as, at least: an empty one was looked for among many


class Looked:
    """What was seen of jobs. They may be many and large, so they are counted and let go, but for a few."""

    def __init__(self) -> None:
        self.samples: list[Job] = []
        self.by_status: Counter[JobStatus] = Counter()
        self.by_name: Counter[str] = Counter()
        self.by_queue: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return self.by_status.total()

    def count(self, jobs: Sequence[Job]) -> None:
        self.samples += jobs[: SAMPLES - len(self.samples)]
        self.by_status.update(job.status for job in jobs)
        self.by_name.update(job.name for job in jobs)
        self.by_queue.update(job.queue for job in jobs)


def look(found: Iterator[Met]) -> tuple[Looked, bool]:
    """What is met first, and whether that is all."""
    looked, budget = Looked(), LOOKED_AT
    for some in found:
        looked.count(some.jobs)
        budget -= max(some.looked_at, LEAST)
        if budget <= 0:
            return looked, next(found, None) is None
    return looked, True
