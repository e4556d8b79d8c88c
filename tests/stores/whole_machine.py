"""The machine with what else there is to a store: receipts of requests, and orders to workers."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from asyncjobs.domain.job import Job
from asyncjobs.stores.base import Receipt, Repeated
from tests.stores.machine import DAY, StoreMachine, submissions, which, workers

KEYS = ["a0", "b1"]


class WholeMachine(StoreMachine):
    """Subclassed with the store to drive."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[list[Job], Receipt]] = []

    @rule(submissions=submissions, key=st.sampled_from(KEYS))
    def add_once(self, submissions: list[dict[str, Any]], key: str) -> None:
        """With a receipt that does not run out; the text of each says which call it is of."""
        jobs = [self.submission(**fields) for fields in submissions]
        receipt = Receipt(key, "f0", f"call {len(self.calls)}", self.began + 365 * DAY)
        if kept := self.model.receipts.get(key):
            assert self.kept_before(jobs, receipt) == kept
        else:
            answered = self.put(jobs, receipt=receipt)
            self.model.receipts[key] = receipt._replace(twins=twins_in(jobs, answered))
            self.calls.append((jobs, receipt))

    def kept_before(self, jobs: list[Job], receipt: Receipt) -> Receipt | None:
        try:
            self.store.add(jobs, receipt=receipt)
        except Repeated as repeated:
            return repeated.receipt
        return None

    @precondition(lambda machine: machine.calls)
    @rule(which=which)
    def repeat_a_call(self, which: int) -> None:
        jobs, receipt = self.calls[which % len(self.calls)]
        twins = dict(self.model.receipts[receipt.key].twins)
        stored = [self.model.jobs.get(twins.get(place, job.id), job) for place, job in enumerate(jobs)]
        assert self.store.add(jobs, receipt=receipt) == stored

    @rule(worker=workers, order=st.sampled_from(["quiet", "stop"]))
    def order(self, worker: str, order: str) -> None:
        """A worker hears of it with every beat, and is known with its first one."""
        is_known = worker in self.model.orders
        assert self.store.order(worker, order) == is_known
        if is_known:
            self.model.orders[worker] = order
        for _ in range(2):
            self.beat_as(worker, versions_ago=0)


def twins_in(jobs: list[Job], answered: list[Job]) -> tuple[tuple[int, str], ...]:
    """Which jobs were answered by others, as a receipt has it."""
    return tuple((place, twin.id) for place, twin in enumerate(answered) if twin.id != jobs[place].id)
