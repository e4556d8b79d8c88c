"""A screenful of the jobs that a search is about, and where to go on from it in either direction."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from asyncjobs.dashboard.search import Search
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import Page, Query, Store
from asyncjobs.stores.cursor import Cursor

ROWS: Final = 50
MOST_READ: Final = 2_000  # jobs looked at for one screenful
STRIDE: Final = 500  # jobs read at a time, once it is clear that few of them fit
MOST_NEW: Final = 50  # new jobs that are counted

_LOOKED_THROUGH: Final = 1_000  # by a store for a page that is not full, and not the last one


class Listing(NamedTuple):
    """Jobs, newest first. `older` and `newer` are cursors, "" where the list ends."""

    jobs: list[Job]
    older: str = ""
    newer: str = ""
    top: str = ""  # the cursor of the first job
    is_cut: bool = False  # there was more to look through

    @property
    def looked_back_to(self) -> int | None:
        """Up to which time jobs were looked at, if not all were."""
        end = Cursor.read(self.older) if self.is_cut else None
        return end.score if end else None


class _Found(NamedTuple):
    jobs: list[Job]
    cursors: list[str]
    next: str
    is_cut: bool


def listing(store: Store, search: Search, *, after: str = "", before: str = "") -> Listing:
    """The newest jobs that fit; or the next ones `after` a cursor, or those just `before` it."""
    if search.job_ids:
        return Listing([job for job in store.get_readable(search.job_ids[:1]) if job and search.fits(job)])
    query = search.query
    if before:
        back = _look(store, search, replace(query, after=before, oldest_first=True))
        if not back.next and len(back.jobs) < ROWS:
            return listing(store, search)
        top = back.cursors[-1] if back.cursors else ""
        older = back.cursors[0] if back.cursors else before
        return Listing(back.jobs[::-1], older, back.next, top)
    found = _look(store, search, replace(query, after=after))
    top = found.cursors[0] if found.cursors else ""
    return Listing(found.jobs, found.next, (top or after) if after else "", top, found.is_cut)


def newer_than(store: Store, search: Search, top: str, *, seen: Collection[str], since: int) -> int:
    """How many jobs came above the `top` of a list that was made at `since`: MOST_NEW and one for more than that."""
    page = store.find(replace(search.query, after=top, oldest_first=bool(top), limit=STRIDE))
    new = (job for job in page.jobs if job.id not in seen and search.fits(job) and not _was_there(job, search, since))
    return sum(1 for _ in islice(new, MOST_NEW + 1))


def _was_there(job: Job, search: Search, since: int) -> bool:
    """Running jobs are ordered by their leases: old ones come up again and again."""
    is_by_lease = search.query.status == JobStatus.IN_PROGRESS
    return is_by_lease and (job.started_at or 0) <= since


def _look(store: Store, search: Search, query: Query) -> _Found:
    """ROWS jobs that fit, if as many are found among MOST_READ."""
    jobs: list[Job] = []
    cursors: list[str] = []
    limit, left = ROWS, MOST_READ
    while True:
        page = store.find(replace(query, limit=limit))
        for job, cursor in _fitting(search, page):
            if len(jobs) == ROWS:
                return _Found(jobs, cursors, cursors[-1], is_cut=False)
            jobs.append(job)
            cursors.append(cursor)
        left -= limit if len(page.jobs) == limit else _LOOKED_THROUGH
        if not page.next or len(jobs) == ROWS or left <= 0:
            return _Found(jobs, cursors, page.next, is_cut=bool(page.next) and len(jobs) < ROWS)
        query, limit = replace(query, after=page.next), STRIDE


def _fitting(search: Search, page: Page) -> Iterator[tuple[Job, str]]:
    return ((job, cursor) for job, cursor in zip(page.jobs, page.cursors, strict=True) if search.fits(job))
