"""Jobs that wait for their time, and what can be done about it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from django.core.exceptions import BadRequest
from django.http import QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.due import LATE_MS, Ahead, Span, look_ahead
from asyncjobs.dashboard.frame import LIVE, Page
from asyncjobs.dashboard.svg import Column, columns
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJobId, InvalidQuery
from asyncjobs.ids import job_id_of
from asyncjobs.stores.base import MAX_DUE, Query, QueueCounts, Store
from asyncjobs.stores.cursor import InvalidCursor
from asyncjobs.templatetags.asyncjobs import jobs_count

ROWS: Final = 50
LOOKS: Final = 20  # pages looked through for retries alone, or for none
KINDS: Final[dict[str, Callable[[Job], bool]]] = {
    "": lambda job: True,
    "retries": lambda job: job.retry_count > 0,
    "first": lambda job: job.retry_count == 0,
}


class Wanted(NamedTuple):
    """The filters of the page, and where it begins."""

    queue: str = ""
    kind: str = ""
    after: str = ""

    @classmethod
    def of(cls, given: QueryDict) -> "Wanted":
        kind = given.get("kind", "")
        return cls(given.get("queue", ""), kind if kind in KINDS else "", given.get("after", ""))

    @property
    def query(self) -> Query:
        return Query(
            status=JobStatus.SCHEDULED, queue=self.queue or None, after=self.after, limit=ROWS, oldest_first=True
        )


class Delayed(Page):
    template_name = "asyncjobs/dashboard/delayed.html"
    live_template = "asyncjobs/dashboard/_delayed_live.html"
    tab = "delayed"
    title = _("Delayed jobs")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        store = self.engine.store
        context = super().get_context_data(**kwargs) | {"late": store.now() - LATE_MS}
        try:
            return context | (self._on_the_page(store) if LIVE in self.request.GET else self._all(store))
        except (InvalidCursor, InvalidQuery, InvalidJobId) as error:
            raise BadRequest(error.message) from error

    def _on_the_page(self, store: Store) -> dict[str, Any]:
        """What became of the jobs that the page shows."""
        ids = [job_id_of(given) for given in self.request.GET.getlist("id")[: 2 * ROWS]]
        return {"rows": zip(ids, store.get_readable(ids), strict=True)}

    def _all(self, store: Store) -> dict[str, Any]:
        wanted = Wanted.of(self.request.GET)
        jobs, following = upcoming(store, wanted)
        ahead = look_ahead(store, wanted.queue or None)
        waiting = {counts.queue: scheduled for counts in store.counts() if (scheduled := _scheduled(counts))}
        return {
            "wanted": wanted,
            "jobs": jobs,
            "following": following,
            "queues": sorted({*waiting, wanted.queue} - {""}),
            "total": sum(waiting.values()),
            "overdue": ahead.overdue,
            "charts": _charts(ahead),
            "most": MAX_DUE if any(span.is_cut for span in ahead.day) else None,
        }


def upcoming(store: Store, wanted: Wanted) -> tuple[list[Job], str]:
    """The next jobs to fall due, and where to go on. Of one kind alone there may be few, or none, for some pages."""
    found: list[Job] = []
    query = wanted.query
    for _look in range(LOOKS):
        page = store.find(query)
        found += filter(KINDS[wanted.kind], page.jobs)
        query = replace(query, after=page.next)
        if not page.next or len(found) >= ROWS:
            break
    return found, query.after


def _scheduled(counts: QueueCounts) -> int:
    return counts.by_status.get(JobStatus.SCHEDULED, 0)


class Chart(NamedTuple):
    title: str
    drawn: SafeString
    highest: str


def _charts(ahead: Ahead) -> list[Chart]:
    """The next hour and the next day; none if nothing falls due."""
    if not any(span.jobs for span in ahead.day):
        return []
    hour, day = gettext("Within an hour, by five minutes"), gettext("Within a day, by the hour")
    return [_chart(ahead.hour, hour), _chart(ahead.day, day)]


def _chart(spans: list[Span], title: str) -> Chart:
    drawn = columns([Column(span.jobs, 0, _said(span), is_cut=span.is_cut) for span in spans], title=title)
    return Chart(title, drawn, _most(max(spans, key=lambda span: span.jobs)))


def _said(span: Span) -> str:
    at, until = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (span.at, span.until))
    facts = {"at": f"{at:%H:%M}", "until": f"{until:%H:%M} UTC", "jobs": _count(span)}
    return gettext("%(at)s to %(until)s: %(jobs)s") % facts


def _most(span: Span) -> str:
    return _count(span) if span.is_cut else gettext("at most %(jobs)s") % {"jobs": _count(span)}


def _count(span: Span) -> str:
    jobs = jobs_count(span.jobs)
    return gettext("%(jobs)s or more") % {"jobs": jobs} if span.is_cut else jobs
