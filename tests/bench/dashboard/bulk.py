"""How fast something is done to very many jobs: all that are dead are retried, as a worker would do it."""

import time
from typing import Final, NamedTuple

from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.starting import carried_out, tally_of
from asyncjobs.engine import Engine

LEAST: Final = 5_000.0  # jobs a second


class Bulk(NamedTuple):
    """How many jobs an operation changed, and how many of them a second."""

    name: str
    jobs: int
    rate: float

    @property
    def is_over(self) -> bool:
        return self.rate < LEAST


def retry_of_all_dead(engine: Engine) -> Bulk:
    """Each with its entry in the journal, written down in chunks that could be gone on with, and undone."""
    order = Order.of_search("", {"status": "failed"}, deed="retry", frozen=engine.store.now(), by="1")
    start = time.perf_counter()
    operation = carried_out(engine, order)
    spent = time.perf_counter() - start
    assert operation.is_terminal, operation
    jobs = tally_of(operation).total()
    return Bulk("retry of all dead jobs", jobs, jobs / spent)
