"""Which runs go where, and how many more there is room for."""

import time
from collections import deque
from collections.abc import Iterable
from typing import Final

from asyncjobs.domain.job import Job
from asyncjobs.registry import handlers, is_internal
from asyncjobs.worker.context import Reason
from asyncjobs.worker.options import WorkerOptions
from asyncjobs.worker.pools import Ended, LoopPool, Pool, ThreadPool
from asyncjobs.worker.runner import Run, Runner

PATIENCE_MS: Final = (1_000, 300_000)
_WEIGHT: Final = 0.05  # of one job in the share of async ones
_LIKELY: Final = 0.1  # a share of jobs worth looking for one by one
_PROBE_SECONDS: Final = 1.0  # between two looks for rarer ones
_RARE: Final = 0.02  # of a kind that exists and did not come lately


class Crew:
    """The threads and the loop of a child.

    A suspect, a job under which a process has died before, runs alone: if it kills this one too, nothing else dies.
    """

    def __init__(self, options: WorkerOptions, runner: Runner, ended: Ended) -> None:
        kinds = {handler.is_async for handler in handlers() if not is_internal(handler)} or {False}
        self._threads = ThreadPool(options.threads, runner, ended)
        self._loop = LoopPool(options.async_concurrency, runner, ended)
        self._pools: tuple[Pool, Pool] = (self._threads, self._loop)
        self._async_share: float = sum(kinds) / len(kinds)  # of the jobs that come
        self._given: set[Run] = set()  # to the pools, and not come back: pools change beside us
        self._suspects: deque[Run] = deque()
        self._alone: Run | None = None
        self._next_probe = 0.0
        self._is_burst = options.burst  # what others could run at once is theirs

    def wanted(self) -> int:
        """How many more jobs there is use for, if they are of the kinds that have come so far."""
        if self._suspects or self._alone is not None:
            return 0
        share = self._async_share
        if share in (0, 1):
            return self._pools[int(share)].wanted()
        sync, coroutines = self._threads.wanted(), self._loop.wanted()
        if sync and coroutines:
            return int(min(sync / (1 - share), coroutines / share))
        if self._is_burst or not (sync or coroutines):
            return 0
        return self._probe(share if coroutines else 1 - share)

    def _probe(self, share: float) -> int:
        """One half of the crew being busy is not to keep the other waiting: takes one job, which may be of its kind.

        Otherwise it is handed back, so that this must not go on and on where such jobs are rare.
        """
        now = time.monotonic()
        if share < _LIKELY and now < self._next_probe:
            return 0
        self._next_probe = now + _PROBE_SECONDS
        return 1

    def put(self, runs: Iterable[Run]) -> None:
        sync: list[Run] = []
        coroutines: list[Run] = []
        for run in runs:
            kind = self._suspects if run.job.crashes else coroutines if run.is_async else sync
            kind.append(run)
        self._given.update(sync, coroutines)
        self._threads.put(sync)
        self._loop.put(coroutines)
        self._learn(len(coroutines), len(sync))
        self.start_suspect()

    def start_suspect(self) -> None:
        """Has the next suspect run, if nothing else runs or waits."""
        if self._suspects and not self._given:
            self._alone = run = self._suspects.popleft()
            self._given.add(run)
            self._pools[run.is_async].put([run])

    def ended(self, run: Run) -> None:
        """To be told of a run that came back."""
        self._given.discard(run)
        if run is self._alone:
            self._alone = None

    def take_back_stuck(self) -> list[Run]:
        """Runs that would wait too long for their turn: behind long ones, or for a suspect."""
        return self._back(pool.take_back() if self._suspects else pool.take_back_stuck() for pool in self._pools)

    def take_back_stuck_suspects(self) -> list[Run]:
        """Suspects that what runs has kept waiting for too long: another child may be alone sooner."""
        now = time.monotonic()
        stuck = [run for run in self._suspects if now - run.since > patience_ms(run.job) / 1000]
        self._suspects = deque(run for run in self._suspects if run not in stuck)
        return stuck

    def take_back(self) -> list[Run]:
        """All that have not begun."""
        suspects, self._suspects = self._suspects, deque()
        return [*suspects, *self._back(pool.take_back() for pool in self._pools)]

    def _back(self, taken: Iterable[Iterable[Run]]) -> list[Run]:
        runs = [run for some in taken for run in some]
        for run in runs:
            self.ended(run)
        return runs

    def is_waiting(self) -> bool:
        """Whether any run has not begun."""
        return bool(self._suspects) or any(pool.waiting() for pool in self._pools)

    def running(self) -> list[Run]:
        return [run for pool in self._pools for run in pool.running()]

    def interrupt(self, run: Run, reason: Reason) -> None:
        """Ends a coroutine; tells a thread, whose handler ends at its next look."""
        if run.is_async:
            self._loop.cancel(run, reason)
        elif run.context is not None:
            run.context.ended_by = reason

    def _learn(self, coroutines: int, sync: int) -> None:
        """Where no handler of one kind is known, its share is none, until one comes all the same."""
        total = coroutines + sync
        surprises = coroutines if self._async_share == 0 else sync if self._async_share == 1 else total
        if surprises:
            change = coroutines / total - self._async_share
            self._async_share = min(1 - _RARE, max(_RARE, self._async_share + min(1.0, _WEIGHT * total) * change))


def patience_ms(job: Job) -> int:
    """How long a child takes nothing new so that this suspect may run: longer for an old one, or it would never."""
    shortest, longest = PATIENCE_MS
    age = (job.started_at or job.created_at) - job.created_at
    return min(max(shortest, age // 4), longest)
