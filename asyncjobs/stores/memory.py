"""Jobs in this process's memory: for tests and development, and the simplest reading of the contract."""

import threading
import time
from bisect import bisect_left, insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, ClassVar, Self

from asyncjobs.domain import transitions
from asyncjobs.domain.job import FIELDS, PENDING, TERMINAL, Job, JobStatus, values_of
from asyncjobs.domain.lease import LeaseClock, tick
from asyncjobs.errors import DuplicateJob, QueueFull
from asyncjobs.stores.base import (
    JOURNAL_LIMITS,
    PROMOTE_LIMIT,
    SERIES_MINUTES,
    Beat,
    Change,
    Entry,
    EntryKind,
    Finding,
    Minute,
    Page,
    Pause,
    Query,
    QueueCounts,
    Store,
    Twins,
    WorkerRecord,
    require_page,
    require_short_entries,
)
from asyncjobs.stores.cursor import Cursor
from asyncjobs.stores.waking import readable

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
NAP_S = 0.01  # between two looks at a file descriptor

Spot = tuple[Any, ...]  # sort key first, the job's id last


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
        self._created: list[Spot] = []
        self._unique: dict[str, str] = {}
        self._queues: set[str] = set()
        self._pauses: dict[str, Pause] = {}
        self._series: Counter[tuple[int, str, JobStatus]] = Counter()
        self._workers: dict[str, WorkerRecord] = {}
        self._journals: defaultdict[str, dict[EntryKind, deque[Entry]]] = defaultdict(_empty_journal)
        self._turns: dict[str, int] = {}

    def __str__(self) -> str:
        return "the memory of this process"

    def now(self) -> int:
        return self._clock()

    def add(
        self, jobs: Sequence[Job], *, limits: Mapping[str, int] | None = None, twins: Twins = "return"
    ) -> list[Job]:
        with self._changed:
            stored = [self._stored_or_new(job, twins) for job in self._with_twins_of_the_batch(jobs, twins)]
            fresh = [job for job in dict.fromkeys(job.id for job in stored) if job not in self._jobs]
            by_id = {job.id: job for job in stored}
            self._refuse_overflow([by_id[job_id] for job_id in fresh], limits or {})
            for job_id in fresh:
                self._put(by_id[job_id])
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
        if new.is_terminal and not old.is_terminal:
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
            self._workers[worker] = WorkerRecord(worker, self.now(), about)
            beat = Beat([], [])
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

    def find(self, query: Query) -> Page:
        with self._changed:
            entries = sorted(self._entries(query.status, query.queue) if query.status else self._created)
            cursor = Cursor.read(query.after)
            if cursor is not None:
                start = bisect_left(entries, cursor.entry)
                entries = entries[start:] if query.oldest_first else entries[:start]
                entries = [entry for entry in entries if entry != cursor.entry]
            matching = (
                entry for entry in (entries if query.oldest_first else reversed(entries)) if self._matches(entry, query)
            )
            page = list(islice(matching, query.limit + 1))
            following = Cursor(*page[query.limit - 1]).text if len(page) > query.limit else ""
            return Page([self._jobs[job_id] for _, job_id in page[: query.limit]], following)

    def _matches(self, entry: Spot, query: Query) -> bool:
        job = self._jobs[entry[-1]]
        return (
            query.queue in (None, job.queue)
            and query.name in (None, job.name)
            and query.owner in (None, job.owner)
            and (query.tag is None or query.tag in job.tags)
            and (query.created_from is None or job.created_at >= query.created_from)
            and (query.created_to is None or job.created_at < query.created_to)
        )

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

    def series(self, minutes: int) -> list[Minute]:
        with self._changed:
            since = self.now() - min(minutes, SERIES_MINUTES) * MINUTE_MS
            return [Minute(*key, total) for key, total in sorted(self._series.items()) if key[0] > since]

    def workers(self) -> list[WorkerRecord]:
        with self._changed:
            return sorted(record for record in self._workers.values() if record.beat_at > self.now() - DAY_MS)

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

    def delete(self, jobs: Sequence[Job]) -> list[bool]:
        with self._changed:
            return [self._delete(job) for job in jobs]

    def _delete(self, job: Job) -> bool:
        stored = self._jobs.get(job.id)
        if stored is not None and stored.version == job.version:
            self._remove(stored)
        return job.id not in self._jobs

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
            return len(old[:limit])

    def check(self, *, fix: bool = False) -> list[Finding]:
        """Nothing but this class writes here, so an index that disagrees is a defect of it, and is only reported."""
        with self._changed:
            placed = Counter(
                (status, queue, entry[-1]) for (status, queue), place in self._places.items() for entry in place
            )
            expected = Counter((job.status, job.queue, job.id) for job in self._jobs.values())
            astray = (placed - expected) + (expected - placed)
            return [Finding(code="MISPLACED", message=f"job {key[2]} is misplaced", job_id=key[2]) for key in astray]

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
        if job.holds_unique_key(self.now()) and self._holder_of(job.unique_key) is None:
            self._unique[job.unique_key or ""] = job.id

    def _leave(self, job: Job) -> None:
        _discard(self._places[job.status, job.queue], (job.score, job.id))
        if job.status == JobStatus.QUEUED:
            _discard(self._ready[job.queue], self._ready_keys.pop(job.id))

    def _remove(self, job: Job) -> None:
        self._leave(job)
        _discard(self._created, (job.created_at, job.id))
        if self._unique.get(job.unique_key or "") == job.id:
            del self._unique[job.unique_key or ""]
        self._journals.pop(job.id, None)
        del self._jobs[job.id]


def _empty_journal() -> dict[EntryKind, deque[Entry]]:
    return {kind: deque(maxlen=most) for kind, most in JOURNAL_LIMITS.items()}


def _discard(entries: list[Spot], entry: Spot) -> None:
    del entries[bisect_left(entries, entry)]
