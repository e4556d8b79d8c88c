"""What is asked of the dashboard, and how long each answer may take."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from itertools import cycle
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse

from asyncjobs.dashboard.search import TYPED, read_search
from asyncjobs.dashboard.terms import Known
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import MAX_FAULTS, Query, Store
from tests.bench.dashboard.shop import AREAS, NAMES, TAGS
from tests.bench.dashboard.stock import Stock

OVERVIEW: Final = 80.0  # milliseconds at p95, as all of these
LIST: Final = 100.0
JOB: Final = 60.0
POLL: Final = 15.0
PREVIEW: Final = 300.0
CHOSEN: Final = 200  # jobs that are previewed
SOME: Final = 50  # jobs whose pages are asked for in turn

FILTERS: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "all": [{}],
    **{
        f"status {word}": [{"status": word}]
        for word in ("queued", "waiting", "scheduled", "running", "completed", "failed", "canceled")
    },
    "queue": [{"queue": queue} for queue in AREAS],
    "handler": [{"name": name} for name in NAMES],
    "tag": [{TYPED: f"tag:{tag}"} for tag in TAGS[:20]],
    "owner": [{TYPED: f"owner:{number}"} for number in range(20)],
    "queue, failed": [{"queue": queue, "status": "failed"} for queue in AREAS],
    "queue, completed": [{"queue": queue, "status": "completed"} for queue in AREAS],
    "handler, failed": [{"name": name, "status": "failed"} for name in NAMES],
    "created": [{TYPED: f"created:>{day}d created:<{day + 2}d"} for day in (3, 0, 1, 2, 4, 5)],
}
WINDOWED: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "error, many": [{"status": "failed", TYPED: f"error:{word}"} for word in ("gateway", "timeout", "KeyError")],
    "error, none": [{"status": "failed", TYPED: f"error:nothing-{number}"} for number in range(5)],
    "worker, none": [{TYPED: "worker:nobody"}],
}
MATCHING: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "all dead": [{"act": "retry", "status": "failed"}],
    "all completed": [{"act": "delete", "status": "completed"}],
    "all of a queue": [{"act": "delete", "queue": queue} for queue in AREAS],
    "all dead of a handler": [{"act": "retry", "status": "failed", "name": name} for name in NAMES],
}


class Ask(NamedTuple):
    """One request: a POST if it has a form."""

    path: str
    form: Mapping[str, Any] | None = None


Walk = Generator[Ask, HttpResponse, None]


class Visit(NamedTuple):
    """Requests of one sort. Answers with another status than this are not measured."""

    name: str
    limit: float | None
    walk: Callable[[], Walk]
    status: int = 200


def visits(store: Store, stock: Stock) -> Iterator[Visit]:
    """All sorts, those of a page together."""
    yield from _live("overview", OVERVIEW, "dashboard_changelist")
    for name, given in FILTERS.items():
        yield Visit(f"jobs, {name}", LIST, partial(_each, _jobs(given)))
        yield Visit(f"jobs, {name}, deep", LIST, partial(_along, "next", _jobs(given)[0]))
        yield Visit(f"jobs, {name}, from the end", LIST, partial(_along, "prev", _far_end(store, given[0])))
    for name, given in WINDOWED.items():
        yield Visit(f"jobs, {name}", None, partial(_each, _jobs(given)))
    yield Visit("jobs, poll", POLL, partial(_polls, _jobs([{}])[0]), 204)
    yield from _of_one_job(store, stock)
    yield from _live("dead", LIST, "dead")
    faults = [{TYPED: f"fault:{fault.fault}"} for fault in store.faults(MAX_FAULTS)]
    yield Visit("jobs, fault", LIST, partial(_each, _jobs(faults)))
    yield Visit("jobs, fault, deep", LIST, partial(_along, "next", _jobs(faults)[0]))
    yield from _live("delayed", LIST, "delayed")
    yield Visit("delayed, deep", LIST, partial(_along, "next", _page("delayed")))
    yield from _live("queues", LIST, "queues")
    yield Visit("queue", LIST, partial(_each, [_page("queue", queue) for queue in AREAS]))
    yield Visit("queue, poll", POLL, partial(_polls, _page("queue", "mail")), 204)
    yield from _live("workers", LIST, "workers")
    yield Visit("trash", LIST, partial(_each, [_page("trash")]))
    yield Visit("trash, deep", LIST, partial(_along, "next", _page("trash")))
    yield Visit("operations", LIST, partial(_each, [_page("operations")]))
    dead = store.find(Query(status=JobStatus.FAILED, limit=CHOSEN)).jobs
    chosen = [{"act": "retry", "id": [job.id for job in dead]}]
    yield Visit(f"preview of {CHOSEN} chosen", PREVIEW, partial(_posts, "chosen", chosen))
    for name, forms in MATCHING.items():
        yield Visit(f"preview of {name}", PREVIEW, partial(_posts, "matching", forms))


def _live(name: str, limit: float, page: str) -> Iterator[Visit]:
    yield Visit(name, limit, partial(_each, [_page(page)]))
    yield Visit(f"{name}, poll", POLL, partial(_polls, _page(page)), 204)


def _of_one_job(store: Store, stock: Stock) -> Iterator[Visit]:
    for status in (JobStatus.FAILED, JobStatus.COMPLETED, JobStatus.IN_PROGRESS, JobStatus.QUEUED):
        ids = [job.id for job in store.find(Query(status=status, limit=SOME)).jobs]
        name = f"job, {status.name.lower().replace('_', ' ')}"
        yield Visit(name, JOB, partial(_each, [_page("job", job_id) for job_id in ids]))
        yield Visit(f"{name}, poll", POLL, partial(_polls, _page("job", ids[0])), 204)
    told = [_page("job", job_id) for job_id in stock.talkative]
    yield Visit("job, failed, 500 lines of log", JOB, partial(_each, told))


def _page(name: str, *given: str) -> str:
    return reverse(f"admin:asyncjobs_{name}", args=given)


def _jobs(given: Iterable[Mapping[str, str]]) -> list[str]:
    return [f"{_page('jobs')}?{urlencode(params)}" for params in given]


def _far_end(store: Store, given: Mapping[str, str]) -> str:
    """The page of the oldest jobs but one."""
    chosen = {name: value for name, value in given.items() if name != TYPED}
    query = read_search(given.get(TYPED, ""), Known(store.now(), NAMES), chosen).query
    cursors = store.find(replace(query, oldest_first=True, limit=1)).cursors
    return _jobs([{**given, "before": cursors[0]} if cursors else given])[0]


def _each(paths: Iterable[str]) -> Walk:
    for path in cycle(paths):
        yield Ask(path)


def _along(rel: str, start: str) -> Walk:
    """From page to page, and from the beginning again at the end."""
    path = start
    while True:
        answer = yield Ask(path)
        link = re.search(rf'<a [^>]*rel="{rel}"[^>]*>', answer.content.decode())
        href = re.search(r'href="([^"]*)"', link[0]) if link else None
        path = start.partition("?")[0] + unescape(href[1]) if href else start


def _polls(path: str) -> Walk:
    """The page, and then what its script asks every few seconds: only what is new since."""
    page = yield Ask(path)
    fields = _poll_fields(page.content.decode())
    while True:
        answer = yield Ask(f"{path.partition('?')[0]}?{urlencode(fields)}")
        fields = [(name, dict(_inputs(answer.content.decode())).get(name, value)) for name, value in fields]


def _poll_fields(page: str) -> list[tuple[str, str]]:
    form = re.search(r'<form id="aj-poll".*?</form>', page, re.DOTALL)
    assert form, "this page has no poll"
    return _inputs(form[0])


def _inputs(html: str) -> list[tuple[str, str]]:
    found = re.findall(r'<input type="hidden"[^>]* name="([^"]*)" value="([^"]*)"', html)
    return [(name, unescape(value)) for name, value in found]


def _posts(page: str, forms: Iterable[Mapping[str, Any]]) -> Walk:
    for form in cycle(forms):
        yield Ask(_page(page), form)
