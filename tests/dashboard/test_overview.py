"""The first page says what is broken, and how things are."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from asyncjobs.dashboard.marks import mark
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Pause
from asyncjobs.stores.memory import MemoryStore
from tests.clock import Clock
from tests.dashboard.shop import MINUTE, Shop, shop

HOME = "/admin/asyncjobs/dashboard/"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock=clock)


@pytest.fixture
def filled(store: MemoryStore, clock: Clock) -> Iterator[Shop]:
    """A shop that has no jobs yet, and is what the views see."""
    with shop(store, clock) as filled:
        yield filled


def page(client: Client) -> str:
    return client.get(HOME).content.decode()


class Part(HTMLParser):
    """Gathers the text of the element with an id."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self._name = name
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("input", "br") and (self._open or ("id", self._name) in attributes):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.words += data.split()


def part(html: str, name: str) -> str:
    """The text of the element with this id."""
    assert f'id="{name}"' in html
    parser = Part(name)
    parser.feed(html)
    return " ".join(parser.words)


def news(client: Client, html: str, digest: str = "") -> Any:
    """The answer to a poll of a page with this HTML."""
    shape = re.search(r'name="shape" value="(\w+)"', html)
    assert shape
    return client.get(HOME, {"_live": digest, "shape": shape[1]}, headers={"HX-Request": "true"})


def test_without_jobs_it_tells_how_to_make_one(boss: Client, filled: Shop) -> None:
    assert "No jobs yet" in page(boss)
    assert "runjobworker" in page(boss)


def test_every_status_is_counted_and_leads_to_its_jobs(boss: Client, filled: Shop, store: MemoryStore) -> None:
    filled.live_an_hour()
    html = page(boss)
    for status in JobStatus:
        count = sum(queue.by_status.get(status, 0) for queue in store.counts())
        assert part(html, f"aj-tile-{status.value}") == f"{count:,}"
        assert f'href="{HOME}jobs/?status={status.name.lower()}"' in html


def test_a_queue_says_how_fast_it_is_and_when_it_will_be_empty(boss: Client, filled: Shop) -> None:
    filled.live_an_hour()
    html = page(boss)
    mail = mark("mail")
    assert part(html, f"aj-{mail}-100") == "37"
    assert part(html, f"aj-{mail}-300") == "3"
    pace = float(part(html, f"aj-{mail}-pace"))
    assert part(html, f"aj-{mail}-empty") == f"{37 / pace:.1f} min"


def test_a_paused_queue_says_why_and_does_not_empty(boss: Client, filled: Shop) -> None:
    filled.live_an_hour()
    html = page(boss)
    assert re.match("paused by .+: the VAT rates are wrong", part(html, f"aj-{mark('invoices')}-pause"))
    assert part(html, f"aj-{mark('invoices')}-empty") == "paused"


def test_a_queue_whose_pause_is_over_is_not_shown_as_paused(
    boss: Client, filled: Shop, store: MemoryStore, clock: Clock
) -> None:
    filled.live_an_hour()
    store.pause(Pause(queue="mail", since=clock(), until=clock() + MINUTE))
    assert "paused" in part(page(boss), f"aj-{mark('mail')}-pause")
    clock.advance(2 * MINUTE)
    assert part(page(boss), f"aj-{mark('mail')}-pause") == ""


def test_jobs_that_failed_alike_are_one_line(boss: Client, filled: Shop) -> None:
    filled.live_an_hour()
    lines = part(page(boss), "aj-newest")
    assert re.search(r"KeyError 'vat_rate' shop.invoices. render 14 ", lines)
    assert re.search(r"ConnectionError the bank's gateway .* shop.payments. capture 39 ", lines)


def test_a_worker_that_is_not_heard_of_any_more_comes_before_all_else(boss: Client, filled: Shop) -> None:
    filled.live_an_hour()
    html = page(boss)
    assert part(html, "aj-alerts").startswith("Worker batch-2 has not been heard from for 7 min.")
    assert "web-1" not in part(html, "aj-alerts")
    assert html.index('id="aj-alerts"') < html.index("aj-tiles")


def test_news_are_parts_of_the_page_as_it_would_be_now(boss: Client, filled: Shop) -> None:
    filled.live_an_hour()
    before = page(boss)
    filled.fill(5)
    answer = news(boss, before).content.decode()
    after = page(boss)
    ids = [name for name in re.findall(r'id="([\w-]+)"', answer) if name != "aj-rev"]
    assert set(ids) <= set(re.findall(r'id="([\w-]+)"', before))
    tiles = [name for name in ids if name.startswith("aj-tile")]
    assert [part(answer, name) for name in tiles] == [part(after, name) for name in tiles]


def test_a_poll_with_nothing_new_is_answered_with_nothing(boss: Client, filled: Shop) -> None:
    filled.live_an_hour()
    html = page(boss)
    digest = re.search(r'id="aj-rev"[^>]* value="(\w+)"', news(boss, html).content.decode())
    assert digest
    assert news(boss, html, digest[1]).status_code == 204


def test_another_queue_has_the_page_loaded_again(boss: Client, filled: Shop) -> None:
    empty = page(boss)
    filled.live_an_hour()
    answer = news(boss, empty)
    assert (answer.status_code, answer.headers["HX-Refresh"]) == (204, "true")


def test_of_very_many_queues_the_first_are_shown(boss: Client, filled: Shop) -> None:
    for number in range(60):
        filled.add(1, name="shop.mail.send_receipt", queue=f"queue-{number:02}")
    html = page(boss)
    assert html.count('data-label="Empty in"') == 50
    assert "10 more queues" in html
    assert "Nor to 55 more queues where jobs wait." in part(html, "aj-alerts")
    assert html.index('id="aj-newest"') < html.index('data-label="Empty in"'), "what failed is not below the fold"


def test_a_queue_that_nobody_listens_to_does_not_empty(boss: Client, filled: Shop, store: MemoryStore) -> None:
    filled.live_an_hour()
    store.resume("invoices")
    assert part(page(boss), f"aj-{mark('invoices')}-empty") == "stands still"
