"""A child of a worker in the test's own process: in its thread, or in one of its own."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

from asyncjobs.conf import get_conf
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Store
from asyncjobs.stores.waking import readable
from asyncjobs.worker.child import Child
from asyncjobs.worker.held import Flag, HeldTable, Order
from asyncjobs.worker.options import WorkerOptions
from asyncjobs.worker.pipes import Bell
from tests.stores.faulty import Fault, FaultyStore
from tests.worker.acts import PATIENCE
from tests.workers import until

WORKER = "hand"
LEASE = 30_000


_bells: list[Bell] = []  # out of use: a run that ends late may still ring one


class Hand:
    """A child, the table and the bells it was given, and what became of its jobs."""

    def __init__(self, store: Store, *, faults: Iterable[Fault] = (), of: Collection[str] = (), **options: Any) -> None:
        self.store = store
        self.table = HeldTable(64)
        self.bell, self.supervisor = (_bells.pop() if _bells else Bell() for _ in range(2))
        options = {"queues": ("default",), "async_concurrency": 4, "lease": LEASE, **options}
        self.options = WorkerOptions(**options)
        faulty: Any = FaultyStore(store, self._hurrying(faults), of=of) if of else store
        self.child = Child(
            Engine(faulty, get_conf()),
            self.options,
            worker=WORKER,
            table=self.table,
            bell=self.bell,
            supervisor=self.supervisor,
        )
        self._thread: threading.Thread | None = None
        self._errors: list[BaseException] = []

    def _hurrying(self, faults: Iterable[Fault]) -> Iterator[Fault]:
        """The child does not pause after a fault, because its bell rings."""
        for fault in faults:
            self.bell.ring()
            yield fault

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="hand")
        self._thread.start()

    def _work(self) -> None:
        try:
            self.child.run()
        except BaseException as error:
            self._errors.append(error)
        finally:
            connections.close_all()

    def order(self, order: Order) -> None:
        self.table.write("order", order)
        self.bell.ring()

    def has_heard(self) -> None:
        """Waits until a turn of the child has begun after the last order."""
        until(lambda: not readable(self.bell.fd, timeout=0), seconds=PATIENCE)

    def flag(self, job: Job, flag: Flag) -> None:
        """What the supervisor does when a heartbeat has told it something of a job."""
        [held] = [held for held in self.table.held() if held.id == job.id]
        assert self.table.flag(held, flag)
        self.bell.ring()

    def ended(self) -> None:
        """Waits until the child has ended by itself."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive(), "the child did not end"
        if self._errors:
            raise self._errors[0]

    def now(self, job: Job) -> Job:
        [stored] = self.store.get([job.id])
        assert stored is not None
        return stored

    def becomes(self, job: Job, *statuses: JobStatus) -> Job:
        """The job as stored, once it has one of these statuses."""
        stored: Job = until(lambda: (now := self.now(job)).status in statuses and now, seconds=PATIENCE)
        return stored

    def close(self) -> None:
        self.order(Order.LEAVE)
        self.ended()
        end_loop(self.child._crew._loop)
        _bells.extend((self.bell, self.supervisor))


def end_loop(pool: Any) -> None:
    """In production, the process ends with its loop."""
    until(lambda: not pool.running(), seconds=PATIENCE)
    if pool._is_started:
        pool.stop()
        until(lambda: not pool._loop.is_running(), seconds=PATIENCE)
    pool._loop.close()


Hire = Callable[..., Hand]


@contextmanager
def hiring(store: Store) -> Iterator[Hire]:
    """Makes hands on this store, and lets them go at the end."""
    hands: list[Hand] = []

    def hire(**options: Any) -> Hand:
        hands.append(Hand(store, **options))
        return hands[-1]

    try:
        yield hire
    finally:
        for hand in hands:
            hand.close()
