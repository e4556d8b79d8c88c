"""An operation as a job: made here, and run by a worker, or for a few jobs by the request that asks for it."""

import logging
import os
import re
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from asyncjobs.actions import OPERATION
from asyncjobs.current import get_engine
from asyncjobs.dashboard.operations.carrying import carry_out
from asyncjobs.dashboard.operations.orders import Order, read_order, signed
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus, Progress
from asyncjobs.domain.retry import exponential
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError
from asyncjobs.outcome import succeeded
from asyncjobs.registry import job
from asyncjobs.rules import MAX_PRIORITY
from asyncjobs.stores.base import Change, Query
from asyncjobs.submission import new_jobs
from asyncjobs.worker.context import job_context

logger = logging.getLogger("asyncjobs.dashboard")

_MAX_PAYLOAD: Final = 64 * 1024  # an order, whatever the site allows its own jobs
_COUNT: Final = re.compile(r"(\w+) (\d+)")


@job(
    name=OPERATION,
    queue="asyncjobs",
    priority=MAX_PRIORITY,
    max_retries=16,
    retry=exponential(2, cap=300, never=("django.core.signing.BadSignature",)),
)
def operate(order: str) -> dict[str, int]:
    """Carries out a signed order, from where a run before this one was interrupted."""
    context, read = job_context(), read_order(order)

    def told(tally: Counter[str]) -> None:
        done = tally.total()
        context.progress(done, max(done, read.expected) if read.expected else None, _said(tally))

    return dict(carry_out(get_engine(), context.job, read, told))


def submitted(engine: Engine, order: Order) -> Job:
    """The operation's job, for a worker to run."""
    [stored] = engine.submit_many([_operation(engine, order)], on_commit=False)
    return stored


def carried_out(engine: Engine, order: Order, *, stored: Callable[[Job], None] | None = None) -> Job:
    """The operation's job, run here and now. If that is interrupted, a worker takes it over when its lease is over.

    `stored` is told of it before anything is done.
    """
    queued = _operation(engine, order)
    now = engine.store.now()
    begun = transitions.start(queued, worker=_own_name(), until=now + engine.conf.lease, now=now)
    engine.store.add([begun])
    if stored:
        stored(begun)
    try:
        return _carried(engine, begun, order)
    except AsyncJobsError:
        logger.warning("operation %s is left to a worker", begun.id, exc_info=True, extra={"job_id": begun.id})
        with suppress(AsyncJobsError):
            engine.release([begun])
        return begun


def undo_of(engine: Engine, operation: Job) -> Job | None:
    """The operation that took this one back, or is to. One that did not come to its end leaves it to another."""
    undos = engine.find(Query(name=OPERATION, tag=_undoes(operation.id))).jobs
    return next((undo for undo in undos if undo.status not in (JobStatus.FAILED, JobStatus.CANCELED)), None)


def tally_of(operation: Job) -> Counter[str]:
    """What became of how many jobs, by word, as far as the operation has come."""
    said = operation.progress.message if operation.progress else ""
    return Counter({word: int(count) for word, count in _COUNT.findall(said)})


def _operation(engine: Engine, order: Order) -> Job:
    """It is younger than all that its order is about: nobody can order an operation to do something to itself."""
    handler = operate.using(queue=engine.conf.dashboard.queue, tags=[_undoes(order.undoes)] if order.undoes else [])
    [made] = new_jobs(
        handler.name,
        handler.binding,
        handler.options,
        [handler.call(signed(order))],
        now=max(engine.store.now(), order.frozen + 1),
        max_payload=_MAX_PAYLOAD,
    )
    return made


def _carried(engine: Engine, begun: Job, order: Order) -> Job:
    tally = carry_out(engine, begun, order, lambda tally: None)
    now, done = engine.store.now(), tally.total()
    said = transitions.report(begun, Progress(done=done, total=done, message=_said(tally)), now=now)
    ended = succeeded(said, dict(tally), now=now, max_result=engine.conf.max_result)
    engine.settle([Change(begun, ended)])
    return ended


def _said(tally: Counter[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(tally.items()) if count)


def _undoes(operation_id: str) -> str:
    """The tag by which the undo of an operation is found."""
    return f"undoes:{operation_id}"


def _own_name() -> str:
    return f"dashboard-{socket.gethostname()}-{os.getpid()}"
