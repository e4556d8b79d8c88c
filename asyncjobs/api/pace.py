"""When it is worth asking again: an estimate from how long jobs of the queue wait, and of the handler run."""

import threading
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.errors import StoreError
from asyncjobs.stores.base import Query

SHORTEST_S: Final = 1
UNKNOWN_S: Final = 2
LONGEST_S: Final = 60
SAMPLE: Final = 20  # jobs of a handler that are looked at
WAITS_FOR_S: Final = 2.0  # how long what was learned of a queue holds
RUNS_FOR_S: Final = 30.0  # and of a handler
MOST_KEPT: Final = 1_000

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """What was learned, for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, key: K, learn: Callable[[], V]) -> V:
        now = time.monotonic()
        kept = self._kept.get(key)
        if kept is not None and now - kept[0] < self._seconds:
            return kept[1]
        value = learn()
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = now, value
        return value


class Pace:
    """What was learned of one engine's queues and handlers."""

    def __init__(self) -> None:
        self._waits = Remembered[None, dict[str, int]](WAITS_FOR_S)
        self._runs = Remembered[str, int](RUNS_FOR_S)

    def retry_after(self, engine: Engine, job: Job) -> int:
        """In how many seconds to look at an unfinished job again; the longer it takes already, the later.

        Never fails: what is asked for is an estimate, and mostly of a job that was stored a moment ago.
        """
        try:
            now = engine.store.now()
            left = self._left(engine, job, now)
        except StoreError:
            return UNKNOWN_S
        if left <= 0:
            left = (now - job.created_at) / 4
        return round(min(max(left / 1000, SHORTEST_S), LONGEST_S))

    def queues(self, engine: Engine) -> Mapping[str, int]:
        """For every queue that was ever used, as far as known: how many milliseconds a job waits there."""
        return self._waits.get(None, lambda: _waits_of(engine))

    def _left(self, engine: Engine, job: Job, now: int) -> float:
        run = self._runs.get(job.name, lambda: _run_of(engine, job.name))
        if job.status == JobStatus.IN_PROGRESS:
            return run - (now - (job.started_at or now))
        wait = self.queues(engine).get(job.queue, 0)
        if job.status == JobStatus.SCHEDULED:
            return (job.due_at or now) - now + wait + run
        return wait - (now - job.ready_at) + run


def pace_of(engine: Engine) -> Pace:
    return _paces.setdefault(engine, Pace())


def _waits_of(engine: Engine) -> dict[str, int]:
    """The oldest ready job of each queue has waited about as long as one that comes now will."""
    now = engine.store.now()
    return {counts.queue: now - (counts.oldest_at or now) for counts in engine.counts()}


def _run_of(engine: Engine, name: str) -> int:
    jobs = engine.find(Query(name=name, limit=SAMPLE)).jobs
    runs = [
        job.completed_at - job.started_at
        for job in jobs
        if job.status == JobStatus.COMPLETED and job.completed_at and job.started_at
    ]
    return round(median(runs)) if runs else 0


_paces: Final[WeakKeyDictionary[Engine, Pace]] = WeakKeyDictionary()
