"""Random verbs on a store and on a model of it, which have to agree after every step.

There are few ids, queues and keys on purpose: what goes wrong does so when things meet.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, ClassVar

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from asyncjobs.domain import transitions
from asyncjobs.domain.job import PENDING, TERMINAL, Job, JobStatus, Progress
from asyncjobs.stores.base import JOURNAL_LIMITS, LARGEST_TIME, Change, Entry, EntryKind, Pause, Query, Store
from tests.clock import Clock
from tests.scene import BOOM, LEASE, ids
from tests.stores.model import MINUTE, Model

HOUR = 3_600_000
DAY = 24 * HOUR
IDS = [f"{digit * 8}-2bd0-4672-b79d-d97027f9071a" for digit in "123"]
QUEUES = ["a", "b"]
RUNNING = JobStatus.IN_PROGRESS

WORKERS = ["w1", "w2"]
ENTRIES: list[list[EntryKind]] = [["attempt", "log"], [], ["log"]]
OTHER = replace(BOOM, message="it broke otherwise")
HOLDERS_VERBS: list[Callable[..., Job]] = [
    lambda job, *, now: transitions.complete(job, "1", now=now),
    lambda job, *, now: transitions.fail(job, BOOM, delay=None, now=now),
    lambda job, *, now: transitions.fail(job, OTHER, delay=None, now=now),
    lambda job, *, now: transitions.fail(job, BOOM, delay=0, now=now),
    lambda job, *, now: transitions.fail(job, BOOM, delay=3_000, now=now),
    transitions.release,
    lambda job, *, now: transitions.snooze(job, now + 3_000, now=now),
    lambda job, *, now: transitions.snooze(job, 0, error=BOOM, now=now),
    transitions.crash,
    transitions.cancel,
]
NOTES: list[Callable[..., Job]] = [
    lambda job, *, now: transitions.report(job, Progress(done=job.attempt), now=now),
    transitions.request_cancel,
]


def reschedule(job: Job, *, now: int) -> Job:
    return transitions.reschedule(job, now + 1_000 * (job.priority // 100), now=now)


def promote_or_run_now(job: Job, *, now: int) -> Job:
    return transitions.promote(job, now=now) if job.score <= now else transitions.run_now(job, now=now)


PENDING_VERBS: dict[JobStatus, list[Callable[..., Job]]] = {
    JobStatus.QUEUED: [transitions.cancel, reschedule],
    JobStatus.SCHEDULED: [transitions.cancel, reschedule, promote_or_run_now],
    JobStatus.WAITING: [transitions.cancel, transitions.ready],
}

which = st.integers(0, len(IDS) - 1)
workers = st.sampled_from(WORKERS)
unique = st.sampled_from(
    [
        {},
        {"unique_key": "k", "unique_while": "pending"},
        {"unique_key": "k", "unique_while": "pending"},
        {"unique_key": "k", "unique_while": "running"},
        {"unique_key": "k", "unique_while": "ttl", "unique_until": 50},
        {"unique_key": "k", "unique_while": "ttl", "unique_until": HOUR},
    ]
)
submission = st.builds(
    lambda job_id, queue, priority, due, key: {"id": job_id, "queue": queue, "priority": priority} | due | key,
    st.sampled_from(IDS),
    st.sampled_from(QUEUES),
    st.sampled_from([-100, 0, 100]),
    st.sampled_from([{}, {}, {"due_at": 0}, {"due_at": 3_000}, {"status": JobStatus.WAITING}]),
    unique,
)
submissions = st.lists(submission, min_size=1, max_size=3, unique_by=lambda fields: fields["id"])


def when(*statuses: JobStatus) -> Any:
    """A rule that needs a job in one of these statuses."""
    return precondition(lambda machine: machine.model.of(*statuses))


class StoreMachine(RuleBasedStateMachine):
    """What becomes of jobs."""

    open: ClassVar[Callable[[Clock], Store]]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.began = self.clock()
        self.store = type(self).open(self.clock)
        self.model = Model(self.clock)
        self.past: list[Change] = []
        self.as_claimed: dict[str, Job] = {}
        assert self.store.lapsed(1, lease=LEASE) == []

    def one(self, which: int, *statuses: JobStatus) -> Job:
        jobs = self.model.of(*statuses)
        return jobs[which % len(jobs)]

    def write(self, *changes: Change) -> None:
        assert self.store.swap(changes) == [self.model.swapped(change) for change in changes]
        self.past.extend(changes)

    def move(self, transition: Any, job: Job, *arguments: Any, **options: Any) -> None:
        self.write(Change(job, transition(job, *arguments, now=self.clock(), **options), self.entries()))

    def entries(self) -> tuple[Entry, ...]:
        """None, one or two for a change, each time others."""
        turn = len(self.past)
        return tuple(Entry(kind, self.clock(), f"{kind} {turn}") for kind in ENTRIES[turn % len(ENTRIES)])

    def submission(self, due_at: int | None = None, unique_until: int | None = None, **fields: Any) -> Job:
        now = self.clock()
        if due_at is not None:
            fields |= {"status": JobStatus.SCHEDULED, "due_at": now + due_at}
        if unique_until is not None:
            fields["unique_until"] = now + unique_until
        return Job(name="tests.echo", created_at=now, updated_at=now, **fields)

    @rule(submissions=submissions)
    def add(self, submissions: list[dict[str, Any]]) -> None:
        self.put([self.submission(**fields) for fields in submissions])

    def put(self, jobs: list[Job], **options: Any) -> list[Job]:
        self.forget_former_lives(jobs)
        answered = self.store.add(jobs, **options)
        pairs = list(zip(jobs, answered, strict=True))
        for place, pair in enumerate(pairs):
            self.model.added(*pair, before=pairs[:place])
        return answered

    def forget_former_lives(self, jobs: list[Job]) -> None:
        """A job added again after it was deleted is another one, with the versions of the first."""
        again = {job.id for job in jobs} - self.model.jobs.keys()
        self.past = [change for change in self.past if change.new.id not in again]

    @when(JobStatus.QUEUED, JobStatus.SCHEDULED)
    @rule(queues=st.permutations(QUEUES), only_first=st.booleans(), worker=workers, limit=st.integers(1, 3))
    def claim(self, queues: list[str], only_first: bool, worker: str, limit: int) -> None:  # noqa: FBT001 - drawn
        queues = queues[:1] if only_first else queues
        claimed = self.store.claim(queues, worker=worker, limit=limit, lease=LEASE)
        self.follow_claim(queues, worker, limit, claimed)

    def follow_claim(self, queues: list[str], worker: str, limit: int, claimed: list[Job]) -> None:
        self.model.claimed(queues, worker, limit, claimed)
        self.as_claimed |= {job.id: job for job in claimed}
        for job, promoted in self.model.may_be_promoted(queues):
            [stored] = self.store.get([job.id])
            assert stored in (job, promoted)
            self.model.put(stored)

    @when(RUNNING)
    @rule(which=which, worker=workers, limit=st.integers(1, 3))
    def complete_and_claim(self, which: int, worker: str, limit: int) -> None:
        job = self.one(which, RUNNING)
        change = Change(job, transitions.complete(job, "1", now=self.clock()))
        written, claimed = self.store.exchange([change], QUEUES, worker=worker, limit=limit, lease=LEASE)
        assert written == [self.model.swapped(change)] == [True]
        self.past.append(change)
        self.follow_claim(QUEUES, worker, limit, claimed)

    @when(RUNNING)
    @rule(which=which, how=st.sampled_from(HOLDERS_VERBS))
    def act_as_holder(self, which: int, how: Callable[..., Job]) -> None:
        """On the job as it was claimed: the holder knows of no note made and no lease extended since."""
        self.move(how, self.as_claimed[self.one(which, RUNNING).id])

    @when(RUNNING)
    @rule(which=which, how=st.sampled_from(NOTES))
    def note(self, which: int, how: Callable[..., Job]) -> None:
        self.move(how, self.as_claimed[self.one(which, RUNNING).id])

    @when(RUNNING)
    @rule(which=which, lines=st.sampled_from([1, 2, 60]))
    def log(self, which: int, lines: int) -> None:
        """Lines alone, more of them than a journal of attempts holds."""
        job = self.as_claimed[self.one(which, RUNNING).id]
        self.write(Change(job, job, tuple(Entry("attempt", self.clock(), str(line)) for line in range(lines))))

    @when(*PENDING)
    @rule(which=which, how=st.integers(0, 10))
    def act_on_pending(self, which: int, how: int) -> None:
        job = self.one(which, *PENDING)
        verbs = PENDING_VERBS[job.status]
        self.move(verbs[how % len(verbs)], job)

    @when(*TERMINAL)
    @rule(which=which)
    def retry(self, which: int) -> None:
        self.move(transitions.retry, self.one(which, *TERMINAL))

    @when(RUNNING)
    @rule()
    def complete_all(self) -> None:
        jobs = self.model.of(RUNNING)
        self.write(*(Change(job, transitions.complete(job, job.id, now=self.clock())) for job in jobs))

    @when(RUNNING)
    @rule()
    def rescue(self) -> None:
        lapsed = self.store.lapsed(len(IDS), lease=LEASE)
        assert sorted(ids(lapsed)) == ids(self.model.lapsed())
        for job in lapsed:
            self.move(transitions.rescue, job)

    @precondition(lambda machine: machine.past)
    @rule(which=st.integers(0, 20))
    def repeat_an_old_change(self, which: int) -> None:
        self.write(self.past[-1 - which % len(self.past)])

    @precondition(lambda machine: machine.past)
    @rule(which=st.integers(0, 20))
    def settle_what_was_held_once(self, which: int) -> None:
        change = self.past[-1 - which % len(self.past)]
        for job in (change.old, change.new):
            if job.status == RUNNING:
                self.move(transitions.complete, job, "late")

    @when(RUNNING)
    @rule()
    def beat(self) -> None:
        for worker in WORKERS:
            self.beat_as(worker, versions_ago=1)
            self.beat_as(worker, versions_ago=0)

    def beat_as(self, worker: str, *, versions_ago: int) -> None:
        held = {job.id: job.version - versions_ago for job in self.model.jobs.values()}
        mine = [] if versions_ago else [job for job in self.model.of(RUNNING) if job.worker == worker]
        until = self.model.tick().time + LEASE
        beat = self.store.beat(worker, held, lease=LEASE)
        assert sorted(beat.lost) == sorted(held.keys() - ids(mine))
        assert sorted(beat.cancels) == [job.id for job in mine if job.cancel_requested is not None]
        assert beat.order == self.model.orders.setdefault(worker, "")
        for job in mine:
            self.model.put(job.replace(claimed_until=until))

    @precondition(lambda machine: machine.model.of(*TERMINAL) or machine.model.trash)
    @rule(which=which, statuses=st.sets(st.sampled_from(sorted(TERMINAL)), min_size=1), ms=st.sampled_from([0, 1]))
    def prune(self, which: int, statuses: set[JobStatus], ms: int) -> None:
        before, limit = self.clock() + ms, which + 1
        old = [job for job in self.model.of(*statuses) if job.score < before]
        over = [rest.job for rest in self.model.trash.values() if rest.until <= self.clock()]
        assert self.store.prune(dict.fromkeys(statuses, before), limit=limit) == min(len(old) + len(over), limit)
        gone = [job for job in old if self.store.get([job.id]) == [None]]
        assert len(gone) == min(len(old), limit)
        for job in gone:
            self.model.remove(job)
        emptied = [job.id for job in over if self.store.rests(job.id) is None]
        assert len(emptied) == min(len(over), limit - len(gone))
        for job_id in emptied:
            del self.model.trash[job_id]

    @when(*JobStatus)
    @rule(which=which, stale=st.booleans())
    def delete(self, which: int, stale: bool) -> None:  # noqa: FBT001 - drawn
        job = self.one(which, *JobStatus)
        assert self.store.delete([job.replace(version=job.version - stale)]) == [not stale]
        if not stale:
            self.model.remove(job)

    @when(*JobStatus)
    @rule(which=which, ms=st.sampled_from([0, 2_000, HOUR]))
    def delete_to_the_trash(self, which: int, ms: int) -> None:
        job = self.one(which, *JobStatus)
        until = self.clock() + ms
        assert self.store.delete([job], rest_until=until) == [True]
        self.model.lay(job, until)

    @precondition(lambda machine: machine.model.trash)
    @rule(wanted=st.permutations(IDS))
    def restore(self, wanted: list[str]) -> None:
        wanted = wanted[:2]
        # A job that was added under the same id is another one, whose changes are not those of the first.
        back = {job_id for job_id in wanted if job_id in self.model.trash and job_id not in self.model.jobs}
        assert self.store.restore(wanted) == [self.model.restored(job_id) for job_id in wanted]
        self.as_claimed |= {job_id: self.model.jobs[job_id] for job_id in back}

    @rule(queue=st.sampled_from(QUEUES))
    def pause_or_resume(self, queue: str) -> None:
        self.model.queues.add(queue)
        if queue in self.model.paused:
            self.model.paused.remove(queue)
            assert self.store.resume(queue)
        else:
            self.model.paused.add(queue)
            self.store.pause(Pause(queue=queue, since=self.clock()))

    @rule(ms=st.sampled_from([60, 2_000, LEASE // 2, LEASE, HOUR, -HOUR]))
    def elapse_or_jump(self, ms: int) -> None:
        """Within a day: for so long it is known of a worker that there was one."""
        assume(self.clock() + ms < self.began + DAY)
        self.clock.advance(ms)
        assert sorted(ids(self.store.lapsed(len(IDS), lease=LEASE))) == ids(self.model.lapsed())

    @invariant()
    def every_job_is_as_it_should_be(self) -> None:
        assert self.store.get(IDS) == [self.model.jobs.get(job_id) for job_id in IDS]

    @invariant()
    def every_journal_has_each_entry_once(self) -> None:
        for job_id, kind in product(IDS, JOURNAL_LIMITS):
            kept = [(entry.number, entry.text) for entry in self.store.journal(job_id, kind)]
            assert kept == self.model.journal(job_id, kind)

    @invariant()
    def every_job_is_in_the_one_place_its_status_names(self) -> None:
        for status in JobStatus:
            assert sorted(ids(self.store.find(Query(status=status)).jobs)) == ids(self.model.of(status))
        for worker in WORKERS:
            mine = [job for job in self.model.of(RUNNING) if job.worker == worker]
            assert sorted(ids(self.store.held(worker))) == ids(mine)

    @invariant()
    def the_trash_holds_what_was_laid_there(self) -> None:
        assert {rest.job.id: rest for rest in self.store.trash().resting} == self.model.trash

    @invariant()
    def every_job_is_counted_once(self) -> None:
        counted = {counts.queue: dict(counts.by_status) for counts in self.store.counts()}
        jobs = self.model.jobs.values()
        assert counted == {
            queue: Counter(job.status for job in jobs if job.queue == queue) for queue in self.model.queues
        }

    @invariant()
    def every_delayed_job_falls_due_once(self) -> None:
        edges = [-LARGEST_TIME, self.clock(), self.clock() + 3_000, LARGEST_TIME]
        due = [job.score for job in self.model.of(JobStatus.SCHEDULED)]
        assert self.store.due(edges) == [sum(start <= at < end for at in due) for start, end in pairwise(edges)]

    @invariant()
    def every_end_is_counted_once(self) -> None:
        this_minute = self.clock() // MINUTE * MINUTE
        series = {(at, queue, status): count for at, queue, status, count in self.store.series(1) if at == this_minute}
        assert series == {key: count for key, count in self.model.ended.items() if key[0] == this_minute}

    @invariant()
    def every_fault_is_that_of_its_dead_jobs(self) -> None:
        expected = self.model.faults()
        faults = self.store.faults(10)
        last = [fault.last_at for fault in faults]
        assert last == sorted(last, reverse=True)
        assert {fault.fault: (fault.first_at, fault.last_at, fault.count, sum(fault.days)) for fault in faults} == {
            fault: (times[0], times[-1], len(times), len(times)) for fault, times in expected.items()
        }
        for fault in faults:
            found = self.store.find(Query(fault=fault.fault)).jobs
            assert sorted(job.score for job in found) == expected[fault.fault]
            assert (found[0].id, found[0].score) == (fault.newest, fault.last_at)

    @invariant()
    def every_index_agrees(self) -> None:
        assert self.store.check() == []
