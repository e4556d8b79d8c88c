"""For the tests of projects that submit jobs: keep jobs in memory, see what was submitted, run it.

def test_signing_up_sends_a_mail(client):
    with memory_jobs():
        client.post("/sign-up/", {"email": "ada@example.org"})
        [mail] = submitted(send_mail)
        run_jobs()
        assert get_engine().result(mail.id) == "sent"
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from functools import wraps
from inspect import iscoroutinefunction
from math import nextafter
from typing import Any, Final, TypeVar

from asgiref.sync import async_to_sync

from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine, get_engine
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.registry import Handler, lookup
from asyncjobs.stores.base import Query
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.worker.context import JobContext
from asyncjobs.worker.runner import Run, Runner

__all__ = ["memory_jobs", "run_jobs", "submitted"]

F = TypeVar("F", bound=Callable[..., Any])

WORKER: Final = "asyncjobs.testing"
_BATCH: Final = 100


class memory_jobs:
    """Within this block, or the function it decorates, jobs live in a memory store of their own."""

    def __init__(self) -> None:
        self._block = _in_memory()

    def __enter__(self) -> Engine:
        return self._block.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)

    def __call__(self, function: F) -> F:
        return _around(function) if iscoroutinefunction(function) else _in_memory()(function)


def _around(function: Callable[..., Any]) -> Any:
    """An async function is to end before the block does: not when it has been called, but when it was awaited."""

    @wraps(function)
    async def within(*args: Any, **kwargs: Any) -> Any:
        with _in_memory():
            return await function(*args, **kwargs)

    return within


@contextmanager
def _in_memory() -> Iterator[Engine]:
    engine = Engine(MemoryStore(), get_conf())
    before = exchange_engine(engine)
    try:
        yield engine
    finally:
        exchange_engine(before)


def submitted(handler: Handler[..., Any] | None = None) -> list[Job]:
    """All jobs of this handler, or of all, whatever became of them, oldest first."""
    jobs: list[Job] = []
    query = Query(name=handler.name if handler else None, oldest_first=True)
    after = ""
    while True:
        page = get_engine().find(replace(query, after=after))
        jobs += page.jobs
        after = page.next
        if not after:
            return jobs


def run_jobs(*, queues: Sequence[str] | None = None, limit: int = 1_000) -> list[Job]:
    """Runs the jobs that are ready, and those they submit, as a worker would; answers what became of each.

    A job that fails is retried or fails for good as it would in production: its error is on the job.
    """
    engine = get_engine()
    done: list[Job] = []
    while len(done) < limit:
        names = queues if queues is not None else [counts.queue for counts in engine.counts()]
        batch = min(_BATCH, limit - len(done))
        claimed = engine.store.claim(names, worker=WORKER, limit=batch, lease=engine.conf.lease)
        if not claimed:
            break
        done += [_run(engine, job) for job in claimed]
    return done


def _run(engine: Engine, job: Job) -> Job:
    run = Run(job, lookup(job.name))
    runner = Runner(engine.store, engine.conf, now=engine.store.now, new_context=_context, chance=_latest)
    # What runs sets in contextvars stays there; left to itself, `async_to_sync` hands it on to its caller.
    copy_context().run(async_to_sync(runner.arun) if run.is_async else runner.run, run)
    if run.change is None:
        return job
    if not run.is_written:
        engine.settle([run.change])
    return run.change.new


def _latest() -> float:
    """Retries come as late as they can: one that chance makes ready at once would be run, too, now and then."""
    return nextafter(1, 0)


def _context(run: Run) -> JobContext:
    return JobContext(run.job)
