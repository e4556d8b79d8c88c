"""The page of jobs that wait for their time, and what is done there."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from asyncjobs import Engine, Job, JobStatus
from asyncjobs.dashboard.due import HOUR_MS, LATE_MS, MINUTE_MS, look_ahead
from asyncjobs.dashboard.views import delayed
from asyncjobs.domain.job import JobError
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import DAY_MS, MAX_DUE
from asyncjobs.stores.memory import MemoryStore
from tests.clock import Clock
from tests.dashboard.conftest import ClientAs, StaffWith
from tests.scene import Scene

PAGE = reverse("admin:asyncjobs_delayed")


def scheduled(engine: Engine, *, due_in: int = 60_000, **fields: Any) -> Job:
    now = engine.store.now()
    usual: dict[str, Any] = {"name": "shop.send", "status": JobStatus.SCHEDULED, "due_at": now + due_in}
    [job] = engine.store.add([Job(id=new_ids(1)[0], created_at=now, **usual | fields)])
    return job


def scheduled_many(engine: Engine, many: int, *, due_in: int) -> None:
    now = engine.store.now()
    job = Job(id="", name="shop.send", created_at=now, status=JobStatus.SCHEDULED, due_at=now + due_in)
    engine.store.add([job.replace(id=job_id) for job_id in new_ids(many)])


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


def test_what_falls_due_is_counted_by_spans(clock: Clock) -> None:
    scene = Scene(MemoryStore(clock=clock), clock)
    for due_in, many in (
        (-LATE_MS, 1),
        (-LATE_MS + 1, 1),
        (-1, 1),
        (0, 600),
        (299_999, 1),
        (300_000, 600),
        (DAY_MS, 1),
    ):
        scene.store.add([scene.delayed(due_in) for _ in range(many)])
    scene.put(scene.delayed(DAY_MS - 1, queue="mail"))
    ahead = look_ahead(scene.store, None)
    assert (ahead.overdue.jobs, ahead.overdue.is_cut) == (1, False)
    assert [span.jobs for span in ahead.hour] == [601, 600, *[0] * 10]
    assert [span.jobs for span in ahead.day] == [MAX_DUE, *[0] * 22, 1]
    assert [span.is_cut for span in ahead.day] == [True, *[False] * 23]
    for spans in (ahead.hour, ahead.day):
        assert [span.at for span in spans] == [clock(), *(span.until for span in spans[:-1])]
    assert [span.jobs for span in look_ahead(scene.store, "mail").day] == [*[0] * 23, 1]


def test_what_is_overdue_is_told(engine: Engine, boss: Client) -> None:
    scheduled(engine, due_in=-LATE_MS - 1_000)
    page = text(boss)
    assert "1 job is overdue" in page
    assert "There may be more" not in page
    assert "What falls due" not in page
    scheduled_many(engine, MAX_DUE, due_in=-LATE_MS - 1_000)
    page = text(boss)
    assert "1,000 jobs are overdue" in page
    assert "There may be more" in page


def test_charts_show_a_day_however_much_comes_first(engine: Engine, boss: Client) -> None:
    scheduled_many(engine, MAX_DUE, due_in=-LATE_MS - 1_000)
    scheduled_many(engine, MAX_DUE - 2, due_in=7 * MINUTE_MS)
    scheduled(engine, due_in=7 * MINUTE_MS, retry_count=1)
    scheduled(engine, due_in=21 * HOUR_MS, queue="mail")
    page = text(boss)
    assert spoken(page) == ["1 job", "999 jobs", "999 jobs"]
    assert page.count("· at most 999 jobs") == 2
    assert "A column with a gap" not in page
    assert page.count('class="aj-good"') == 3
    scheduled(engine, due_in=7 * MINUTE_MS)
    page = text(boss)
    assert spoken(page) == ["1 job", "1,000 jobs or more", "1,000 jobs or more"]
    assert page.count("· 1,000 jobs or more") == 2
    assert "A column with a gap: 1,000 jobs or more" in page
    assert page.count('class="aj-good"') == 5
    assert spoken(text(boss, queue="mail")) == ["1 job"]


def test_charts_show_retries_and_scheduled_ones_together_and_say_so(engine: Engine, boss: Client) -> None:
    scheduled(engine, retry_count=1)
    scheduled(engine)
    for kind in ("", "retries", "first"):
        page = text(boss, kind=kind)
        assert spoken(page) == ["2 jobs", "2 jobs"]
        assert "Scheduled jobs and retries together" in page


def spoken(page: str) -> list[str]:
    """What is said of the columns that there are."""
    return sorted(re.findall(r"<title>\d\d:\d\d to \d\d:\d\d UTC: ([1-9][^<]*)</title>", page))
