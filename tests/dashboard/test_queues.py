"""The pages of queues, and what is done there."""

import json
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from asyncjobs import Engine, Job, JobStatus, Query
from asyncjobs.actions import OPERATION
from asyncjobs.domain.job import JobError
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import QueueCounts
from asyncjobs.testing import run_jobs
from tests.dashboard.conftest import ClientAs, StaffWith

PAGE = reverse("admin:asyncjobs_queues")
HOSTILE = "</script><img src=x onerror=alert(1)>{{7*7}}\u202e"
NOBODY = "No worker listens to this queue"


def mail(engine: Engine) -> QueueCounts:
    return next(counts for counts in engine.counts() if counts.queue == "mail")


def put(engine: Engine, count: int = 1, **fields: Any) -> list[Job]:
    now = engine.store.now()
    usual: dict[str, Any] = {"name": "shop.send", "queue": "mail", "created_at": now}
    return engine.store.add([Job(id=job_id, **usual | fields) for job_id in new_ids(count)])


def failed(engine: Engine, **fields: Any) -> None:
    put(engine, status=JobStatus.FAILED, completed_at=engine.store.now(), **fields)


def listen(engine: Engine, *patterns: str, name: str = "w1", **facts: Any) -> None:
    about = {"name": name, "host": "h", "supervisor": 1, "since": 1.0, "queues": patterns, "state": "working"} | facts
    engine.store.beat(name, {}, lease=30_000, about=json.dumps(about))


def address(what: str, name: str = "mail") -> str:
    return reverse(f"admin:asyncjobs_queue{what}", args=[name])


def text(client: Client, url: str = PAGE, **params: Any) -> str:
    response = client.get(url, params)
    assert response.status_code == 200
    return response.content.decode()


def act(client: Client, what: str, **fields: Any) -> list[str]:
    """What is said afterwards."""
    response = client.post(address(what), {"next": PAGE, **fields}, follow=True)
    assert response.redirect_chain == [(PAGE, 302)]
    return [str(message) for message in response.context["messages"]]


def test_without_a_queue_the_page_says_so(engine: Engine, boss: Client) -> None:
    assert "No queue was used yet" in text(boss)


def test_queues_are_listed_with_their_counts(engine: Engine, boss: Client) -> None:
    put(engine, 3)
    put(engine, 2, status=JobStatus.SCHEDULED, due_at=engine.store.now() + 60_000)
    failed(engine)
    numbers = re.findall(r'<span id="aj-\w+-(\d+)">(?:<span class="aj-zero">)?(\d+)</span>', text(boss))
    assert numbers == [("100", "3"), ("300", "0"), ("200", "2"), ("500", "1")]


def test_counts_lead_to_the_jobs(engine: Engine, boss: Client) -> None:
    put(engine)
    assert f"{reverse('admin:asyncjobs_jobs')}?queue=mail&amp;status=queued" in text(boss)


def test_a_queue_with_a_backlog_and_no_worker_is_alarming(engine: Engine, boss: Client) -> None:
    put(engine)
    assert NOBODY in text(boss)
    listen(engine, "ma*")
    assert NOBODY not in text(boss)
    assert "1 worker" in text(boss)


@pytest.mark.parametrize("facts", [{"state": "ending"}, {"state": "ended"}, {"exclude": ["mail"]}])
def test_a_worker_that_takes_no_jobs_of_it_does_not_listen(engine: Engine, boss: Client, facts: dict[str, Any]) -> None:
    put(engine)
    listen(engine, "*", **facts)
    assert NOBODY in text(boss)


def test_a_queue_whose_only_worker_is_quiet_says_so_and_alarms_nobody(engine: Engine, boss: Client) -> None:
    put(engine)
    listen(engine, "mail", state="quiet")
    for page in (text(boss), text(boss, address(""))):
        assert "Its workers are quiet" in page
        assert "No worker listens" not in page
    listen(engine, "mail", name="w2")
    assert "Its workers are quiet" not in text(boss)


def test_an_empty_queue_without_a_worker_is_no_alarm(engine: Engine, boss: Client) -> None:
    engine.delete(put(engine)[0].id)
    assert NOBODY not in text(boss)


def test_on_the_page_of_a_queue_no_failures_are_no_alarm(engine: Engine, boss: Client) -> None:
    put(engine)
    for page in (text(boss, address("")), text(boss, address(""), _live="")):
        assert '<strong id="aj-tile-500" class="aj-zero"' in page
        assert '<strong id="aj-tile-100" class="aj-zero"' not in page


def test_a_queue_is_paused_with_reason_and_end(engine: Engine, boss: Client) -> None:
    put(engine)
    [said] = act(boss, "_pause", reason="the provider is down", length="2", unit="hours")
    assert said == "Queue mail is paused. What runs goes on."
    [counts] = engine.counts()
    assert counts.pause is not None
    assert counts.pause.until is not None
    assert (counts.pause.reason, counts.pause.until - counts.pause.since) == ("the provider is down", 7_200_000)
    for page in (text(boss), text(boss, address(""))):
        assert "the provider is down" in page
        assert "by boss" in page
    entry = LogEntry.objects.get()
    assert (entry.object_repr, entry.change_message) == ("queue mail", "Paused: the provider is down")


def test_a_pause_without_an_end_holds_until_resumed(engine: Engine, boss: Client) -> None:
    put(engine)
    act(boss, "_pause")
    assert engine.counts()[0].pause is not None
    assert act(boss, "_resume") == ["Queue mail is resumed."]
    assert engine.counts()[0].pause is None
    assert act(boss, "_resume") == ["Queue mail was not paused."]
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize(
    "fields", [{"length": "0"}, {"length": "x"}, {"unit": "years", "length": "1"}, {"reason": "x" * 501}]
)
def test_a_pause_that_makes_no_sense_is_none(engine: Engine, boss: Client, fields: dict[str, str]) -> None:
    put(engine)
    assert act(boss, "_pause", **fields)
    assert engine.counts()[0].pause is None


def test_a_queue_is_purged_by_typing_its_name(engine: Engine, boss: Client) -> None:
    put(engine, 3)
    failed(engine)
    assert act(boss, "_purge", typed="mail") == ["3 jobs are gone for good."]
    assert mail(engine).by_status == {JobStatus.FAILED: 1}
    assert "queue:mail" in LogEntry.objects.get().change_message


@pytest.mark.parametrize("typed", ["", "Mail", "mai"])
def test_a_slip_of_the_pen_purges_nothing(engine: Engine, boss: Client, typed: str) -> None:
    put(engine, 3)
    assert act(boss, "_purge", typed=typed) == ["That is not the name of the queue: nothing was removed."]
    assert engine.counts()[0].backlog == 3
    assert not LogEntry.objects.exists()


def test_a_purge_of_many_jobs_is_left_to_a_worker(engine: Engine, boss: Client) -> None:
    put(engine, 51)
    response = boss.post(address("_purge"), {"typed": "mail"})
    [operation] = engine.find(Query(name=OPERATION)).jobs
    assert response["Location"] == reverse("admin:asyncjobs_operation", args=[operation.id])
    run_jobs(queues=["asyncjobs"])
    assert mail(engine).backlog == 0
    assert engine.trash().resting == []


def test_the_page_of_a_queue_says_who_fills_it_who_serves_it_and_what_failed(engine: Engine, boss: Client) -> None:
    put(engine, 3)
    failed(engine, name="shop.other", error=JobError(code="X", message="it broke"))
    failed(engine, name="elsewhere", queue="other")
    listen(engine, "mail", name="postman")
    listen(engine, "other", name="stranger")
    page = text(boss, address(""))
    assert "Of the newest 4 jobs." in page
    assert "it broke" in page
    assert "postman" in page
    assert "stranger" not in page
    assert "elsewhere" not in page
    assert re.findall(r'<td class="aj-num">(\d+)</td>', page)[:1] == ["3"]


def test_a_queue_that_was_never_used_is_not_found(engine: Engine, boss: Client) -> None:
    assert boss.get(address("")).status_code == 404
    for what in ("_pause", "_resume", "_purge"):
        assert boss.post(address(what), {"typed": "mail"}).status_code == 404
    assert engine.counts() == []


@pytest.mark.parametrize("what", ["_pause", "_resume", "_purge"])
def test_nothing_is_done_to_a_queue_whose_name_no_queue_of_ours_can_have(
    engine: Engine, boss: Client, what: str
) -> None:
    put(engine, queue=HOSTILE)
    response = boss.post(address(what, HOSTILE), {"next": PAGE, "typed": HOSTILE}, follow=True)
    [said] = response.context["messages"]
    assert str(said).startswith("a queue name is")
    assert "\u202e" not in str(said)
    assert (engine.counts()[0].backlog, engine.counts()[0].pause) == (1, None)


@pytest.mark.parametrize("url", [PAGE, address("")])
def test_a_poll_brings_numbers_and_no_rows(engine: Engine, boss: Client, url: str) -> None:
    put(engine, 3)
    first = boss.get(url, {"_live": ""}).content.decode()
    [digest] = re.findall(r'name="_live" value="(\w+)"', first)
    assert boss.get(url, {"_live": digest}).status_code == 204
    put(engine)
    news = text(boss, url, _live=digest)
    assert ">4<" in news
    assert "<tr" not in news


def test_what_a_poll_brings_has_its_place_on_the_page(engine: Engine, boss: Client) -> None:
    put(engine)
    for url in (PAGE, address("")):
        ids = set(re.findall(r'id="([^"]+)" hx-swap-oob', text(boss, url, _live=""))) - {"aj-rev"}
        assert ids
        assert ids <= set(re.findall(r'id="([^"]+)"', text(boss, url)))


def test_a_poll_tells_of_queues_that_the_page_does_not_have(engine: Engine, boss: Client) -> None:
    put(engine)
    [seen] = re.findall(r'name="seen" value="(\w+)"', text(boss))
    assert "There are other queues now." not in text(boss, _live="", seen=seen)
    put(engine, queue="other")
    assert "There are other queues now." in text(boss, _live="", seen=seen)


@pytest.mark.parametrize("url", [PAGE, address("")])
def test_the_pages_offer_what_is_allowed(engine: Engine, client_as: ClientAs, staff_with: StaffWith, url: str) -> None:
    put(engine)
    page = text(client_as(staff_with("view_dashboard")), url)
    assert "Pause the queue" not in page
    assert "Purge the queue" not in page
