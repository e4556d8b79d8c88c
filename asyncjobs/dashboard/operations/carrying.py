"""Carrying out an order: chunk by chunk, each written down before it is done. Whoever is interrupted is gone on for."""

from collections import Counter
from collections.abc import Callable

from asyncjobs.dashboard.deeds import DEEDS
from asyncjobs.dashboard.operations.chunks import START, Chunk, Chunks, Place
from asyncjobs.dashboard.operations.doing import Batch, Changing, Removing, Work
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.undoing import Restoring, Undoing
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine

Told = Callable[[Counter[str]], None]


def carry_out(engine: Engine, operation: Job, order: Order, told: Told) -> Counter[str]:
    """Does all that was ordered and is not done yet, and answers what became of how many jobs, by word.

    `told` is told what became of them so far, and may end it by raising.
    """
    return _Run(engine, operation, order, told).to_the_end()


class _Run:
    def __init__(self, engine: Engine, operation: Job, order: Order, told: Told) -> None:
        self._engine = engine
        self._work = _work_of(order)(engine, operation, order)
        self._chunks = Chunks(engine.store, operation)
        self._tally: Counter[str] = Counter()
        self._told = told

    def to_the_end(self) -> Counter[str]:
        for at, batch in self._work.batches(self._resume()):
            self._tally += batch.left
            if batch.touched:
                self._do(at, batch)
            self._told(self._tally)
        return self._tally

    def _resume(self) -> Place:
        """Does the last chunk again, if there is one, and answers where to go on."""
        last = self._chunks.last()
        if last is None:
            return START
        jobs = self._engine.store.get_readable([job_id for job_id, _, _ in last.touched])
        self._tally = last.before + self._work.do(last.touched, jobs, last.at, self._work.is_noted)
        self._told(self._tally)
        return last.place

    def _do(self, at: int, batch: Batch) -> None:
        self._chunks.append(Chunk(at, batch.place, self._tally, batch.touched))
        self._tally = self._tally + self._work.do(batch.touched, batch.jobs, at, _never)


def _never(job_id: str) -> bool:
    """What is met for the first time was not done before: no journal has to be read."""
    return False


def _work_of(order: Order) -> type[Work]:
    removes = DEEDS[order.deed].removes
    if order.undoes:
        return Restoring if removes else Undoing
    return Removing if removes else Changing
