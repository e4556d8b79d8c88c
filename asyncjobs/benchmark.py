"""How fast jobs are submitted and run here: by workers of their own, in a queue of their own, on any store."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, NamedTuple, Self

from django.db import DatabaseError, connections

from asyncjobs.about import read_about
from asyncjobs.current import get_engine
from asyncjobs.domain.job import JobStatus
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError
from asyncjobs.jobs import BENCH_QUEUE, asleep, moment, noop, sleep
from asyncjobs.processes import CommandProcess, site_environment
from asyncjobs.registry import Handler
from asyncjobs.stores.base import MAX_PAGE, Query
from asyncjobs.stores.redis import RedisStore

STEADY: Final = (0.1, 0.9)  # of the jobs done: before, workers start; after, they run out of work
LOOK_SECONDS: Final = 0.01
PATIENCE_SECONDS: Final = 60.0  # with workers that get nothing done
IDLE_SECONDS: Final = 0.03  # between jobs, for a worker to come to rest
ALIVE_MS: Final = 30_000
MANY: Final = 10_000  # jobs in memory at a time
QUIET: Final = ("--no-reload", "--no-scheduler", "--grace=1")  # other jobs are left to other workers

Report = Callable[[str, float], None]
"""Is told what is being measured, and which part of it is done."""


class QueueInUse(AsyncJobsError):
    """The queue of the benchmark has jobs, or is paused."""

    code = "QUEUE_IN_USE"


class BenchmarkFailed(AsyncJobsError):
    """A worker of the benchmark ended, or got nothing done."""

    code = "BENCHMARK_FAILED"


class Figure(NamedTuple):
    """A measured value, and as a share of what it is compared with in the same run."""

    name: str
    value: float
    unit: str
    share: float | None = None


def rate(count: int, work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


class Benchmark:
    """Measures on the store of the current engine. Nothing of it is left when the block ends, however it ends."""

    def __init__(
        self, *, environment: Mapping[str, str] | None = None, report: Report = lambda name, done: None
    ) -> None:
        engine = get_engine()
        self._engine = Engine(engine.store, replace(engine.conf, trash=0))  # of so many jobs, none is to be kept
        self._environment = environment or site_environment()
        self._report = report

    def __enter__(self) -> Self:
        counts = next((counts for counts in self._engine.counts() if counts.queue == BENCH_QUEUE), None)
        if counts and (any(counts.by_status.values()) or counts.pause):
            state = "is paused" if counts.pause else "has jobs"
            raise QueueInUse(f"queue {BENCH_QUEUE!r} {state}: another benchmark runs, or one was killed")
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            _forget_connections()
        self.clear()

    def rivals(self) -> list[str]:
        """Workers that take the benchmark's jobs, too."""
        now = self._engine.store.now()
        alive = [worker for worker in self._engine.store.workers() if now - worker.beat_at < ALIVE_MS]
        return sorted({name for worker in alive if (name := _name_if_it_takes_all(worker.about))})

    def submit_single(self, count: int) -> Figure:
        """Leaves the queue empty."""
        figure = Figure(self._now("submit, one call each"), rate(count, partial(submit_single, count)), "jobs/s")
        self.clear()
        return figure

    def submit_many(self, count: int) -> Iterator[Figure]:
        """Leaves the queue empty; on Redis with the memory that a waiting job takes."""
        before = self._memory()
        yield Figure(self._now("submit_many"), rate(count, partial(submit_many, count)), "jobs/s")
        if before is not None:
            yield Figure("memory per waiting job", ((self._memory() or 0) - before) / count, "bytes")
        self.clear()

    def drain(
        self, name: str, count: int, *flags: str, handler: Handler[..., Any] = noop, argument: int = 0, of: float = 0
    ) -> Figure:
        """Jobs a second of a worker with these flags, while it had enough of them; as a share of the ideal."""
        submit_many(count, handler, argument)
        looks = list(self._watch(name, count, *flags))
        self.clear(of=JobStatus.COMPLETED)
        value = steady_rate(looks, count)
        return Figure(name, value, "jobs/s", value / of if of else None)

    def drain_slow(self, count: int) -> Iterator[Figure]:
        """Jobs that wait: the ideal is to be held up by nothing else."""
        threads = ("--processes=1", "--threads=8")
        yield self.drain("10 ms handlers on 8 threads", count, *threads, handler=sleep, argument=10, of=800)
        loop = ("--processes=1", "--async-concurrency=200")
        yield self.drain("200 async handlers of 100 ms", count * 2, *loop, handler=asleep, argument=100, of=2_000)

    def latency(self, samples: int) -> Iterator[Figure]:
        """Milliseconds from before `submit` until the handler runs, by this machine's clock, the worker being idle."""
        name = "pick-up latency"
        with self._worker("--processes=1") as worker:
            self._picked_up(worker)
            waits = []
            for number in range(samples):
                self._report(name, number / samples)
                time.sleep(IDLE_SECONDS)
                waits.append(self._picked_up(worker) * 1000)
        self.clear()
        waits.sort()
        for percent in (50, 99):
            yield Figure(f"{name}, p{percent}", waits[min(samples - 1, samples * percent // 100)], "ms")

    def park(self, count: int) -> None:
        """Submits jobs for tomorrow."""
        for start in range(0, count, MANY):
            submit_many(min(MANY, count - start), noop.using(delay=86_400))

    def clear(self, *, of: JobStatus | None = None) -> None:
        """Removes the jobs of the queue, those in this status or all."""
        if of is None:  # what a worker that was killed left behind
            left = Query(queue=BENCH_QUEUE, status=JobStatus.IN_PROGRESS, limit=MAX_PAGE)
            self._engine.release(self._engine.find(left).jobs)
        self._engine.delete_all(Query(queue=BENCH_QUEUE, status=of))

    def _now(self, name: str) -> str:
        self._report(name, 0)
        return name

    def _picked_up(self, worker: CommandProcess) -> float:
        sent_at = time.time()
        job = moment.submit()
        end = time.monotonic() + PATIENCE_SECONDS
        while not (stored := self._engine.get(job.id)).is_terminal:
            _require(worker.exit_code is None and time.monotonic() < end, "no job was run")
            time.sleep(0.005)
        return float(self._engine.result(stored.id)) - sent_at

    def _watch(self, name: str, count: int, *flags: str) -> Iterator[tuple[float, int]]:
        """When how many jobs were done, until all are."""
        done, since = 0, time.monotonic()
        yield since, done
        with self._worker("--burst", *flags) as worker:
            while done < count:
                before, done = done, self._count(JobStatus.COMPLETED)
                now = time.monotonic()
                yield now, done
                self._report(name, done / count)
                since = now if done > before else since
                has_ended = worker.exit_code is not None and self._count(JobStatus.COMPLETED) < count
                _require(not has_ended and now - since < PATIENCE_SECONDS, "the worker did not run all jobs")
                time.sleep(LOOK_SECONDS)

    def _count(self, status: JobStatus) -> int:
        return sum(counts.by_status.get(status, 0) for counts in self._engine.counts() if counts.queue == BENCH_QUEUE)

    def _memory(self) -> int | None:
        store = self._engine.store
        return int(store.client.info("memory")["used_memory"]) if isinstance(store, RedisStore) else None

    @contextmanager
    def _worker(self, *flags: str) -> Iterator[CommandProcess]:
        """A worker of this queue, which says why when it does not do what it should."""
        with tempfile.TemporaryFile() as log:
            command = ("runjobworker", f"--queues={BENCH_QUEUE}", *QUIET, *flags)
            worker = CommandProcess(*command, environment=self._environment, stdout=log, stderr=log)
            try:
                yield worker
            except BenchmarkFailed as failed:
                log.seek(0)
                said = log.read().decode(errors="replace").splitlines()[-3:]
                raise BenchmarkFailed(f"{failed.message}: {' / '.join(said)}") from None
            finally:
                worker.end()


def submit_single(count: int) -> None:
    for number in range(count):
        noop.submit(number)


def submit_many(count: int, handler: Handler[..., Any] = noop, argument: int = 0) -> None:
    handler.submit_many(handler.call(argument) for _ in range(count))


def steady_rate(looks: Sequence[tuple[float, int]], count: int) -> float:
    """Jobs a second between the first tenth of the jobs and the last, given how many were done when."""
    first, last = (share * count for share in STEADY)
    start_at, before = next((look for look in reversed(looks) if look[1] <= first), looks[0])
    end_at, after = next(look for look in looks if look[1] >= last)
    return (after - before) / (end_at - start_at)


def _forget_connections() -> None:
    """A signal may have left one in the midst of a transaction, from which Django would not get out again."""
    for connection in connections.all(initialized_only=True):
        with suppress(DatabaseError):
            connection.close()
        del connections[connection.alias]


def _name_if_it_takes_all(about: str) -> str:
    said = read_about(about)
    takes = any(fnmatchcase(BENCH_QUEUE, str(pattern)) for pattern in said.get("queues", ()))
    return str(said.get("name", "")) if takes and said.get("state") != "ended" else ""


def _require(condition: object, otherwise: str) -> None:
    if not condition:
        raise BenchmarkFailed(otherwise)
