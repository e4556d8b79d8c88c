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

from asyncjobs.dashboard.due import HOUR_MS, LATE_MS, MINUTE_MS, Due, falling_due, overdue
from asyncjobs.dashboard.frame import LIVE, Page
from asyncjobs.dashboard.svg import Column, columns
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJobId, InvalidQuery
from asyncjobs.ids import job_id_of
from asyncjobs.stores.base import Page as Found
from asyncjobs.stores.base import Query, QueueCounts, Store
from asyncjobs.stores.cursor import Cursor, InvalidCursor

ROWS: Final = 50
LOOKS: Final = 20  # pages looked through for retries alone, or for none
DRAWN: Final = 1_000  # jobs that the charts show
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
        wanted, now = Wanted.of(self.request.GET), store.now()
        jobs, following = upcoming(store, wanted)
        first = self._drawn(store, wanted)
        late = overdue(first.jobs, now=now)
        ahead = self._drawn(store, wanted, begin=now) if late else first
        drawn = list(filter(KINDS[wanted.kind], ahead.jobs))
        reach = ahead.jobs[-1].score if ahead.next and ahead.jobs else None
        waiting = {counts.queue: scheduled for counts in store.counts() if (scheduled := _scheduled(counts))}
        return {
            "wanted": wanted,
            "jobs": jobs,
            "following": following,
            "queues": sorted({*waiting, wanted.queue} - {""}),
            "total": sum(waiting.values()),
            "overdue": overdue(filter(KINDS[wanted.kind], first.jobs), now=now),
            "has_more_overdue": bool(late == len(first.jobs) and first.next),
            "charts": [] if not drawn else [_hour(drawn, now, reach), _day(drawn, now, reach)],
            "reach": reach,
            "drawn": len(ahead.jobs),
        }

    def _drawn(self, store: Store, wanted: Wanted, *, begin: int | None = None) -> Found:
        """The next jobs of the queue to fall due, from this time on."""
        after = "" if begin is None else Cursor.before(begin).text
        return store.find(replace(wanted.query, after=after, limit=DRAWN))


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


def _hour(jobs: list[Job], now: int, reach: int | None) -> tuple[str, SafeString]:
    title = gettext("Within an hour, by five minutes")
    return title, _chart(falling_due(jobs, now=now, each=5 * MINUTE_MS, spans=12), reach, title)


def _day(jobs: list[Job], now: int, reach: int | None) -> tuple[str, SafeString]:
    title = gettext("Within a day, by the hour")
    return title, _chart(falling_due(jobs, now=now, each=HOUR_MS, spans=24), reach, title)


def _chart(spans: list[Due], reach: int | None, title: str) -> SafeString:
    drawn = [Column(due.first, due.again, _said(due), is_known=reach is None or due.until <= reach) for due in spans]
    return columns(drawn, title=title)


def _said(due: Due) -> str:
    at, until = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (due.at, due.until))
    facts = {"at": f"{at:%H:%M}", "until": f"{until:%H:%M} UTC", "first": due.first, "again": due.again}
    return gettext("%(at)s to %(until)s: %(first)d for the first time, %(again)d retries") % facts
