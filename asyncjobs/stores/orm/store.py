"""The store itself: which module does what."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import (
    Beat,
    Change,
    Entry,
    EntryKind,
    Fault,
    Finding,
    Gone,
    Minute,
    Page,
    Pause,
    Query,
    QueueCounts,
    Receipt,
    Repeated,
    Resting,
    Store,
    TrashPage,
    Twins,
    WorkerRecord,
    answered_again,
)
from asyncjobs.stores.guards import (
    require_faults,
    require_page,
    require_receipt,
    require_short_entries,
    require_short_note,
    require_size,
    require_spans,
)
from asyncjobs.stores.orm import (
    adds,
    claims,
    counts,
    faults,
    fsck,
    gone,
    journal,
    leases,
    pages,
    pauses,
    receipts,
    removes,
    trash,
    turns,
    writes,
)
from asyncjobs.stores.orm.clock import DatabaseClock
from asyncjobs.stores.orm.database import Database
from asyncjobs.stores.orm.folding import Folder
from asyncjobs.stores.orm.waits import Waiter


class OrmStore(Store):
    """Jobs in tables of the Django database `database`, so that they commit or roll back with the caller's rows.

    `clock` replaces the database's clock in tests.
    """

    transactional = True
    OPTIONS: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, database: str) -> Self:
        return cls(database=database)

    def __init__(self, *, database: str = "default", clock: Callable[[], int] | None = None) -> None:
        self._database = Database(database)
        self._clock = DatabaseClock(self._database, clock)
        self._folder = Folder(self._database, self.now)
        self._waiter = Waiter(self._database, self._clock)

    def __str__(self) -> str:
        return f"database {self._database.alias!r}, {self._database.vendor}"

    def now(self) -> int:
        return self._clock.now()

    def add(
        self,
        jobs: Sequence[Job],
        *,
        limits: Mapping[str, int] | None = None,
        twins: Twins = "return",
        receipt: Receipt | None = None,
    ) -> list[Job]:
        require_receipt(receipt)
        stored = self._add(jobs, receipt, now=self.now(), limits=limits or {}, twins=twins)
        self._folder.wrote()
        return stored

    def _add(self, jobs: Sequence[Job], receipt: Receipt | None, **options: Any) -> list[Job]:
        if receipt is None:
            return adds.add(self._database, jobs, **options)
        try:
            return adds.add_once(self._database, jobs, receipt, **options)
        except Repeated as repeated:
            return answered_again(jobs, receipt, repeated.receipt, self.get)

    def claim(self, queues: Sequence[str], *, worker: str, limit: int, lease: int) -> list[Job]:
        jobs = claims.claim(self._database, self._clock, queues, worker=worker, limit=limit, lease=lease)
        if jobs:
            self._folder.wrote()
        return jobs

    def swap(self, changes: Sequence[Change]) -> list[bool]:
        require_short_entries(changes)
        written = writes.swap(self._database, changes, now=self.now())
        self._folder.wrote()
        return written

    def exchange(
        self, changes: Sequence[Change], queues: Sequence[str], *, worker: str, limit: int, lease: int
    ) -> tuple[list[bool], list[Job]]:
        """Both in one transaction where that saves a commit: PostgreSQL does each in one statement."""
        both = partial(super().exchange, changes, queues, worker=worker, limit=limit, lease=lease)
        if self._database.is_postgres:
            return both()
        exchanged = self._database.atomically(lambda cursor: both())
        self._folder.wrote()
        return exchanged

    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        return leases.beat(self._database, self._clock, worker, held, lease=lease, about=about)

    def lapsed(self, limit: int, *, lease: int) -> list[Job]:
        return leases.lapsed(self._database, self._clock, limit, lease=lease)

    def held(self, worker: str) -> list[Job]:
        return leases.held(self._database, worker)

    def wait(self, queues: Sequence[str], *, timeout: int, wake: int | None = None) -> None:
        self._waiter.wait(queues, timeout=timeout, wake=wake)

    def turn(self, name: str, *, every: int) -> bool:
        return turns.turn(self._database, name, every=every, now=self.now())

    def get(self, ids: Sequence[str]) -> list[Job | None]:
        return pages.get(self._database, ids)

    def receipt(self, key: str) -> Receipt | None:
        return receipts.read(self._database, key, now=self.now())

    def gone(self, job_id: str) -> Gone | None:
        return gone.read(self._database, job_id, now=self.now())

    def find(self, query: Query) -> Page:
        return pages.find(self._database, query)

    def journal(self, job_id: str, kind: EntryKind, *, after: int = 0, limit: int = 100) -> list[Entry]:
        require_page(after=after, limit=limit)
        return journal.read(self._database, job_id, kind, after=after, limit=limit)

    def counts(self) -> list[QueueCounts]:
        counted, rows = counts.counts(self._database, now=self.now())
        self._folder.read(rows)
        return counted

    def due(self, edges: Sequence[int], *, queue: str | None = None) -> list[int]:
        require_spans(edges, queue)
        return pages.due(self._database, edges, queue)

    def series(self, minutes: int) -> list[Minute]:
        return counts.series(self._database, minutes, now=self.now())

    def faults(self, limit: int) -> list[Fault]:
        require_faults(limit)
        found, foldable = faults.faults(self._database, limit, now=self.now())
        self._folder.read(foldable)
        return found

    def workers(self) -> list[WorkerRecord]:
        return leases.workers(self._database, now=self.now())

    def order(self, worker: str, order: str) -> bool:
        return leases.order(self._database, worker, order, now=self.now())

    def pause(self, pause: Pause) -> None:
        pauses.pause(self._database, pause)

    def resume(self, queue: str) -> bool:
        return pauses.resume(self._database, queue, now=self.now())

    def delete(self, jobs: Sequence[Job], *, rest_until: int | None = None, note: Entry | None = None) -> list[bool]:
        require_short_note(note)
        rest = trash.Rest(rest_until, note) if rest_until is not None else None
        return removes.delete(self._database, jobs, rest=rest, now=self.now())

    def restore(
        self, ids: Sequence[str], *, versions: Mapping[str, int] | None = None, note: Entry | None = None
    ) -> list[Job | None]:
        require_short_note(note)
        return trash.restore(self._database, ids, versions=versions, note=note, now=self.now())

    def rests(self, job_id: str) -> Resting | None:
        return trash.read(self._database, job_id)

    def trash(self, *, after: str = "", limit: int = 50) -> TrashPage:
        require_size(limit)
        return trash.page(self._database, after, limit)

    def prune(self, before: Mapping[JobStatus, int], *, limit: int) -> int:
        removed = removes.prune(self._database, before, limit=limit, now=self.now())
        self._folder.fold()
        return removed

    def check(self, *, fix: bool = False) -> list[Finding]:
        return fsck.check(self._database, now=self.now(), fix=fix)
