"""All jobs that match, batch by batch, for verbs over many."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import WrongStatus
from asyncjobs.stores.base import MAX_PAGE, Query, Store

BATCH: Final = 100

# In the order in which jobs move on, so that one that moves meanwhile is met in its next place.
UNSTARTED: Final = (JobStatus.WAITING, JobStatus.SCHEDULED, JobStatus.QUEUED)
UNFINISHED: Final = (*UNSTARTED, JobStatus.IN_PROGRESS)
FINISHED: Final = (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.COMPLETED)


class Tally(NamedTuple):
    """How many jobs were changed, and how many matched but could not be."""

    done: int
    skipped: int


def tally(
    store: Store,
    query: Query,
    statuses: Sequence[JobStatus],
    act: Callable[[Sequence[Job]], int],
    *,
    limit: int | None = None,
) -> Tally:
    """Hands batches of the jobs that match and have one of these statuses, up to `limit`, to `act`, which counts."""
    met = done = 0
    for jobs in _batches(store, query, within(statuses, query)):
        batch = jobs if limit is None else jobs[: limit - met]
        done += act(batch)
        met += len(batch)
        if met == limit:
            break
    return Tally(done, met - done)


def within(statuses: Sequence[JobStatus], query: Query) -> Sequence[JobStatus]:
    """Those of these statuses that the query asks for."""
    if query.status is None:
        return statuses
    if query.status not in statuses:
        names = ", ".join(status.name for status in statuses)
        raise WrongStatus(f"this can be done to jobs that are {names}, and not {query.status.name}")
    return (query.status,)


def _batches(store: Store, query: Query, statuses: Sequence[JobStatus]) -> Iterator[Sequence[Job]]:
    """Jobs created until now. Only the ids of running jobs are remembered."""
    end = store.now() + 1
    end = end if query.created_to is None else min(end, query.created_to)
    frozen = replace(query, created_to=end, after="", limit=BATCH, oldest_first=False)
    for status in statuses:
        wanted = replace(frozen, status=status)
        moves = status == JobStatus.IN_PROGRESS and wanted.goes_by_score
        yield from running(store, wanted) if moves else _standing(store, wanted)


def _standing(store: Store, query: Query) -> Iterator[Sequence[Job]]:
    """Largest first: what leaves and comes back comes back behind the cursor, or where it was, so this ends."""
    while True:
        page = store.find(query)
        if page.jobs:
            yield page.jobs
        if not page.next:
            return
        query = replace(query, after=page.next)


def running(store: Store, query: Query) -> Iterator[Sequence[Job]]:
    """Every heartbeat moves jobs on, to be met again: this ends when as many as run passed by with no new one.

    A page that is not the last one has MAX_PAGE jobs, or was looked for among as many that did not match.
    """
    seen: set[str] = set()
    passed, most = 0, _running_count(store, query.queue)
    # The largest pages: mostly all of them, and so before any of them moves.
    query = replace(query, limit=MAX_PAGE, oldest_first=True)
    while passed <= max(most, len(seen)):
        page = store.find(query)
        fresh = [job for job in page.jobs if job.id not in seen]
        seen.update(job.id for job in fresh)
        passed = 0 if fresh else passed + MAX_PAGE
        for start in range(0, len(fresh), BATCH):
            yield fresh[start : start + BATCH]
        if not page.next:
            return
        query = replace(query, after=page.next)


def _running_count(store: Store, queue: str | None) -> int:
    queues = (counts for counts in store.counts() if queue in (None, counts.queue))
    return sum(counts.by_status.get(JobStatus.IN_PROGRESS, 0) for counts in queues)
