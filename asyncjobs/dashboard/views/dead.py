"""The dead letters: jobs that failed for good, those that failed alike together."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from django.core.paginator import Paginator
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.frame import LIVE, Page
from asyncjobs.dashboard.groups import groups_of, week
from asyncjobs.dashboard.marks import mark_of_all
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import MAX_FAULTS, Fault

ROWS: Final = 50
USUAL: Final = "last"


class Order(NamedTuple):
    """One way to sort the groups, the largest first."""

    label: Promise
    of: Callable[[Fault], int]


ORDERS: Final = {
    USUAL: Order(_("last seen"), lambda fault: fault.last_at),
    "jobs": Order(_("number of jobs"), lambda fault: fault.count),
    "first": Order(_("first seen"), lambda fault: fault.first_at),
}


class Row(NamedTuple):
    """A group on the page. Without a fault: none of its jobs is dead any more."""

    key: str
    fault: Fault | None
    days: SafeString | str


class Dead(Page):
    template_name = "asyncjobs/dashboard/dead.html"
    live_template = "asyncjobs/dashboard/_dead_live.html"
    tab = "dead"
    title = _("Dead letters")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        faults = self.engine.store.faults(MAX_FAULTS)
        context = super().get_context_data(**kwargs) | {"seen": mark_of_all(fault.fault for fault in faults)}
        return context | (self._on_the_page(faults) if LIVE in self.request.GET else self._screen(faults))

    def _on_the_page(self, faults: Sequence[Fault]) -> dict[str, Any]:
        """What became of the groups that the page shows."""
        known = {fault.fault: fault for fault in faults}
        shown = self.request.GET.get("shown", "").split(",")[:ROWS]
        return {"rows": [_row(key, known.get(key)) for key in shown if key]}

    def _screen(self, faults: Sequence[Fault]) -> dict[str, Any]:
        given, counts = self.request.GET, self.engine.store.counts()
        sort = given.get("sort", USUAL) if given.get("sort") in ORDERS else USUAL
        page = Paginator(sorted(faults, key=ORDERS[sort].of, reverse=True), ROWS).get_page(given.get("page"))
        groups = groups_of(self.engine.store, page.object_list)
        return {
            "sort": sort,
            "orders": [(name, order.label) for name, order in ORDERS.items()],
            "page": page,
            "rows": [(group, _row(group.fault.fault, group.fault)) for group in groups],
            "shown": ",".join(group.fault.fault for group in groups),
            "total": sum(queue.by_status.get(JobStatus.FAILED, 0) for queue in counts),
            "most": MAX_FAULTS if len(faults) == MAX_FAULTS else None,
        }


def _row(key: str, fault: Fault | None) -> Row:
    return Row(key, fault, week(fault) if fault else "")
