"""Short words for what store tests say most: add a job, start it, bring it to a status, let time pass."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError, JobStatus
from asyncjobs.stores.base import Change, Query, Store

LEASE = 10_000
BOOM = JobError(code="BOOM", message="it broke", type="builtins.ValueError", traceback="line 1\nline 2")


@dataclass
class Scene:
    """A store, its clock, and the usual ways to change what is in it."""

    store: Store
    clock: Any  # a `Clock`, or the `now` of a store on its own clock

    def job(self, **fields: Any) -> Job:
        """A job as the engine would submit it now."""
        now = self.clock()
        usual: dict[str, Any] = {"id": str(uuid4()), "name": "tests.echo", "created_at": now, "updated_at": now}
        return Job(**usual | fields)

    def delayed(self, ms: int, **fields: Any) -> Job:
        return self.job(status=JobStatus.SCHEDULED, due_at=self.clock() + ms, **fields)

    def add(self, **fields: Any) -> Job:
        return self.put(self.job(**fields))

    def put(self, job: Job) -> Job:
        assert self.store.add([job]) == [job]
        return job

    def claim(self, *queues: str, worker: str = "w1", limit: int = 1) -> list[Job]:
        return self.store.claim(queues or ("default",), worker=worker, limit=limit, lease=LEASE)

    def started(self, *, worker: str = "w1", **fields: Any) -> Job:
        job = self.add(**fields)
        [claimed] = self.claim(job.queue, worker=worker)
        assert claimed.id == job.id
        return claimed

    def completed(self, **fields: Any) -> Job:
        return self.settle(transitions.complete, self.started(**fields), "null")

    def failed(self, **fields: Any) -> Job:
        return self.settle(transitions.fail, self.started(**fields), BOOM, delay=None)

    def canceled(self, **fields: Any) -> Job:
        return self.settle(transitions.cancel, self.add(**fields))

    def in_status(self, status: JobStatus, **fields: Any) -> Job:
        match status:
            case JobStatus.QUEUED:
                return self.add(**fields)
            case JobStatus.WAITING:
                return self.add(status=JobStatus.WAITING, **fields)
            case JobStatus.SCHEDULED:
                return self.put(self.delayed(60_000, **fields))
            case JobStatus.IN_PROGRESS:
                return self.started(**fields)
            case JobStatus.COMPLETED:
                return self.completed(**fields)
            case JobStatus.FAILED:
                return self.failed(**fields)
            case JobStatus.CANCELED:
                return self.canceled(**fields)

    def one_of_each(self) -> dict[JobStatus, Job]:
        """A job in every status; the ready one comes last, so that it is not claimed for another."""
        return {status: self.in_status(status) for status in sorted(JobStatus, reverse=True)}

    def started_many(self, count: int) -> list[Job]:
        """So many jobs started, in as many claims as the store needs."""
        self.store.add([self.job() for _ in range(count)])
        claims = iter(lambda: self.claim(limit=count), [])
        return [job for claim in claims for job in claim]

    def swap(self, old: Job, new: Job) -> bool:
        [written] = self.store.swap([Change(old, new)])
        return written

    def settle(self, transition: Any, job: Job, *arguments: Any, **options: Any) -> Job:
        """Writes what the transition makes of `job` now."""
        new: Job = transition(job, *arguments, now=self.clock(), **options)
        assert self.swap(job, new)
        return new

    def stored(self, job: Job) -> Job:
        [stored] = self.store.get([job.id])
        assert stored is not None
        return stored

    def is_gone(self, job: Job) -> bool:
        return self.store.get([job.id]) == [None]

    def found(self, **query: Any) -> list[Job]:
        """All jobs the query matches, page after page."""
        jobs: list[Job] = []
        after = ""
        while True:
            page = self.store.find(Query(after=after, **query))
            jobs += page.jobs
            after = page.next
            if not after:
                return jobs

    def counted(self, queue: str = "default") -> dict[JobStatus, int]:
        return next((dict(counts.by_status) for counts in self.store.counts() if counts.queue == queue), {})

    def elapse(self, ms: int) -> None:
        """Lets time pass as under a live supervisor, which asks for lapsed leases all the while."""
        while ms > 0:
            step = min(ms, LEASE // 4)
            self.clock.advance(step)
            self.store.lapsed(1, lease=LEASE)
            ms -= step

    def lapsed(self, limit: int = 10) -> list[Job]:
        return self.store.lapsed(limit, lease=LEASE)


def ids(jobs: Iterable[Job]) -> list[str]:
    return [job.id for job in jobs]
