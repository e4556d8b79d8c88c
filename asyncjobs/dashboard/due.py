"""What falls due when: how many of the jobs that wait for their time, by spans of it."""

from itertools import pairwise
from typing import NamedTuple

from asyncjobs.stores.base import DAY_MS, LARGEST_TIME, MAX_DUE, Store

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
STEP_MS = 5 * MINUTE_MS  # of the next hour
STEPS = HOUR_MS // STEP_MS
LATE_MS = 10_000  # past its time: by then a worker that is free has taken a job


class Span(NamedTuple):
    """How many jobs fall due from `at` on and before `until`: MAX_DUE says so many, or more."""

    at: int
    until: int
    jobs: int

    @property
    def is_cut(self) -> bool:
        """Whether there may be more."""
        return self.jobs == MAX_DUE


class Ahead(NamedTuple):
    """What should have been taken by now, what falls due in an hour, by five minutes, and in a day, by the hour."""

    overdue: Span
    hour: list[Span]
    day: list[Span]


def look_ahead(store: Store, queue: str | None) -> Ahead:
    """All that falls due in this queue, or in all, with one request."""
    now = store.now()
    steps, hours = range(now, now + HOUR_MS, STEP_MS), range(now + HOUR_MS, now + DAY_MS + 1, HOUR_MS)
    edges = [-LARGEST_TIME, now - LATE_MS + 1, *steps, *hours]
    counted = zip(pairwise(edges), store.due(edges, queue=queue), strict=True)
    overdue, _, *ahead = [Span(at, until, jobs) for (at, until), jobs in counted]
    hour, later = ahead[:STEPS], ahead[STEPS:]
    first = Span(now, now + HOUR_MS, min(sum(span.jobs for span in hour), MAX_DUE))
    return Ahead(overdue, hour, [first, *later])
