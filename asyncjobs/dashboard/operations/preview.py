"""What an order would do, as far as one can see in a moment. Nothing is done yet."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.deeds import Deed
from asyncjobs.dashboard.operations.chunks import START
from asyncjobs.dashboard.operations.looking import Looked, look
from asyncjobs.dashboard.operations.meeting import ASKED, FINAL, GONE, MOVED, OTHER, met, why_left
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.search import Search
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import MAX_FAULTS, Query, QueueCounts, Store

INLINE: Final = 50  # jobs that a request does something to by itself
ASIDE: Final = 100  # jobs of each other status
MANY: Final = 100  # jobs that nobody does something to without a reason
VERY_MANY: Final = 1_000  # jobs that nobody deletes by a slip of the finger

ALL: Final = "all"

WHY: Final[Mapping[str, Promise]] = {
    GONE: _("not there any more"),
    MOVED: _("moved on since"),
    ASKED: _("asked to stop already"),
    FINAL: _("operations are ordered anew, not run again"),
}


class Skipped(NamedTuple):
    """Jobs that are left alone: of which status (None: they are gone), at least how many, and why."""

    status: JobStatus | None
    number: int
    why: Promise
    is_exact: bool = True


class Preview(NamedTuple):
    """What would become of which jobs: `total` of them, or at least so many, some of which were looked at."""

    deed: Deed
    order: Order
    looked: Looked
    total: int
    is_exact: bool
    by_status: Sequence[tuple[JobStatus, int]]
    skipped: Sequence[Skipped]

    @property
    def question(self) -> str:
        return self.deed.question_of(self.total)

    @property
    def by_name(self) -> list[tuple[str, int]]:
        return self.looked.by_name.most_common()

    @property
    def by_queue(self) -> list[tuple[str, int]]:
        return self.looked.by_queue.most_common()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do, for sure."""
        return self.is_exact and not self.total

    @property
    def is_inline(self) -> bool:
        """Whether it is done while one waits."""
        return self.is_exact and self.total <= INLINE

    @property
    def running(self) -> int:
        """How many are asked to stop, which cannot be taken back."""
        return dict(self.by_status).get(JobStatus.IN_PROGRESS, 0)

    @property
    def first_total(self) -> int:
        """How many there were when it was shown first: what one has read by now, and types."""
        return self.total if self.order.expected is None else self.order.expected

    @property
    def needs_reason(self) -> bool:
        return not self.is_exact or self.first_total >= MANY or (self.deed.removes and self.first_total > 1)

    @property
    def to_type(self) -> str:
        """What is to be typed before very many jobs are removed, or nobody knows how many."""
        if not self.deed.removes:
            return ""
        if not self.is_exact:
            return ALL
        return str(self.first_total) if self.first_total >= VERY_MANY else ""


def preview(store: Store, deed: Deed, order: Order) -> Preview:
    if order.ids:
        return _of_named(deed, order, store.get_readable(order.ids))
    search = order.search()
    if search.job_ids:
        return _of_named(
            deed, order, [job for job in store.get_readable(search.job_ids[:1]) if job and search.fits(job)]
        )
    return _of_found(store, deed, order, search)


def _of_named(deed: Deed, order: Order, jobs: Sequence[Job | None]) -> Preview:
    fitting = [job for job in jobs if job and not why_left(deed, order, job)]
    looked = Looked()
    looked.count(fitting)
    left = Counter((job.status if job else None, why) for job in jobs if (why := why_left(deed, order, job)))
    skipped = [Skipped(status, count, _why(deed, why)) for (status, why), count in left.most_common()]
    by_status = looked.by_status.most_common()
    return Preview(deed, order, looked, looked.total, is_exact=True, by_status=by_status, skipped=skipped)


def _why(deed: Deed, why: str) -> Promise:
    return deed.otherwise if why == OTHER else WHY[why]


def _of_found(store: Store, deed: Deed, order: Order, search: Search) -> Preview:
    looked, is_all = look(met(store, deed, order, START))
    counted = _counted(store, search)
    by_status = looked.by_status
    if counted is not None and not is_all:
        by_status = Counter({status: counted[status] for status in deed.statuses if counted[status]})
    return Preview(
        deed,
        order,
        looked,
        _frozen(by_status.total(), order),
        is_exact=is_all or counted is not None,
        by_status=by_status.most_common(),
        skipped=list(_aside(store, deed, search, counted)),
    )


def _frozen(count: int, order: Order) -> int:
    """No more than there were when it was shown first: what has come since is counted, but does not belong."""
    return count if order.expected is None else min(count, order.expected)


def _counted(store: Store, search: Search) -> Counter[JobStatus] | None:
    """By status, the jobs that the search finds, where the store counts them."""
    if search.one_fault:
        counts = {fault.fault: fault.count for fault in store.faults(MAX_FAULTS)}
        return Counter({JobStatus.FAILED: counts[search.one_fault]}) if search.one_fault in counts else None
    return _in_queues(store.counts(), search.query) if search.is_counted else None


def _in_queues(counts: Sequence[QueueCounts], query: Query) -> Counter[JobStatus]:
    """By status, jobs of the search's queue and status."""
    totals = Counter[JobStatus]()
    for queue in counts:
        if query.queue in (None, queue.queue):
            totals.update(queue.by_status)
    return Counter({status: totals[status] for status in totals if query.status in (None, status)})


def _aside(store: Store, deed: Deed, search: Search, counted: Counter[JobStatus] | None) -> Iterator[Skipped]:
    """Jobs that the search finds, too, and that this cannot be done to."""
    for status in JobStatus:
        if status in deed.statuses or search.query.status not in (None, status):
            continue
        number, is_exact = (counted[status], True) if counted is not None else _few(store, search, status)
        if number:
            yield Skipped(status, number, deed.otherwise, is_exact)


def _few(store: Store, search: Search, status: JobStatus) -> tuple[int, bool]:
    """How many of the first jobs of this status the search finds, and whether these are all."""
    page = store.find(replace(search.query, status=status, limit=ASIDE))
    return sum(map(search.fits, page.jobs)), not page.next
