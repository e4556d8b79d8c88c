"""The page of jobs that wait for their time, and what is done there."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from asyncjobs import Engine, Job, JobStatus
from asyncjobs.dashboard.due import LATE_MS, MINUTE_MS, falling_due, overdue
from asyncjobs.dashboard.views import delayed
from asyncjobs.domain.job import JobError
from asyncjobs.ids import new_ids
from tests.dashboard.conftest import ClientAs, StaffWith

PAGE = reverse("admin:asyncjobs_delayed")


def scheduled(engine: Engine, *, due_in: int = 60_000, **fields: Any) -> Job:
    now = engine.store.now()
    usual: dict[str, Any] = {"name": "shop.send", "status": JobStatus.SCHEDULED, "due_at": now + due_in}
    [job] = engine.store.add([Job(id=new_ids(1)[0], created_at=now, **usual | fields)])
    return job


def text(client: Client, **params: Any) -> str:
    response = client.get(PAGE, params)
    assert response.status_code == 200
    return response.content.decode()


def names(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]*">([^<]*)</a>', page)


def test_nothing_waits(engine: Engine, boss: Client) -> None:
    assert "No job waits for its time" in text(boss)


def test_jobs_come_in_the_order_in_which_they_fall_due(engine: Engine, boss: Client) -> None:
    for name, due_in in (("third", 90_000), ("first", 1_000), ("second", 30_000)):
        scheduled(engine, name=name, due_in=due_in)
    assert names(text(boss)) == ["first", "second", "third"]


def test_retries_and_scheduled_ones_are_told_apart_and_filtered(engine: Engine, boss: Client) -> None:
    scheduled(engine, name="fresh")
    scheduled(engine, name="again", retry_count=2, max_retries=5, error=JobError(code="X", message="it broke"))
    page = text(boss)
    assert "retry 2 of 5" in page
    assert "it broke" in page
    assert names(text(boss, kind="retries")) == ["again"]
    assert names(text(boss, kind="first")) == ["fresh"]
    assert len(names(text(boss, kind="nonsense"))) == 2


def test_one_queue_alone(engine: Engine, boss: Client) -> None:
    scheduled(engine, name="here", queue="mail")
    scheduled(engine, name="there")
    assert names(text(boss, queue="mail")) == ["here"]
    assert "No delayed job is like that" in text(boss, queue="unheard-of")


def test_page_by_page(engine: Engine, boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delayed, "ROWS", 2)
    for number in range(5):
        scheduled(engine, name=f"job{number}", due_in=1_000 * (number + 1))
    seen, address = [], PAGE
    while address:
        page = boss.get(address).content.decode()
        seen += names(page)
        following = re.search(r'href="([^"]*)" rel="next"', page)
        address = PAGE + following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"job{number}" for number in range(5)]


def test_rare_kinds_are_looked_for_on_a_bounded_number_of_pages(
    engine: Engine, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delayed, "ROWS", 1)
    monkeypatch.setattr(delayed, "LOOKS", 3)
    for number in range(6):
        scheduled(engine, due_in=1_000 * (number + 1))
    scheduled(engine, name="rare", due_in=90_000, retry_count=1)
    page = text(boss, kind="retries")
    assert names(page) == []
    assert 'rel="next"' in page


@pytest.mark.parametrize("params", [{"after": "garbage"}, {"queue": "\x00"}, {"_live": "", "id": "no-guid"}])
def test_a_page_that_cannot_be_is_no_server_error(engine: Engine, boss: Client, params: dict[str, str]) -> None:
    assert boss.get(PAGE, params).status_code == 400


def test_a_poll_tells_what_became_of_the_jobs_on_the_page(engine: Engine, boss: Client) -> None:
    moved, gone = scheduled(engine), scheduled(engine)
    ids = {"id": [moved.id, gone.id]}
    first = boss.get(PAGE, {"_live": "", **ids})
    [digest] = re.findall(r'value="(\w+)" hx-swap-oob', first.content.decode())
    assert boss.get(PAGE, {"_live": digest, **ids}).status_code == 204
    engine.run_now(moved.id)
    engine.delete(gone.id)
    news = boss.get(PAGE, {"_live": digest, **ids}).content.decode()
    assert "queued" in news
    assert "removed meanwhile" in news
    assert "<tr" not in news


@pytest.mark.parametrize("what", ["run_now", "reschedule", "cancel"])
def test_what_is_done_to_a_job_leads_back_here(engine: Engine, boss: Client, what: str) -> None:
    job = scheduled(engine)
    url = reverse(f"admin:asyncjobs_job_{what}", args=[job.id])
    assert f'action="{url}"' in text(boss)
    assert boss.post(url, {"next": PAGE, "minutes": "5"})["Location"] == PAGE
    assert engine.get(job.id) != job


def test_the_page_offers_what_is_allowed(engine: Engine, client_as: ClientAs, staff_with: StaffWith) -> None:
    scheduled(engine)
    page = text(client_as(staff_with("view_dashboard")))
    assert "Run now" not in page
    assert "Cancel the job" not in page
    assert "Reschedule" not in text(client_as(staff_with("view_dashboard", "cancel_job")))


def test_what_falls_due_is_counted_by_spans(engine: Engine) -> None:
    now = 1_000_000
    jobs = [
        Job(id="a", name="n", status=JobStatus.SCHEDULED, due_at=now + due_in, retry_count=retries)
        for due_in, retries in ((0, 0), (299_999, 1), (300_000, 0), (-1, 0), (-LATE_MS, 0), (10_000_000, 0))
    ]
    spans = falling_due(jobs, now=now, each=5 * MINUTE_MS, spans=12)
    assert [(due.first, due.again) for due in spans[:3]] == [(1, 1), (1, 0), (0, 0)]
    assert sum(due.first + due.again for due in spans) == 3
    assert overdue(jobs, now=now) == 1


def test_what_is_overdue_is_told(engine: Engine, boss: Client) -> None:
    scheduled(engine, due_in=-LATE_MS - 1_000)
    assert "1 job is overdue" in text(boss)


def test_charts_begin_now_and_say_how_far_they_reach(
    engine: Engine, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are overdue: they would be all that is drawn."""
    monkeypatch.setattr(delayed, "DRAWN", 2)
    for _ in range(3):
        scheduled(engine, due_in=-LATE_MS - 1_000)
    scheduled(engine, due_in=7 * MINUTE_MS)
    html = text(boss)
    assert "2 jobs are overdue" in html
    assert "There may be more" in html
    assert "1 for the first time" in html
    assert "not looked at" not in html
    for _ in range(2):
        scheduled(engine, due_in=8 * MINUTE_MS)
    html = text(boss)
    assert "the next 2 alone are drawn" in html
    assert html.count('class="aj-blank"') == 11 + 24
