"""What a store ought to hold, in a dictionary: small enough to be right by looking at it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from operator import attrgetter

from asyncjobs.domain import transitions
from asyncjobs.domain.job import FIELDS, Job, JobStatus
from asyncjobs.domain.lease import LeaseClock, tick
from asyncjobs.stores.base import JOURNAL_LIMITS, Change, EntryKind, Receipt, Resting
from tests.clock import Clock
from tests.scene import LEASE

MINUTE = 60_000


class Model:
    """Where the contract leaves a choice, the model takes over what the store chose, if it was allowed."""

    def __init__(self, clock: Clock) -> None:
        self.now = clock
        self.jobs: dict[str, Job] = {}
        self.paused: set[str] = set()
        self.receipts: dict[str, Receipt] = {}
        self.orders: dict[str, str] = {}  # of each worker that was heard from, "" if there is none
        self.queues: set[str] = set()
        self.ended: Counter[tuple[int, str, JobStatus]] = Counter()
        self.entries: defaultdict[tuple[str, EntryKind], list[str]] = defaultdict(list)
        self.trash: dict[str, Resting] = {}
        self._laid: dict[tuple[str, EntryKind], list[str]] = {}
        self._holders: dict[str, str] = {}
        self._lease_clock = LeaseClock(clock())

    def tick(self) -> LeaseClock:
        self._lease_clock = tick(self._lease_clock, self.now(), LEASE)
        return self._lease_clock

    def of(self, *statuses: JobStatus) -> list[Job]:
        return sorted((job for job in self.jobs.values() if job.status in statuses), key=attrgetter("id"))

    def added(self, job: Job, answered: Job, *, before: Sequence[tuple[Job, Job]] = ()) -> None:
        """`before`: the jobs before it in the same call, and their answers."""
        stored = self.jobs.get(job.id)
        if stored is not None:
            assert answered == stored
        elif answered.id != job.id:
            of_the_call = [mate for asked, mate in before if asked.unique_key == job.unique_key]
            assert job.unique_key is not None
            assert answered in self._twins(job) + of_the_call
        else:
            assert answered == job
            assert self._holder(job.unique_key) is None, "a twin was stored"
            self.put(job)

    def claimed(self, queues: Sequence[str], worker: str, limit: int, claimed: list[Job]) -> None:
        until = self.tick().time + LEASE
        ready = self._ready([queue for queue in queues if queue not in self.paused])
        turn = [(queues.index(job.queue), -job.priority) for job in ready]
        old = [self.jobs[job.id] for job in claimed]
        assert [(queues.index(job.queue), -job.priority) for job in old] == sorted(turn)[:limit]
        for job in claimed:
            promoted = self._promoted(self.jobs[job.id])
            assert job == transitions.start(promoted, worker=worker, until=until, now=self.now())
            self.put(job)

    def may_be_promoted(self, queues: Sequence[str]) -> list[tuple[Job, Job]]:
        """Due jobs that a claim may have promoted or left alone: as they were, and as they would be."""
        due = self._ready([queue for queue in queues if queue not in self.paused])
        return [(job, self._promoted(job)) for job in due if job.status == JobStatus.SCHEDULED]

    def _ready(self, queues: Sequence[str]) -> list[Job]:
        return [
            job
            for job in self.of(JobStatus.QUEUED, JobStatus.SCHEDULED)
            if job.queue in queues and (job.status == JobStatus.QUEUED or job.score <= self.now())
        ]

    def _promoted(self, job: Job) -> Job:
        return transitions.promote(job, now=self.now()) if job.status == JobStatus.SCHEDULED else job

    def swapped(self, change: Change) -> bool:
        """Whether this change is to be stored; it is, from now on."""
        old, new, entries = change
        stored = self.jobs.get(new.id)
        if stored is None:
            return False
        changed = {name: getattr(new, name) for name in FIELDS if getattr(new, name) != getattr(old, name)}
        result = stored.replace(**changed)
        if stored.version != old.version:
            return bool(changed) and result == stored
        for entry in entries:
            self.entries[new.id, entry.kind].append(entry.text)
        if new.is_terminal and not old.is_terminal:
            self.ended[self.now() // MINUTE * MINUTE, new.queue, new.status] += 1
        self.put(result)
        return True

    def faults(self) -> dict[str, list[int]]:
        """When the dead jobs of each fault failed."""
        times: defaultdict[str, list[int]] = defaultdict(list)
        for job in self.of(JobStatus.FAILED):
            times[job.fault or ""].append(job.score)
        return {fault: sorted(of) for fault, of in times.items()}

    def lapsed(self) -> list[Job]:
        clock = self.tick()
        running = self.of(JobStatus.IN_PROGRESS)
        return [] if clock.in_grace else [job for job in running if job.score <= clock.time]

    def put(self, job: Job) -> None:
        old = self.jobs.get(job.id)
        held = old is not None and old.holds_unique_key(self.now())
        self.jobs[job.id] = job
        self.queues.add(job.queue)
        if job.unique_key is None:
            return
        if not job.holds_unique_key(self.now()):
            self._let_go(job)
        elif not held and self._holder(job.unique_key) is None:
            self._holders[job.unique_key] = job.id

    def remove(self, job: Job) -> None:
        self._let_go(job)
        del self.jobs[job.id]
        for kind in JOURNAL_LIMITS:
            self.entries.pop((job.id, kind), None)

    def lay(self, job: Job, until: int) -> None:
        """Removes the job into the trash."""
        self.trash[job.id] = Resting(job, self.now(), until)
        self._laid |= {(job.id, kind): self.entries[job.id, kind] for kind in JOURNAL_LIMITS}
        self.remove(job)

    def restored(self, job_id: str) -> Job | None:
        """What is stored under this id, if it was to come back from the trash."""
        if job_id in self.trash and job_id not in self.jobs:
            job = self.trash.pop(job_id).job
            self.put(job.replace(version=job.version + 1))
            self.entries |= {(job_id, kind): self._laid[job_id, kind] for kind in JOURNAL_LIMITS}
        return self.jobs.get(job_id)

    def journal(self, job_id: str, kind: EntryKind) -> list[tuple[int, str]]:
        """The entries that are kept, each with its number."""
        return list(enumerate(self.entries[job_id, kind], 1))[-JOURNAL_LIMITS[kind] :]

    def _let_go(self, job: Job) -> None:
        if job.unique_key is not None and self._holders.get(job.unique_key) == job.id:
            del self._holders[job.unique_key]

    def _holder(self, key: str | None) -> Job | None:
        job = self.jobs.get(self._holders.get(key or "", ""))
        return job if job is not None and job.holds_unique_key(self.now()) else None

    def _twins(self, job: Job) -> list[Job]:
        return [
            twin
            for twin in self.jobs.values()
            if twin.unique_key == job.unique_key and twin.holds_unique_key(self.now())
        ]
