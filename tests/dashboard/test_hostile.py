"""What others called things is text, on every page, and not what it pretends to be."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Final

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from asyncjobs import Job, Query, get_engine
from asyncjobs.actions import OPERATION
from asyncjobs.dashboard.operations.reports import Report
from asyncjobs.dashboard.urls import patterns
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.templatetags.asyncjobs import shown
from tests.clock import Clock
from tests.dashboard.shop import HOSTILE, shop

DECEPTIVE: Final = set("\x1b\x07\N{RIGHT-TO-LEFT OVERRIDE}")
COLUMNS: Final = ("queue", "error", "owner", "tags", "worker")
READ: Final = ("title", "aria-label", "alt", "placeholder", "label")  # attributes that are read to people


class Seen(HTMLParser):
    """What a browser makes of a page: what is read, and what could do harm."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.read: list[str] = []
        self.harm: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.read += [given[name] or "" for name in READ if name in given]
        is_harm = tag == "img" or (tag == "script" and "src" not in given) or any(name[:2] == "on" for name in given)
        self.harm += [self.get_starttag_text() or tag] if is_harm else []

    def handle_data(self, text: str) -> None:
        self.read.append(text)

    @property
    def text(self) -> str:
        return " ".join("".join(self.read).split())


@pytest.fixture(scope="module")
def filled() -> Iterator[None]:
    clock = Clock()
    with shop(MemoryStore(clock=clock), clock) as made:
        made.call_names()
        yield


def addresses(name: str) -> Iterator[str]:
    """Every page of the dashboard: of each job of this name, and of its queue."""
    jobs = get_engine().find(Query(name=name)).jobs
    for pattern in patterns(admin.site):
        view: Any = pattern.callback
        if "get" not in view.view_class.http_method_names:
            continue
        wanted = pattern.pattern.converters
        about = operations(name) if "operation" in str(pattern.name) else jobs
        for job in about if "job_id" in wanted else jobs[:1]:
            known = {"job_id": job.id, "name": job.queue, "part": "arguments"}
            yield reverse(f"admin:{pattern.name}", kwargs={each: known[each] for each in wanted})


def operations(name: str) -> list[Job]:
    """Those that somebody ordered for this reason."""
    orders = [(job, Report(job).order) for job in get_engine().find(Query(name=OPERATION)).jobs]
    return [job for job, order in orders if order and order.reason == name]


def seen(client: Client, address: str, asked: dict[str, Any]) -> Seen | None:
    """What somebody sees there, if it is a page."""
    answer = client.get(address, asked)
    assert answer.status_code < 400
    is_page = answer.status_code == 200 and answer["Content-Type"].startswith("text/html")
    return Seen(answer.content.decode()) if is_page else None


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("filled")
def test_names_are_text_wherever_they_are_shown_or_asked_for(boss: Client, name: str) -> None:
    told = " ".join(shown(name).split())
    for address in addresses(name):
        for asked in ({"col": COLUMNS}, {"q": name, "queue": name, "name": name}, {"_live": ""}):
            if page := seen(boss, address, asked):
                assert page.harm == [], address
                assert not DECEPTIVE & set(page.text), address
                assert told in page.text or "_live" in asked, address
