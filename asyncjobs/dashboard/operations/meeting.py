"""How an operation meets the jobs that it is about, some at a time, from any place on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from asyncjobs.actions import OPERATION
from asyncjobs.bulk import running
from asyncjobs.dashboard.deeds import Deed
from asyncjobs.dashboard.operations.chunks import Place
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.search import Search
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import MAX_PAGE, Query, Store

SIZE: Final = 400  # jobs of a chunk: what is to be kept of so many mostly fits into one entry

GONE: Final = "gone"
OTHER: Final = "other"  # in a status in which this cannot be done
MOVED: Final = "moved"  # since the order was frozen
ASKED: Final = "asked"  # to stop, before
FINAL: Final = "final"  # an operation: who ordered it may have stopped it, and others may not have ordered it


class Met(NamedTuple):
    """Jobs that belong to an order, where to go on after them, and those that are left alone, by why they are.

    They are some of so many that were looked at.
    """

    jobs: Sequence[Job]
    place: Place
    left: Counter[str]
    looked_at: int


def met(store: Store, deed: Deed, order: Order, place: Place) -> Iterator[Met]:
    """The jobs of the order after this place."""
    if order.ids:
        return _named(store, deed, order, order.ids, place)
    search = order.search()
    if search.job_ids:
        fitting = [job.id for job in store.get_readable(search.job_ids[:1]) if job and search.fits(job)]
        return _named(store, deed, order, fitting, place)
    return _found(store, deed, order, search, place)


def why_left(deed: Deed, order: Order, job: Job | None) -> str:
    """Why a job is left alone; "" if it is not."""
    if job is None:
        return GONE
    if job.name == OPERATION and deed.is_held:
        return FINAL
    if job.status not in deed.statuses:
        return OTHER
    if not order.belongs(job):
        return MOVED
    return ASKED if is_asked(job) else ""


def is_asked(job: Job) -> bool:
    """Whether it runs, and was asked to stop."""
    return job.status == JobStatus.IN_PROGRESS and job.cancel_requested is not None


def _named(store: Store, deed: Deed, order: Order, ids: Sequence[str], place: Place) -> Iterator[Met]:
    for start in range(place[0], len(ids), SIZE):
        jobs = store.get_readable(ids[start : start + SIZE])
        reasons = [why_left(deed, order, job) for job in jobs]
        fitting = [job for job, why in zip(jobs, reasons, strict=True) if job and not why]
        yield Met(fitting, (start + SIZE, ""), Counter(filter(None, reasons)), len(jobs))


def _found(store: Store, deed: Deed, order: Order, search: Search, place: Place) -> Iterator[Met]:
    """Status by status. Those that do not belong are not what was asked for, and nobody is told of them.

    Operations belong to nobody's search, with what is kept in them to take back what they did.
    """
    first, after = place
    for number, status in list(enumerate(deed.statuses))[first:]:
        if search.query.status in (None, status):
            query = _within(order, replace(search.query, status=status, after=after, limit=SIZE))
            for jobs, place, looked_at in _pages(store, query, number):
                others = [job for job in jobs if job.name != OPERATION and search.fits(job)]
                fitting = [job for job in others if not why_left(deed, order, job)]
                yield Met(fitting, place, Counter(), looked_at)
        after = ""


def _within(order: Order, query: Query) -> Query:
    end = order.frozen + 1
    return replace(query, created_to=end if query.created_to is None else min(end, query.created_to))


def _pages(store: Store, query: Query, number: int) -> Iterator[tuple[Sequence[Job], Place, int]]:
    """Largest first: what leaves its place does not come back before the cursor.

    A page that is not full, and not the last one, was looked for among MAX_PAGE jobs that did not match.
    Running jobs move with every heartbeat: whoever goes on with them begins anew, and asks nobody twice.
    """
    if query.status == JobStatus.IN_PROGRESS and query.goes_by_score:
        yield from ((jobs, (number, ""), len(jobs)) for jobs in running(store, query))
        return
    while True:
        page = store.find(query)
        if not page.next:
            yield page.jobs, (number + 1, ""), len(page.jobs)
            return
        is_full = len(page.jobs) == query.limit
        yield page.jobs, (number, page.next), query.limit if is_full else MAX_PAGE
        query = replace(query, after=page.next)
