"""How long the dashboard's reads take, and whether that grows with the number of jobs."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median

from asyncjobs.benchmark import Figure
from asyncjobs.domain import transitions
from asyncjobs.domain.job import DEFAULTS, INDEX, Job, JobError, JobStatus
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import MAX_BATCH, Change, Query, Store

QUEUES = ("default", "mail", "reports", "images")
NAMES = tuple(f"shop.tasks.task_{number}" for number in range(20))
OWNERS = tuple(f"user-{number}" for number in range(50))
REPEATS = 15
DEEP = 40  # pages turned before a deep page is measured

FILTERS = {
    "all": Query(),
    "status": Query(status=JobStatus.QUEUED),
    "status completed": Query(status=JobStatus.COMPLETED),
    "status and queue": Query(status=JobStatus.FAILED, queue="mail"),
    "delayed": Query(status=JobStatus.SCHEDULED, oldest_first=True),
    "queue": Query(queue="reports"),
    "name": Query(name=NAMES[7]),
    "owner": Query(owner=OWNERS[10]),
    "tag": Query(tag="vip"),
}


def fill(store: Store, upto: int) -> None:
    """Adds jobs until there are this many: half finished (one in seven of those failed), a quarter delayed."""
    have = sum(sum(counts.by_status.values()) for counts in store.counts())
    for start in range(have, upto, MAX_BATCH):
        jobs = _jobs(store.now() - 10_000_000 + start, min(MAX_BATCH, upto - start))
        store.add(jobs)
        _finish(store, jobs[: len(jobs) // 2])


def _jobs(first_ms: int, count: int) -> list[Job]:
    return [_job(job_id, number, first_ms + number // 4) for number, job_id in enumerate(new_ids(count))]


def _job(job_id: str, number: int, created_at: int) -> Job:
    row = list(DEFAULTS)
    row[INDEX["id"]] = job_id
    row[INDEX["name"]] = NAMES[number // 4 % len(NAMES)]
    row[INDEX["queue"]] = QUEUES[number % len(QUEUES)]
    row[INDEX["created_at"]] = row[INDEX["updated_at"]] = created_at
    row[INDEX["payload"]] = '{"args":[1],"kwargs":{}}'
    row[INDEX["owner"]] = OWNERS[number % len(OWNERS)] if number % 10 == 0 else None
    row[INDEX["tags"]] = ("vip",) if number % 20 == 0 else ()
    if number % 4 == 3:
        row[INDEX["status"]], row[INDEX["due_at"]] = JobStatus.SCHEDULED, created_at + 100_000_000 + number
    return Job.of(row)


def _finish(store: Store, jobs: list[Job]) -> None:
    now = store.now()
    waiting = [job for job in jobs if job.status == JobStatus.QUEUED]
    started = [Change(job, transitions.start(job, worker="w", until=now + 30_000, now=now)) for job in waiting]
    store.swap(started)
    store.swap([Change(change.new, _ended(change.new, number, now)) for number, change in enumerate(started)])


def _ended(job: Job, number: int, now: int) -> Job:
    if number % 7 == 0:
        return transitions.fail(job, JobError(code="ValueError", message="no"), delay=None, now=now)
    return transitions.complete(job, "null", now=now)


def figures(store: Store) -> Iterator[Figure]:
    yield Figure("counts()", _ms(store.counts), "ms")
    for name, query in FILTERS.items():
        yield Figure(f"first page of 50 by {name}", _ms(partial(store.find, query)), "ms")
        yield Figure(f"page {DEEP} of 50 by {name}", _ms(partial(store.find, _deep(store, query))), "ms")


def _deep(store: Store, query: Query) -> Query:
    for _ in range(DEEP):
        following = store.find(query).next
        if not following:
            break
        query = replace(query, after=following)
    return query


def _ms(read: Callable[[], object]) -> float:
    def once() -> float:
        start = time.perf_counter()
        read()
        return (time.perf_counter() - start) * 1000

    read()
    return median(once() for _ in range(REPEATS))
