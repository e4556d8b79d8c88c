"""The first page: what is broken, and how things are."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.crews import SILENT, Crew, crews
from asyncjobs.dashboard.flow import Throughput, forecasts, throughput
from asyncjobs.dashboard.frame import Page
from asyncjobs.dashboard.groups import groups_of
from asyncjobs.dashboard.marks import mark_of_all
from asyncjobs.dashboard.svg import Column, columns
from asyncjobs.dashboard.views.queues import COLUMNS, rows_of
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import QueueCounts

MINUTES: Final = 60
GROUPS: Final = 5
QUEUES: Final = 50
ALERTS: Final = 5  # of a kind
SHOWN: Final = (
    JobStatus.FAILED,
    JobStatus.IN_PROGRESS,
    JobStatus.QUEUED,
    JobStatus.SCHEDULED,
    JobStatus.WAITING,
    JobStatus.COMPLETED,
    JobStatus.CANCELED,
)


class Overview(Page):
    template_name = "asyncjobs/dashboard/overview.html"
    live_template = "asyncjobs/dashboard/_overview_live.html"
    tab = "dashboard_changelist"
    title = _("Background jobs")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        store = self.engine.store
        now, counts, series = store.now(), store.counts(), store.series(MINUTES)
        workers = crews(store.workers(), now=now, lease=self.engine.conf.lease)
        rows = rows_of(
            [queue for queue in counts if queue.by_status], COLUMNS, forecasts(counts, series, now=now), workers
        )
        silent, deserted = _silent(workers, now), [row.queue for row in rows if row.is_deserted]
        return super().get_context_data(**kwargs) | {
            "shape": mark_of_all(row.queue.queue for row in rows[:QUEUES]),
            "is_empty": not rows,
            "silent": silent[:ALERTS],
            "more_silent": len(silent[ALERTS:]),
            "deserted": deserted[:ALERTS],
            "more_deserted": len(deserted[ALERTS:]),
            "tiles": _tiles(counts),
            **_flow(throughput(series, now=now, minutes=MINUTES)),
            "rows": rows[:QUEUES],
            "more_queues": len(rows[QUEUES:]),
            "failures": groups_of(store, store.faults(GROUPS)),
        }

    def _news(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        """A table does not grow under somebody's eyes: when there is another queue, the page is loaded again."""
        if request.GET.get("shape") != context["shape"]:
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
        return super()._news(request, context)


def _tiles(counts: Sequence[QueueCounts]) -> list[tuple[JobStatus, int]]:
    """How many jobs there are in each status, those that need somebody to look first."""
    totals: Counter[JobStatus] = Counter()
    for queue in counts:
        totals.update(queue.by_status)
    return [(status, totals[status]) for status in SHOWN]


def _flow(minutes: Sequence[Throughput]) -> dict[str, Any]:
    drawn = [Column(minute.good, minute.bad, _said(minute)) for minute in minutes]
    return {
        "chart": columns(drawn, title=gettext("Jobs that ended in the last hour, minute by minute")),
        "good": sum(minute.good for minute in minutes),
        "bad": sum(minute.bad for minute in minutes),
        "peak": max(minute.good + minute.bad for minute in minutes),
    }


def _said(minute: Throughput) -> str:
    at = datetime.fromtimestamp(minute.at / 1000, UTC)
    facts = {"at": f"{at:%H:%M} UTC", "good": minute.good, "bad": minute.bad}
    return gettext("%(at)s: %(good)d ended well, %(bad)d failed") % facts


def _silent(workers: Iterable[Crew], now: int) -> list[tuple[Crew, int]]:
    """Workers with a process that should have been heard from, and for how long it has not."""
    return [
        (crew, max(now - process.beat_at for process in crew.processes if process.state == SILENT))
        for crew in workers
        if crew.is_silent
    ]
