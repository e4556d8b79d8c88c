"""Jobs in this process's memory: for tests and development, and the simplest reading of the contract."""

import threading
import time
from bisect import bisect_left, insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice, pairwise
from typing import Any, ClassVar, Self

from asyncjobs.domain import transitions
from asyncjobs.domain.job import FIELDS, PENDING, TERMINAL, Job, JobStatus, values_of
from asyncjobs.domain.lease import LeaseClock, tick
from asyncjobs.errors import DuplicateJob, QueueFull
from asyncjobs.stores.base import (
    DAY_MS,
    GONE_MS,
    JOURNAL_LIMITS,
    MAX_DUE,
    PROMOTE_LIMIT,
    SERIES_MINUTES,
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
    Resting,
    Store,
    TrashPage,
    Twins,
    WorkerRecord,
    answered_again,
    fault_days,
)
from asyncjobs.stores.cursor import Cursor
from asyncjobs.stores.guards import (
    require_faults,
    require_page,
    require_receipt,
    require_short_entries,
    require_short_note,
    require_size,
    require_spans,
)
from asyncjobs.stores.waking import readable

MINUTE_MS = 60_000
NAP_S = 0.01  # between two looks at a file descriptor

Spot = tuple[Any, ...]  # sort key first, the job's id last
Journals = dict[EntryKind, deque[Entry]]


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


class MemoryStore(Store):
    """Every place is a sorted list, so that claims, rescues and pages need no scan."""

    transactional = False
    OPTIONS: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, database: str) -> Self:
        return cls()

    def __init__(self, *, clock: Callable[[], int] = wall_clock) -> None:
        self._clock = clock
        self._lease_clock = LeaseClock(clock())
        self._changed = threading.Condition(threading.RLock())
        self._jobs: dict[str, Job] = {}
        self._turn = count()
        self._ready_keys: dict[str, Spot] = {}
        self._ready: defaultdict[str, list[Spot]] = defaultdict(list)
        self._places: defaultdict[tuple[JobStatus, str], list[Spot]] = defaultdict(list)
        self._faults: defaultdict[str, list[Spot]] = defaultdict(list)
        self._created: list[Spot] = []
        self._unique: dict[str, str] = {}
        self._queues: set[str] = set()
        self._pauses: dict[str, Pause] = {}
        self._series: Counter[tuple[int, str, JobStatus]] = Counter()
        self._workers: dict[str, WorkerRecord] = {}
        self._journals: defaultdict[str, Journals] = defaultdict(_empty_journal)
        self._turns: dict[str, int] = {}
        self._receipts: dict[str, Receipt] = {}
        self._gone: dict[str, Gone] = {}
        self._resting: dict[str, tuple[Resting, Journals]] = {}

    def __str__(self) -> str:
        return "the memory of this process"

    def now(self) -> int:
        return self._clock()

    def add(
        self,
        jobs: Sequence[Job],
        *,
        limits: Mapping[str, int] | None = None,
        twins: Twins = "return",
        receipt: Receipt | None = None,
    ) -> list[Job]:
        require_receipt(receipt)
        with self._changed:
            kept = self.receipt(receipt.key) if receipt else None
            if receipt and kept:
                return answered_again(jobs, receipt, kept, self.get)
            stored = [self._stored_or_new(job, twins) for job in self._with_twins_of_the_batch(jobs, twins)]
            fresh = [job for job in dict.fromkeys(job.id for job in stored) if job not in self._jobs]
            by_id = {job.id: job for job in stored}
            self._refuse_overflow([by_id[job_id] for job_id in fresh], limits or {})
            for job_id in fresh:
                self._put(by_id[job_id])
            if receipt:
                found = [(at, twin.id) for at, twin in enumerate(stored) if twin.id != jobs[at].id]
                self._receipts[receipt.key] = receipt._replace(twins=(*receipt.twins, *found))
            self._changed.notify_all()
            return stored

    def _with_twins_of_the_batch(self, jobs: Sequence[Job], twins: Twins) -> Iterator[Job]:
        """The jobs, each one that has the unique key of an earlier one replaced by that one."""
        first: dict[str, Job] = {}
        for job in jobs:
            twin = first.setdefault(job.unique_key, job) if job.unique_key is not None else job
            if twin.id != job.id and job.id not in self._jobs:
                self._refuse_twin(twin, twins)
                yield twin
            else:
                yield job

    def _stored_or_new(self, job: Job, twins: Twins) -> Job:
        if job.id in self._jobs:
            return self._jobs[job.id]
        twin = self._holder_of(job.unique_key)
        if twin is None:
            return job
        self._refuse_twin(twin, twins)
        return twin

    def _refuse_twin(self, twin: Job, twins: Twins) -> None:
        if twins == "refuse":
            raise DuplicateJob(f"job {twin.id} holds the unique key {twin.unique_key!r}", job_id=twin.id)

    def _holder_of(self, key: str | None) -> Job | None:
        holder = self._jobs.get(self._unique.get(key, "")) if key is not None else None
        return holder if holder is not None and holder.holds_unique_key(self.now()) else None

    def _refuse_overflow(self, fresh: Iterable[Job], limits: Mapping[str, int]) -> None:
        for queue, more in Counter(job.queue for job in fresh).items():
            backlog = sum(len(self._places[status, queue]) for status in PENDING)
            if queue in limits and backlog + more > limits[queue]:
                raise QueueFull(f"queue {queue!r} takes no more than {limits[queue]} unstarted jobs")

    def claim(self, queues: Sequence[str], *, worker: str, limit: int, lease: int) -> list[Job]:
        with self._changed:
            until = self._tick(lease).time + lease
            claimed: list[Job] = []
            for queue in dict.fromkeys(queues):
                if self._is_paused(queue):
                    continue
                self._promote_due(queue)
                for entry in self._ready[queue][: limit - len(claimed)]:
                    job = self._jobs[entry[-1]]
                    claimed.append(transitions.start(job, worker=worker, until=until, now=self.now()))
            for job in claimed:
                self._put(job)
            return claimed

    def _promote_due(self, queue: str) -> None:
        now = self.now()
        for due_at, job_id in self._places[JobStatus.SCHEDULED, queue][:PROMOTE_LIMIT]:
            if due_at > now:
                return
            self._put(transitions.promote(self._jobs[job_id], now=now))

    def _is_paused(self, queue: str) -> bool:
        return queue in self._pauses and self._pauses[queue].holds(self.now())

    def swap(self, changes: Sequence[Change]) -> list[bool]:
        require_short_entries(changes)
        with self._changed:
            written = [self._swap(change) for change in changes]
            self._changed.notify_all()
            return written

    def _swap(self, change: Change) -> bool:
        old, new, entries = change
        stored = self._jobs.get(new.id)
        if stored is None:
            return False
        changed = {
            name: value for name, value in zip(FIELDS, values_of(new), strict=True) if value != getattr(old, name)
        }
        result = stored.replace(**changed)
        if stored.version != old.version:
            return bool(changed) and result == stored
        if changed:
            self._put(result)
        self._append(new.id, entries)
        if change.is_end:
            self._series[self.now() // MINUTE_MS * MINUTE_MS, new.queue, new.status] += 1
        return True

    def _append(self, job_id: str, entries: Iterable[Entry]) -> None:
        for entry in entries:
            kept = self._journals[job_id][entry.kind]
            kept.append(entry._replace(number=kept[-1].number + 1 if kept else 1))

    def journal(self, job_id: str, kind: EntryKind, *, after: int = 0, limit: int = 100) -> list[Entry]:
        require_page(after=after, limit=limit)
        with self._changed:
            kept = self._journals[job_id][kind] if job_id in self._journals else ()
            return list(islice((entry for entry in kept if entry.number > after), limit))

    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        with self._changed:
            until = self._tick(lease).time + lease
            before = self._workers.get(worker)
            order = before.order if before is not None else ""
            self._workers[worker] = WorkerRecord(worker, self.now(), about, order)
            beat = Beat([], [], order)
            for job_id, version in held.items():
                job = self._jobs.get(job_id)
                if job is None or (job.version, job.worker, job.status) != (version, worker, JobStatus.IN_PROGRESS):
                    beat.lost.append(job_id)
                    continue
                if job.cancel_requested is not None:
                    beat.cancels.append(job_id)
                self._put(job.replace(claimed_until=until))
            return beat

    def lapsed(self, limit: int, *, lease: int) -> list[Job]:
        with self._changed:
            clock = self._tick(lease)
            if clock.in_grace:
                return []
            over = sorted(entry for entry in self._entries(JobStatus.IN_PROGRESS) if entry[0] <= clock.time)
            return [self._jobs[job_id] for _, job_id in over[:limit]]

    def held(self, worker: str) -> list[Job]:
        with self._changed:
            running = (self._jobs[job_id] for _, job_id in self._entries(JobStatus.IN_PROGRESS))
            return [job for job in running if job.worker == worker]

    def wait(self, queues: Sequence[str], *, timeout: int, wake: int | None = None) -> None:
        with self._changed:
            end = time.monotonic() + min([timeout, *self._due_in(queues)]) / 1000
            while (left := end - time.monotonic()) > 0 and not readable(wake, timeout=0):
                if self._changed.wait(left if wake is None else min(left, NAP_S)):
                    return

    def _due_in(self, queues: Sequence[str]) -> Iterator[int]:
        """In how many milliseconds each of these queues may have a job to claim, as far as is known."""
        for queue in queues:
            pause, delayed = self._pauses.get(queue), self._places[JobStatus.SCHEDULED, queue]
            if pause is not None and pause.holds(self.now()):
                yield from [pause.until - self.now()] if pause.until is not None else []
            elif self._ready[queue]:
                yield 0
            elif delayed:
                yield delayed[0][0] - self.now()

    def turn(self, name: str, *, every: int) -> bool:
        with self._changed:
            now = self.now()
            if 0 < self._turns.get(name, now) - now <= every:
                return False
            self._turns[name] = now + every
            return True

    def get(self, ids: Sequence[str]) -> list[Job | None]:
        with self._changed:
            return [self._jobs.get(job_id) for job_id in ids]

    def receipt(self, key: str) -> Receipt | None:
        with self._changed:
            kept = self._receipts.get(key)
            return kept if kept is not None and kept.until > self.now() else None

    def gone(self, job_id: str) -> Gone | None:
        with self._changed:
            gone = self._gone.get(job_id)
            return gone if gone is not None and self._is_known(gone) else None

    def _is_known(self, gone: Gone) -> bool:
        return self.now() < gone.at + GONE_MS

    def find(self, query: Query) -> Page:
        with self._changed:
            entries = self._candidates(query)
            cursor = Cursor.read(query.after)
            if cursor is not None:
                start = bisect_left(entries, cursor.entry)
                entries = entries[start:] if query.oldest_first else entries[:start]
                entries = [entry for entry in entries if entry != cursor.entry]
            in_order = entries if query.oldest_first else reversed(entries)
            matching = (entry for entry in in_order if query.fits(self._jobs[entry[-1]]))
            page = list(islice(matching, query.limit + 1))
            cursors = [Cursor(*entry).text for entry in page[: query.limit]]
            following = cursors[-1] if len(page) > query.limit else ""
            return Page([self._jobs[job_id] for _, job_id in page[: query.limit]], following, cursors)

    def _candidates(self, query: Query) -> list[Spot]:
        if query.status is None or not query.goes_by_score:
            return self._created
        if query.fault is not None:
            return self._faults.get(query.fault, [])
        return sorted(self._entries(query.status, query.queue))

    def counts(self) -> list[QueueCounts]:
        with self._changed:
            return [self._counts(queue) for queue in sorted(self._queues)]

    def _counts(self, queue: str) -> QueueCounts:
        sizes = {status: len(self._places[status, queue]) for status in JobStatus}
        oldest = self._places[JobStatus.QUEUED, queue][:1]
        return QueueCounts(
            queue=queue,
            by_status={status: size for status, size in sizes.items() if size},
            oldest_at=oldest[0][0] if oldest else None,
            pause=self._pauses[queue] if self._is_paused(queue) else None,
        )

    def due(self, edges: Sequence[int], *, queue: str | None = None) -> list[int]:
        require_spans(edges, queue)
        with self._changed:
            delayed = sorted(self._entries(JobStatus.SCHEDULED, queue))
            places = [bisect_left(delayed, (edge,)) for edge in edges]
            return [min(end - start, MAX_DUE) for start, end in pairwise(places)]

    def series(self, minutes: int) -> list[Minute]:
        with self._changed:
            since = self.now() - min(minutes, SERIES_MINUTES) * MINUTE_MS
            return [Minute(*key, total) for key, total in sorted(self._series.items()) if key[0] > since]

    def faults(self, limit: int) -> list[Fault]:
        require_faults(limit)
        with self._changed:
            last = sorted(((dead[-1][0], fault) for fault, dead in self._faults.items() if dead), reverse=True)
            return [self._fault(fault, self._faults[fault]) for _, fault in last[:limit]]

    def _fault(self, fault: str, dead: list[Spot]) -> Fault:
        days = [bisect_left(dead, (day,)) for day in fault_days(self.now())]
        return Fault(
            fault=fault,
            count=len(dead),
            first_at=dead[0][0],
            last_at=dead[-1][0],
            days=tuple(end - start for start, end in pairwise([*days, len(dead)])),
            newest=dead[-1][-1],
        )

    def workers(self) -> list[WorkerRecord]:
        with self._changed:
            return sorted(filter(self._is_remembered, self._workers.values()))

    def _is_remembered(self, record: WorkerRecord) -> bool:
        return record.beat_at > self.now() - DAY_MS

    def order(self, worker: str, order: str) -> bool:
        with self._changed:
            record = self._workers.get(worker)
            if record is None or not self._is_remembered(record):
                return False
            self._workers[worker] = record._replace(order=order)
            return True

    def pause(self, pause: Pause) -> None:
        with self._changed:
            self._pauses[pause.queue] = pause
            self._queues.add(pause.queue)

    def resume(self, queue: str) -> bool:
        with self._changed:
            self._changed.notify_all()
            was_paused = self._is_paused(queue)
            self._pauses.pop(queue, None)
            return was_paused

    def delete(self, jobs: Sequence[Job], *, rest_until: int | None = None, note: Entry | None = None) -> list[bool]:
        require_short_note(note)
        with self._changed:
            return [self._delete(job, rest_until, note) for job in jobs]

    def _delete(self, job: Job, rest_until: int | None, note: Entry | None) -> bool:
        stored = self._jobs.get(job.id)
        if stored is not None and stored.version == job.version:
            if rest_until is not None:
                self._append(job.id, [note] if note else [])
                resting = Resting(stored, self.now(), rest_until)
                self._resting[job.id] = resting, self._journals.pop(job.id, _empty_journal())
            self._remove(stored)
        return job.id not in self._jobs

    def restore(
        self, ids: Sequence[str], *, versions: Mapping[str, int] | None = None, note: Entry | None = None
    ) -> list[Job | None]:
        require_short_note(note)
        with self._changed:
            for job_id in ids:
                if self._is_to_return(job_id, versions):
                    resting, self._journals[job_id] = self._resting.pop(job_id)
                    self._put(resting.job.replace(version=resting.job.version + 1))
                    self._append(job_id, [note] if note else [])
                    self._gone.pop(job_id, None)
            self._changed.notify_all()
            return self.get(ids)

    def _is_to_return(self, job_id: str, versions: Mapping[str, int] | None) -> bool:
        if job_id in self._jobs or job_id not in self._resting:
            return False
        return versions is None or self._resting[job_id][0].job.version == versions.get(job_id)

    def rests(self, job_id: str) -> Resting | None:
        with self._changed:
            return self._rests(job_id) if job_id in self._resting else None

    def _rests(self, job_id: str) -> Resting:
        resting, journals = self._resting[job_id]
        return resting._replace(note=journals["action"][-1] if journals["action"] else None)

    def trash(self, *, after: str = "", limit: int = 50) -> TrashPage:
        require_size(limit)
        with self._changed:
            cursor = Cursor.read(after)
            entries = sorted((resting.until, job_id) for job_id, (resting, _) in self._resting.items())
            left = entries if cursor is None else entries[: bisect_left(entries, cursor.entry)]
            page = left[-limit:][::-1]
            following = Cursor(*page[-1]).text if len(left) > limit else ""
            return TrashPage([self._rests(job_id) for _, job_id in page], following)

    def prune(self, before: Mapping[JobStatus, int], *, limit: int) -> int:
        with self._changed:
            old = [
                entry
                for status in TERMINAL & before.keys()
                for entry in self._entries(status)
                if entry[0] < before[status]
            ]
            for _, job_id in sorted(old)[:limit]:
                self._remove(self._jobs[job_id])
            emptied = self._empty(limit - len(old[:limit]))
            self._forget()
            return len(old[:limit]) + emptied

    def _empty(self, limit: int) -> int:
        """Removes up to `limit` jobs that ran out of the trash."""
        over = sorted((rest.until, job_id) for job_id, (rest, _) in self._resting.items() if rest.until <= self.now())
        for _, job_id in over[:limit]:
            del self._resting[job_id]
        return len(over[:limit])

    def _forget(self) -> None:
        self._receipts = {key: kept for key, kept in self._receipts.items() if kept.until > self.now()}
        self._gone = {job_id: gone for job_id, gone in self._gone.items() if self._is_known(gone)}
        self._workers = {worker: record for worker, record in self._workers.items() if self._is_remembered(record)}

    def check(self, *, fix: bool = False) -> list[Finding]:
        """Nothing but this class writes here, so an index that disagrees is a defect of it, and is only reported."""
        with self._changed:
            placed = Counter((*place, entry[-1]) for place, entries in self._all_lists() for entry in entries)
            expected = Counter((*place, job.id) for job in self._jobs.values() for place in _lists_of(job))
            astray = (placed - expected) + (expected - placed)
            return [Finding(code="MISPLACED", message=f"job {key[-1]} is misplaced", job_id=key[-1]) for key in astray]

    def _all_lists(self) -> Iterator[tuple[Spot, list[Spot]]]:
        yield from self._places.items()
        yield from (((fault,), dead) for fault, dead in self._faults.items())

    def _tick(self, lease: int) -> LeaseClock:
        self._lease_clock = tick(self._lease_clock, self.now(), lease)
        return self._lease_clock

    def _entries(self, status: JobStatus, queue: str | None = None) -> Iterator[Spot]:
        for (at, of), place in self._places.items():
            if at == status and queue in (None, of):
                yield from place

    def _put(self, job: Job) -> None:
        """The one way a job gets stored: its old entries go, its new ones come."""
        old = self._jobs.get(job.id)
        if old is None:
            insort(self._created, (job.created_at, job.id))
            self._queues.add(job.queue)
        else:
            self._leave(old)
        self._jobs[job.id] = job
        self._enter(job)

    def _enter(self, job: Job) -> None:
        insort(self._places[job.status, job.queue], (job.score, job.id))
        if job.status == JobStatus.QUEUED:
            self._ready_keys[job.id] = (-job.priority, job.score, next(self._turn), job.id)
            insort(self._ready[job.queue], self._ready_keys[job.id])
        if job.fault is not None:
            insort(self._faults[job.fault], (job.score, job.id))
        if job.holds_unique_key(self.now()) and self._holder_of(job.unique_key) is None:
            self._unique[job.unique_key or ""] = job.id

    def _leave(self, job: Job) -> None:
        _discard(self._places[job.status, job.queue], (job.score, job.id))
        if job.status == JobStatus.QUEUED:
            _discard(self._ready[job.queue], self._ready_keys.pop(job.id))
        if job.fault is not None:
            _discard(self._faults[job.fault], (job.score, job.id))

    def _remove(self, job: Job) -> None:
        self._leave(job)
        _discard(self._created, (job.created_at, job.id))
        if self._unique.get(job.unique_key or "") == job.id:
            del self._unique[job.unique_key or ""]
        self._journals.pop(job.id, None)
        if job.owner is not None:
            self._gone[job.id] = Gone(job.owner, self.now())
        del self._jobs[job.id]


def _empty_journal() -> Journals:
    return {kind: deque(maxlen=most) for kind, most in JOURNAL_LIMITS.items()}


def _lists_of(job: Job) -> list[Spot]:
    return [(job.status, job.queue)] + ([(job.fault,)] if job.fault is not None else [])


def _discard(entries: list[Spot], entry: Spot) -> None:
    del entries[bisect_left(entries, entry)]
