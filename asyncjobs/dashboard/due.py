"""What falls due when: jobs that wait for their time, counted by spans of it."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from asyncjobs.domain.job import Job

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
LATE_MS = 10_000  # past its time: by then a worker that is free has taken a job


class Due(NamedTuple):
    """How many jobs fall due in one span: those that run for the first time, and retries."""

    at: int
    until: int
    first: int
    again: int


def falling_due(jobs: Iterable[Job], *, now: int, each: int, spans: int) -> list[Due]:
    """One entry for each of the next spans, `each` milliseconds long, also where nothing falls due."""
    first: Counter[int] = Counter()
    again: Counter[int] = Counter()
    for job in jobs:
        (again if job.retry_count else first)[(job.score - now) // each] += 1
    starts = [now + number * each for number in range(spans)]
    return [Due(at, at + each, first[number], again[number]) for number, at in enumerate(starts)]


def overdue(jobs: Iterable[Job], *, now: int) -> int:
    """How many should have been taken by now."""
    return sum(job.score <= now - LATE_MS for job in jobs)
