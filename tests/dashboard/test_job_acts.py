"""What staff do to a job from its page."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from asyncjobs import Engine, Job, JobStatus, Query
from asyncjobs.actions import OPERATION, read_action
from asyncjobs.testing import memory_jobs, run_jobs
from tests.api import jobs
from tests.api.jobs import submitted_by
from tests.dashboard.test_job import HOSTILE, NOBODY, address, put, started, text_of

PARTS = ("cancel/", "retry/", "run-now/", "reschedule/", "delete/")

pytestmark = pytest.mark.usefixtures("engine")


def act(client: Client, job: Job | str, part: str, **fields: Any) -> Any:
    return client.post(address(job, part), {"next": address(job)} | fields, follow=True)


def actions(engine: Engine, job: Job) -> list[dict[str, Any]]:
    return [read_action(entry) for entry in engine.store.journal(job.id, "action")]


def newest_operation(engine: Engine) -> Job:
    return engine.find(Query(name=OPERATION, limit=1)).jobs[0]


def scheduled(**options: Any) -> Job:
    [job] = jobs.add.using(delay=3_600, **options).jobs_of([jobs.add.call(1)])
    return job


@pytest.fixture
def waiting(engine: Engine) -> Job:
    return engine.submit_many([scheduled()], on_commit=False)[0]


@pytest.fixture
def dead() -> Job:
    job = submitted_by(None, jobs.fail)
    run_jobs()
    return job


def test_a_retry_queues_the_job_again_and_says_who_did_it_and_why(boss: Client, engine: Engine, dead: Job) -> None:
    page = act(boss, dead, "retry/", reason=" fixed it ")
    assert page.redirect_chain == [(address(dead), 302)]
    assert "The job runs again. That begins in 10 s. Undo" in text_of(page)
    assert engine.get(dead.id).status == JobStatus.SCHEDULED
    ana, operation = str(User.objects.get(username="boss").pk), newest_operation(engine)
    assert actions(engine, dead) == [{"action": "retry", "by": ana, "reason": "fixed it", "operation": operation.id}]
    assert "boss had it run again" in text_of(page)
    assert f'href="/admin/asyncjobs/dashboard/operations/{operation.id}/"' in page.content.decode()
    [entry] = LogEntry.objects.all()
    assert "fixed it" in entry.change_message
    assert dead.id in entry.change_message


def test_a_completed_job_can_run_again(boss: Client, engine: Engine) -> None:
    job = submitted_by(None, jobs.add, 1)
    run_jobs()
    act(boss, job, "retry/")
    assert engine.get(job.id).status == JobStatus.SCHEDULED


@pytest.mark.parametrize("part", ["retry/", "delete/"])
def test_what_was_done_to_a_job_is_undone(boss: Client, engine: Engine, dead: Job, part: str) -> None:
    before = engine.get(dead.id)
    page = act(boss, dead, part)
    [undo] = re.findall(r'class="aj-undo" method="post" action="([^"]*)"', page.content.decode())
    page = boss.post(undo, {"next": address(dead)}, follow=True)
    assert "The job is what it was." in text_of(page)
    after = engine.get(dead.id)
    assert after.replace(version=before.version, updated_at=before.updated_at) == before
    assert [said["action"] for said in actions(engine, dead)] == [part.rstrip("/"), "undo"]


def test_a_waiting_job_is_canceled(boss: Client, engine: Engine, waiting: Job) -> None:
    page = act(boss, waiting, "cancel/", reason="not needed")
    assert "The job is canceled, or asked to stop if it runs." in text_of(page)
    assert engine.get(waiting.id).status == JobStatus.CANCELED
    assert "It was canceled: not needed" in text_of(page)


def test_a_running_job_is_asked_to_stop(boss: Client, engine: Engine) -> None:
    job = started(engine)
    assert "Ask it to stop" in text_of(boss.get(address(job)))
    page = act(boss, job, "cancel/")
    assert "asked to stop" in text_of(page)
    assert 'class="aj-undo"' not in page.content.decode()
    assert engine.get(job.id).cancel_requested is not None
    assert "Ask it to stop" not in text_of(page)


def test_a_scheduled_job_runs_now(boss: Client, engine: Engine, waiting: Job) -> None:
    act(boss, waiting, "run-now/")
    due_at = engine.get(waiting.id).due_at
    assert due_at is not None
    assert due_at - engine.store.now() <= 10_000
    assert [said["action"] for said in actions(engine, waiting)] == ["run_now"]


def test_a_job_is_put_off_by_minutes(boss: Client, engine: Engine, waiting: Job) -> None:
    act(boss, waiting, "reschedule/", minutes="10")
    due_at = engine.get(waiting.id).due_at
    assert due_at is not None
    assert 590_000 < due_at - engine.store.now() <= 600_000


def test_a_job_is_put_off_to_a_time(boss: Client, engine: Engine, waiting: Job) -> None:
    at = (timezone.localtime() + timedelta(days=3)).replace(microsecond=0, tzinfo=None)
    act(boss, waiting, "reschedule/", at=at.isoformat())
    assert engine.get(waiting.id).due_at == int(timezone.make_aware(at).timestamp() * 1_000)


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"minutes": "x"},
        {"minutes": "-1"},
        {"minutes": "9" * 30},
        {"at": "soon"},
        {"at": "0001-01-01T00:00"},
        {"at": "2030-01-01T00:00", "minutes": "1"},
    ],
)
def test_a_time_that_is_none_changes_nothing(boss: Client, engine: Engine, waiting: Job, when: dict[str, str]) -> None:
    page = act(boss, waiting, "reschedule/", **when)
    if "0001" not in when.get("at", ""):
        assert "Nothing was done:" in text_of(page)
        assert engine.get(waiting.id) == waiting


def test_a_deleted_job_is_gone_and_its_page_says_so(boss: Client, engine: Engine, dead: Job) -> None:
    page = act(boss, dead, "delete/", reason="junk")
    assert page.redirect_chain == [(address(dead), 302)]
    assert "The job is deleted. Undo" in text_of(page)
    assert "This job is in the trash" in text_of(page)
    assert engine.store.get([dead.id]) == [None]
    assert "junk" in LogEntry.objects.get().change_message


def test_a_job_that_is_deleted_for_good_leaves_no_page_to_go_back_to(boss: Client, settings: Settings) -> None:
    settings.ASYNCJOBS = {"TRASH": 0}
    with memory_jobs() as engine:
        page = act(boss, put(engine), "delete/")
    assert page.redirect_chain == [("/admin/asyncjobs/dashboard/jobs/", 302)]
    assert "The job is deleted." in text_of(page)


def test_a_hostile_name_is_text_in_messages_too(boss: Client, engine: Engine) -> None:
    page = act(boss, put(engine, name=HOSTILE), "delete/").content.decode()
    assert "is deleted." in page
    assert "<img" not in page
    assert "\u202e" not in page


def test_a_running_job_is_not_deleted(boss: Client, engine: Engine) -> None:
    job = started(engine)
    page = act(boss, job, "delete/")
    assert "Nothing was done:" in text_of(page)
    assert page.redirect_chain == [(address(job), 302)]
    assert engine.get(job.id) == job


@pytest.mark.parametrize("part", ["run-now/", "reschedule/", "cancel/"])
def test_what_cannot_be_done_any_more_is_not_done(boss: Client, engine: Engine, dead: Job, part: str) -> None:
    before = engine.get(dead.id)
    page = act(boss, dead, part, minutes="5")
    assert "Nothing was done: the job has moved on" in text_of(page)
    assert engine.get(dead.id) == before
    assert actions(engine, dead) == []
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("job_id", [NOBODY, "nope"])
def test_nothing_is_done_to_a_job_that_is_not_there(boss: Client, part: str, job_id: str) -> None:
    page = boss.post(address(job_id, part), {"minutes": "5"}, follow=True)
    assert "Nothing was done: there is no such job any more." in text_of(page)


@pytest.mark.parametrize("reason", ["x" * 501, "a\x1bb"])
def test_a_reason_that_cannot_be_kept_is_refused(boss: Client, engine: Engine, dead: Job, reason: str) -> None:
    before = engine.get(dead.id)
    assert "Nothing was done: a reason is" in text_of(act(boss, dead, "retry/", reason=reason))
    assert engine.get(dead.id) == before


@pytest.mark.parametrize("elsewhere", ["https://example.org/", "//example.org", "javascript:alert(1)"])
def test_an_act_leads_back_to_this_site_only(boss: Client, dead: Job, elsewhere: str) -> None:
    answer = boss.post(address(dead, "retry/"), {"next": elsewhere})
    assert answer["Location"] == "/admin/asyncjobs/dashboard/"


def test_only_what_the_status_allows_is_offered(boss: Client, engine: Engine, waiting: Job, dead: Job) -> None:
    offered = {
        "scheduled": ({"run-now", "reschedule", "cancel", "delete"}, waiting),
        "failed": ({"retry", "delete"}, dead),
        "running": ({"cancel"}, started(engine)),
        "queued": ({"reschedule", "cancel", "delete"}, put(engine)),
    }
    for status, (parts, job) in offered.items():
        page = boss.get(address(job)).content.decode()
        found = {part.rstrip("/") for part in PARTS if f'formaction="{address(job, part)}"' in page}
        assert found == parts, status


def test_enter_in_the_reason_does_nothing_by_accident(boss: Client, dead: Job) -> None:
    """It presses the first button of the form, and that may be behind a question; but not one that is disabled."""
    first = re.search('<button[^>]* form="aj-act"[^>]*>', boss.get(address(dead)).content.decode())
    assert first
    assert first[0] == '<button type="submit" form="aj-act" disabled hidden>'
