"""Fills a store with what a busy shop leaves there in a week: most jobs are done, 7 % of them are dead."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

from asyncjobs.actions import action_entry
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus, Progress
from asyncjobs.ids import new_ids
from asyncjobs.outcome import attempt_entry
from asyncjobs.stores.base import JOURNAL_LIMITS, MAX_BATCH, Change, Entry, Store
from tests.bench.dashboard.shop import FAILURES, NAMES, OWNERS, TAGS, Failure
from tests.clock import Clock

SECOND: Final = 1_000
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
WORKERS: Final = tuple(f"web-{host}-{process}" for host in range(1, 13) for process in range(1, 5))
SILENT: Final = 2  # of these
RUNNING: Final = 48
TALKATIVE: Final = 20  # dead jobs that said all that is kept
DELETED: Final = 10  # of a thousand jobs of the last day
LONG: Final = 16 * 1024  # characters of some arguments and results

# How many jobs out of a thousand are in a status: of those of the last day, and of those before.
YOUNG: Final[Mapping[JobStatus, int]] = {
    JobStatus.COMPLETED: 370,
    JobStatus.FAILED: 40,
    JobStatus.CANCELED: 20,
    JobStatus.QUEUED: 200,
    JobStatus.SCHEDULED: 330,
    JobStatus.WAITING: 40,
}
OLD: Final[Mapping[JobStatus, int]] = {JobStatus.COMPLETED: 905, JobStatus.FAILED: 75, JobStatus.CANCELED: 20}

_TEMPLATE: Final = Job(id="", name="")


class Stock:
    """Puts jobs into a store whose clock can be set, in the order of their creation.

    `talkative` are the ids of dead jobs with a long journal.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.talkative: list[str] = []
        self._store = store
        self._clock = clock
        self._now = clock()
        self._chance = Random(5)
        self._held: defaultdict[str, list[str]] = defaultdict(list)

    def fill(self, many: int) -> None:
        """Adds so many jobs, and workers that are heard of all through the benchmark."""
        for start in range(0, many, MAX_BATCH):
            numbers = range(start, min(start + MAX_BATCH, many))
            self._set_clock(self._now - WEEK + WEEK * numbers[-1] // many)
            named = list(zip(numbers, new_ids(len(numbers)), strict=True))
            jobs = [self._submitted(job_id, self._now - WEEK + WEEK * number // many) for number, job_id in named]
            fates = [self._fate(job, left=many - number) for number, job in zip(numbers, jobs, strict=True)]
            self._run(jobs, fates)
        self._set_clock(self._now)
        self._beat()

    def _set_clock(self, to: int) -> None:
        self._clock.advance(to - self._clock())

    def _submitted(self, job_id: str, at: int) -> Job:
        chance = self._chance
        name = NAMES[int(len(NAMES) * chance.random() ** 2)]
        arguments = [chance.randint(10_000, 99_999), "x" * LONG if chance.random() < 0.01 else "ada@example.org"]
        return _TEMPLATE.replace(
            id=job_id,
            name=name,
            queue=_queue(name),
            payload=json.dumps({"args": arguments, "kwargs": {}}),
            created_at=at,
            updated_at=at,
            owner=str(int(OWNERS * chance.random() ** 3)) if chance.random() < 0.3 else None,
            tags=(TAGS[int(len(TAGS) * chance.random() ** 3)],) if chance.random() < 0.1 else (),
        )

    def _fate(self, job: Job, *, left: int) -> JobStatus:
        """The status it is in now; `left` jobs, with this one, are still to come."""
        if left <= RUNNING:
            return JobStatus.IN_PROGRESS
        likely = YOUNG if self._now - job.created_at < DAY else OLD
        return self._chance.choices(list(likely), list(likely.values()))[0]

    def _run(self, jobs: list[Job], fates: list[JobStatus]) -> None:
        """Stores these jobs, and what became of them."""
        placed = [self._placed(job, fate) for job, fate in zip(jobs, fates, strict=True)]
        self._store.add(placed)
        changes = (self._change(job, fate) for job, fate in zip(placed, fates, strict=True))
        made = [change for change in changes if change is not None]
        assert all(self._store.swap(made))
        self._delete([change.new for change in made if change.new.status == JobStatus.CANCELED])

    def _delete(self, canceled: list[Job]) -> None:
        """Those that were canceled lately are in the trash."""
        until = self._clock() + DAY
        if until > self._now:
            note = action_entry("delete", by="1", now=self._clock(), reason="nobody asked for it")
            assert all(self._store.delete(canceled[:DELETED], rest_until=until, note=note))

    def _placed(self, job: Job, fate: JobStatus) -> Job:
        """As it is just before what becomes of it."""
        match fate:
            case JobStatus.QUEUED | JobStatus.CANCELED:
                return job
            case JobStatus.WAITING:
                return job.replace(status=fate)
            case JobStatus.SCHEDULED if self._chance.random() < 0.6:
                return job.replace(status=fate, due_at=self._now + self._chance.randint(HOUR, 30 * DAY))
            case JobStatus.FAILED:
                name = self._failure().name
                job = job.replace(name=name, queue=_queue(name))
        return self._started(job)

    def _failure(self) -> Failure:
        return FAILURES[int(len(FAILURES) * self._chance.random() ** 2)]

    def _started(self, job: Job) -> Job:
        at = min(job.created_at + self._chance.randint(20, 4_000), self._now)
        return transitions.start(job, worker=self._chance.choice(WORKERS), until=self._now + HOUR, now=at)

    def _change(self, job: Job, fate: JobStatus) -> Change | None:
        """What becomes of it, if anything does."""
        at = min((job.started_at or job.created_at) + self._chance.randint(5, 8_000), self._now)
        if fate == JobStatus.CANCELED:
            return Change(job, transitions.cancel(job, now=at, reason="nobody wants it"))
        if job.status != JobStatus.IN_PROGRESS:
            return None
        if fate == JobStatus.IN_PROGRESS:
            return self._reported(job, at)
        if fate == JobStatus.COMPLETED:
            result = json.dumps("x" * LONG) if self._chance.random() < 0.01 else "null"
            return Change(job, transitions.complete(job, result, now=at))
        return self._failed(job, at, is_last=fate == JobStatus.FAILED)

    def _reported(self, job: Job, at: int) -> Change:
        self._held[job.worker or ""].append(job.id)
        progress = Progress(done=7, total=24, message="page 7 of 24")
        return Change(job, transitions.report(job, progress, now=at), tuple(_lines(at)))

    def _failed(self, job: Job, at: int, *, is_last: bool) -> Change:
        error = next(failure for failure in FAILURES if failure.name == job.name).error(self._chance)
        delay = None if is_last else self._now - at + self._chance.randint(SECOND, 2 * HOUR)
        entries: list[Entry] = [Entry("log", at, "asking the gateway")]
        if is_last and len(self.talkative) < TALKATIVE:
            self.talkative.append(job.id)
            entries = [*_lines(at), *self._tries(job)]
        last = attempt_entry(job, error, now=at)
        return Change(job, transitions.fail(job, error, delay=delay, now=at), (*entries, last))

    def _tries(self, job: Job) -> Iterator[Entry]:
        """How it failed before, and was retried by hand."""
        for number in range(3):
            yield attempt_entry(job, FAILURES[-1 - number].error(self._chance), now=job.created_at + number)
            yield action_entry("retry", by="1", now=job.created_at + number, reason="the gateway is back")

    def _beat(self) -> None:
        """From the future, so that all but SILENT of them are not silent before the benchmark is over."""
        self._clock.advance(-HOUR)
        for number, worker in enumerate(WORKERS):
            if number == SILENT:
                self._clock.advance(2 * HOUR)
            self._store.beat(worker, {}, lease=HOUR, about=json.dumps(self._about(worker, number)))

    def _about(self, worker: str, number: int) -> dict[str, object]:
        host = worker.rpartition("-")[0]
        held = self._held[worker]
        who = {"name": host, "host": host, "pid": 1_000 + number, "supervisor": 999, "since": self._now / 1000 - 9_000}
        busy = {"jobs": held, "running": len(held), "memory": 118_000_000, "claimed_ago": 120, "state": "working"}
        return who | busy | {"queues": ["*"], "version": "2026.11.3", "threads": 8, "async_concurrency": 100}


def _queue(name: str) -> str:
    return name.split(".")[1]


def _lines(at: int) -> Iterator[Entry]:
    """As many lines of a log as are kept."""
    for number in range(JOURNAL_LIMITS["log"]):
        yield Entry("log", at, f"page {number} of 500: {number * 7919} rows read, none of them skipped")
