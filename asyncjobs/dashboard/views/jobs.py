"""Jobs, screenful by screenful: found by what is typed or chosen, and kept up to date."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.deeds import OFFERED
from asyncjobs.dashboard.frame import LIVE, Page, may
from asyncjobs.dashboard.listing import MOST_NEW, ROWS, listing, newer_than
from asyncjobs.dashboard.search import CHOICES, TYPED, Search, Term, read_search, term_text
from asyncjobs.dashboard.terms import FIELDS, RETRYING, WORDS, Known, status_word
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.registry import names_of_handlers
from asyncjobs.stores.base import QueueCounts
from asyncjobs.stores.cursor import InvalidCursor

PLACE: Final = ("after", "before")  # where in the list
MOST_OFFERED: Final = 300  # values in a select
COLUMNS: Final[dict[str, Promise]] = {
    "queue": _("Queue"),
    "attempt": _("Attempt"),
    "when": _("When"),
    "duration": _("Duration"),
    "error": _("Error"),
    "created": _("Created"),
    "priority": _("Priority"),
    "owner": _("Owner"),
    "tags": _("Tags"),
    "worker": _("Worker"),
}
USUAL: Final = ("queue", "attempt", "when", "duration", "error")
NUMBERS: Final = ("attempt", "duration", "priority")
CLOCKS_DIFFER: Final = 10_000  # milliseconds, at most
WHEN: Final[dict[JobStatus | None, Promise]] = {
    None: _("Created"),
    JobStatus.QUEUED: _("Ready since"),
    JobStatus.WAITING: _("Created"),
    JobStatus.SCHEDULED: _("Due"),
    JobStatus.IN_PROGRESS: _("Started"),
    JobStatus.COMPLETED: _("Ended"),
    JobStatus.FAILED: _("Ended"),
    JobStatus.CANCELED: _("Ended"),
}


class Tab(NamedTuple):
    """One status, or all, and how many jobs are in it, if that is known."""

    word: str
    status: JobStatus | None
    total: int | None
    url: str
    is_current: bool


class Row(NamedTuple):
    """A job of the list; None: it is gone. One that `left` is not of the list any more."""

    number: int  # on the page
    job_id: str
    job: Job | None
    left: bool = False


class Jobs(Page):
    template_name = "asyncjobs/dashboard/jobs.html"
    live_template = "asyncjobs/dashboard/_jobs_live.html"
    tab = "jobs"
    title = _("Jobs")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().get(request, *args, **kwargs)
        except InvalidCursor:
            if LIVE in request.GET:
                return HttpResponse(status=204)
            messages.warning(request, _("That place in the list is not known: this is its beginning."))
            return redirect(f"{request.path}{_url(request.GET, *PLACE)}")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs) | {"tabs_by_status": list(self._tabs()), "columns": self._columns}
        return context | (self._news_of_rows() if LIVE in self.request.GET else self._screen())

    @cached_property
    def _counts(self) -> list[QueueCounts]:
        return self.engine.store.counts()

    @cached_property
    def _names(self) -> list[str]:
        return names_of_handlers()

    @cached_property
    def _search(self) -> Search:
        given = self.request.GET
        known = Known(self.engine.store.now(), self._names)
        return read_search(given.get(TYPED, ""), known, {name: given.get(name, "") for name in CHOICES})

    @property
    def _columns(self) -> dict[str, str]:
        """The columns that are shown, with what is written above them."""
        given = self.request.GET.getlist("col") or USUAL
        labels = {**COLUMNS, "when": WHEN[self._search.query.status]}
        return {name: str(label) for name, label in labels.items() if name in given}

    def _screen(self) -> dict[str, Any]:
        """A screenful of the list, and all that is around it."""
        given, search, store = self.request.GET, self._search, self.engine.store
        now = store.now()
        shown = listing(store, search, after=given.get("after", ""), before=given.get("before", ""))
        has_more = bool(shown.older or shown.newer)
        return {
            "search": search,
            "typed": given.get(TYPED, ""),
            "chips": [(term.text, self._without(term)) for term in search.terms],
            "selects": self._selects(),
            "offers": self._offers(),
            "fields": list(FIELDS),
            "column_choices": COLUMNS.items(),
            "columns_given": given.getlist("col"),
            "numbers": NUMBERS,
            "status": search.query.status,
            "listing": shown,
            "rows": [Row(number, job.id, job) for number, job in enumerate(shown.jobs)],
            "since": now,
            "has_more_to_select": has_more and not search.unclear,
            "matching": next((tab.total for tab in self._tabs() if tab.is_current), None),
            "has_jobs": any(queue.by_status for queue in self._counts),
            "deeds": [deed for deed in OFFERED.values() if may(self.request.user, deed.permission)],
            "search_given": {name: given.get(name, "") for name in (TYPED, *CHOICES) if given.get(name)},
            "kept": {name: given.getlist(name) for name in (TYPED, *CHOICES, *PLACE) if name in given},
            "newest": _url(given, *PLACE),
            "all": _url(given, TYPED, *CHOICES, *PLACE),
        }

    def _news_of_rows(self) -> dict[str, Any]:
        """What became of the jobs that the page shows, and how many came above them."""
        given, search, store = self.request.GET, self._search, self.engine.store
        ids, since = list(_ids(given.get("ids", ""))), _number(given.get("since", ""))
        jobs = zip(ids, store.get_readable(ids), strict=True)
        rows = [
            Row(number, job_id, job, job is None or not search.fits(job)) for number, (job_id, job) in enumerate(jobs)
        ]
        new = newer_than(store, search, given["top"], seen=ids, since=since) if "top" in given else 0
        return {
            "rows": [row for row in rows if row.left or _is_changed(row.job, since)],
            "new": new,
            "most_new": MOST_NEW,
            "newest": _url(given, LIVE, "ids", "top", "since", *PLACE),
        }

    def _tabs(self) -> Iterator[Tab]:
        """Counts are of all jobs, or of those of a queue: with other conditions they would not be of this list."""
        query, totals = self._search.query, Counter[JobStatus]()
        is_counted = self._search.is_counted
        for counts in self._counts:
            if query.queue in (None, counts.queue):
                totals.update(counts.by_status)
        yield Tab("all", None, totals.total() if is_counted else None, self._at_status(""), query.status is None)
        for word, status in WORDS.items():
            count = totals[status] if is_counted else None
            yield Tab(word, status, count, self._at_status(word), query.status == status)

    def _at_status(self, word: str) -> str:
        given = self.request.GET.copy()
        given[TYPED] = self._search.text_without(*(term for term in self._search.terms if term.field == "status"))
        given["status"] = word
        return _url(given, LIVE, "ids", "top", "since", *PLACE)

    def _without(self, term: Term) -> str:
        given = self.request.GET.copy()
        given[TYPED] = self._search.text_without(term)
        return _url(given, *PLACE, *([term.param] if term.param != TYPED else []))

    def _selects(self) -> Iterator[tuple[str, Promise, str, list[str]]]:
        """Name, label, what is chosen, and what there is to choose from."""
        values = {
            "status": (_("Status"), [*WORDS, RETRYING]),
            "queue": (_("Queue"), [counts.queue for counts in self._counts]),
            "name": (_("Handler"), self._names),
        }
        for name, (label, known) in values.items():
            given = self.request.GET.get(name, "")
            chosen = status_word(given) if name == "status" else given
            yield name, label, chosen, list(dict.fromkeys([*known[:MOST_OFFERED], *filter(None, [chosen])]))

    def _offers(self) -> list[str]:
        """Terms to complete what is typed with."""
        words = [term_text("status", word) for word in (*WORDS, RETRYING)]
        queues = [term_text("queue", counts.queue) for counts in self._counts]
        names = [term_text("name", name) for name in self._names]
        return [*words, *queues[:MOST_OFFERED], *names[:MOST_OFFERED]]


def _is_changed(job: Job | None, since: int) -> bool:
    """Whether it may look otherwise than when the page was made. Clocks are estimates."""
    return job is None or job.updated_at >= since - CLOCKS_DIFFER


def _number(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,15}", text) else 0


def _ids(text: str) -> Iterator[str]:
    for part in text.split(",")[: 2 * ROWS]:
        try:
            yield job_id_of(part)
        except InvalidJobId:
            continue


def _url(given: QueryDict, *dropped: str) -> str:
    """The address of the page with these parameters, but for those dropped and empty ones."""
    left = QueryDict(mutable=True)
    for name, values in given.lists():
        if name not in dropped and any(values):
            left.setlist(name, values)
    return f"?{left.urlencode()}"
