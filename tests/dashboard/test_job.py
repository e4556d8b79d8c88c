"""The page of a job."""

import json
import re
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asyncjobs import Engine, Job, JobStatus
from asyncjobs.actions import action_entry
from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobError, Progress
from asyncjobs.outcome import attempt_entry
from asyncjobs.stores.base import Change, Entry
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.jobs import submitted_by
from tests.dashboard.conftest import ClientAs, StaffWith

HOSTILE = "</script><img src=x onerror=alert(1)>{{7*7}}\u202eexe.txt\x1b[31m"
NOBODY = "0b7e1a52-3d0c-4f38-8f5c-0d4a8c6b9a11"
LONG = "a_name_without_an_end" * 9

pytestmark = pytest.mark.usefixtures("engine")


def address(job: Job | str, part: str = "") -> str:
    return f"/admin/asyncjobs/dashboard/jobs/{job if isinstance(job, str) else job.id}/{part}"


def text_of(response: Any) -> str:
    """The page as somebody reads it."""
    page = re.sub(r"<(script|style|svg)\b.*?</\1>", "", response.content.decode(), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def put(engine: Engine, **fields: Any) -> Job:
    now = engine.store.now()
    usual: dict[str, Any] = {"id": str(uuid4()), "name": jobs.echo.name, "created_at": now, "updated_at": now}
    [job] = engine.store.add([Job(**{"payload": '{"args":[],"kwargs":{}}'} | usual | fields)])
    return job


def started(engine: Engine, *entries: Entry, worker: str = "w1", **fields: Any) -> Job:
    job = put(engine, **fields)
    [claimed] = engine.store.claim([job.queue], worker=worker, limit=1, lease=30_000)
    written(engine, claimed, claimed, *entries)
    return claimed


def written(engine: Engine, old: Job, new: Job, *entries: Entry) -> Job:
    assert engine.store.swap([Change(old, new, entries)]) == [True]
    return new


def failed(engine: Engine, error: JobError, **fields: Any) -> Job:
    job, now = started(engine, **fields), engine.store.now()
    return written(engine, job, transitions.fail(job, error, delay=None, now=now), attempt_entry(job, error, now=now))


def lines(*texts: str) -> list[Entry]:
    return [Entry("log", 1_700_000_000_000, text) for text in texts]


class Poll:
    """What the page asks again and again, with what it has."""

    def __init__(self, client: Client, job: Job) -> None:
        page = client.get(address(job)).content.decode()
        form = page[page.index('id="aj-poll"') :]
        self._client = client
        self._job = job
        self._has = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[: form.index("</form>")]))

    def __call__(self) -> Any:
        answer = self._client.get(address(self._job), self._has)
        self._has |= dict(re.findall(r'<input[^>]*name="(\w+)" value="([^"]*)" hx-swap-oob', answer.content.decode()))
        return answer


def test_a_failed_job_says_what_went_wrong_and_offers_another_run(boss: Client) -> None:
    job = submitted_by(None, jobs.fail, "the disk is full")
    run_jobs()
    page = boss.get(address(job))
    assert page.status_code == 200
    text = text_of(page)
    for said in ("failed", job.id, "ValueError", "the disk is full", "has no retries", "raise ValueError(message)"):
        assert said in text
    assert "Retry" in text
    assert "Run now" not in text
    assert f"manage.py jobs retry {job.id}" in text


def test_a_completed_job_shows_what_it_made_and_how_it_went(boss: Client) -> None:
    job = submitted_by(None, jobs.talk, 2)
    run_jobs()
    text = text_of(boss.get(address(job)))
    for said in ("completed", "line 1", "line 2", "2 of 2", '"lines": 2', "attempt 1 started"):
        assert said in text
    assert "Why is this not running" not in text


def test_a_waiting_job_says_why(boss: Client, engine: Engine) -> None:
    job = submitted_by(None, jobs.add, 1)
    engine.pause("default", reason="deploy")
    text = text_of(boss.get(address(job)))
    assert "Queue default is paused: deploy" in text
    assert "No worker listens to queue default." in text


def test_a_job_of_a_handler_nobody_knows_says_so(boss: Client, engine: Engine) -> None:
    job = put(engine, name="tests.api.jobs.ecko")
    assert "did you mean 'tests.api.jobs.echo'?" in text_of(boss.get(address(job)))


def test_the_owner_and_those_who_acted_have_names(boss: Client, engine: Engine) -> None:
    ana = User.objects.create_user("ana")
    job = submitted_by(ana, jobs.add, 1)
    engine.note(job.id, action_entry("reschedule", by=str(ana.pk), now=engine.store.now(), reason="too early"))
    text = text_of(boss.get(address(job)))
    assert f"ana ({ana.pk})" in text
    assert "ana put it off to another time too early" in text


def test_an_owner_that_is_no_user_is_shown_as_it_is(boss: Client, engine: Engine) -> None:
    assert "tenant:7" in text_of(boss.get(address(put(engine, owner="tenant:7"))))


@pytest.mark.parametrize("status", JobStatus)
def test_every_status_has_a_page(boss: Client, engine: Engine, status: JobStatus) -> None:
    times = {"due_at": 5, "started_at": 6, "completed_at": 7, "claimed_until": 8}
    assert boss.get(address(put(engine, status=status, **times))).status_code == 200


def test_contents_are_for_those_who_may_see_them(client_as: ClientAs, staff_with: StaffWith) -> None:
    job = submitted_by(None, jobs.once, 31_415)
    run_jobs()
    seeing = client_as(staff_with("view_dashboard"))
    trusted = client_as(staff_with("view_dashboard", "view_payload"))
    assert "31415" not in text_of(seeing.get(address(job)))
    assert "You may not see what jobs were given" in text_of(seeing.get(address(job)))
    assert "31415" not in seeing.get(address(job), {"_live": ""}).content.decode()
    assert "31415" in text_of(trusted.get(address(job)))


def test_staff_who_only_see_are_offered_nothing_to_do(client_as: ClientAs, staff_with: StaffWith) -> None:
    job = submitted_by(None, jobs.fail)
    run_jobs()
    page = client_as(staff_with("view_dashboard")).get(address(job)).content.decode()
    assert "formaction" not in page
    assert "/edit/" not in page


@pytest.mark.parametrize("part", ["arguments", "result"])
def test_long_contents_are_cut_and_can_be_downloaded(boss: Client, engine: Engine, part: str) -> None:
    text = json.dumps({"args": ["x" * 40_000], "kwargs": {"password": "hunter2"}})
    job = started(engine, name="unknown", payload=text)
    written(engine, job, transitions.complete(job, text, now=engine.store.now()))
    page = boss.get(address(job))
    assert "This is only the beginning." in text_of(page)
    assert len(page.content) < 120_000
    whole = boss.get(address(job, f"{part}.txt"))
    assert "x" * 40_000 in whole.content.decode()
    assert "hunter2" not in whole.content.decode()
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole["Content-Disposition"] == f'attachment; filename="{job.id}-{part}.txt"'
    assert whole["X-Content-Type-Options"] == "nosniff"


def test_there_is_nothing_else_to_download(boss: Client, engine: Engine) -> None:
    job = put(engine)
    assert boss.get(address(job, "headers.txt")).status_code == 404
    assert boss.get(address(str(uuid4()), "result.txt")).status_code == 404


def test_a_webhook_is_named_by_its_host_alone(boss: Client, engine: Engine) -> None:
    job = put(engine, headers={":callback": ["https://example.org/hooks/hush?key=hush"]})
    page = boss.get(address(job)).content.decode()
    assert "example.org" in page
    assert "hush" not in page


def test_failures_alike_are_named(boss: Client, engine: Engine) -> None:
    kinds = ("builtins.ValueError", "builtins.ValueError", "builtins.KeyError")
    job, alike, other = (failed(engine, JobError(code="X", message="m", type=kind)) for kind in kinds)
    page = boss.get(address(job)).content.decode()
    assert address(alike) in page
    assert address(other) not in page


def test_a_twin_is_named(boss: Client, engine: Engine) -> None:
    old = failed(engine, JobError(code="X", message="m"), unique_key="k")
    twin = put(engine, unique_key="k")
    page = boss.get(address(old))
    assert "A twin with the same unique key is about to run." in text_of(page)
    assert address(twin) in page.content.decode()


@pytest.mark.parametrize("job_id", [NOBODY, "nope", "%3Cimg%20src=x%3E", "x" * 300, "%00"])
def test_an_unknown_job_has_a_page_that_says_so(boss: Client, job_id: str) -> None:
    page = boss.get(address(job_id))
    assert page.status_code == 404
    assert "There is no such job" in text_of(page)
    assert "<img" not in page.content.decode()
    assert "Overview" in text_of(page)


def test_a_removed_job_with_an_owner_says_when_it_was(boss: Client, engine: Engine) -> None:
    job = put(engine, owner="7")
    engine.purge(job.queue)
    page = boss.get(address(job))
    assert page.status_code == 404
    assert "This job was removed" in text_of(page)
    assert "<time" in page.content.decode()


def test_hostile_text_is_text(boss: Client, engine: Engine) -> None:
    error = JobError(
        code=HOSTILE, message=HOSTILE * 3, type=HOSTILE, traceback=f'  File "{HOSTILE}", line 1\n{HOSTILE}'
    )
    job = failed(
        engine,
        error,
        name=HOSTILE,
        queue="hostile",
        worker=HOSTILE,
        tags=(HOSTILE,),
        owner=HOSTILE,
        unique_key=HOSTILE,
        workflow_id=HOSTILE,
        payload=json.dumps({"args": [HOSTILE], "kwargs": {HOSTILE: HOSTILE}}),
        progress=Progress(done=1, total=2, message=HOSTILE),
        headers={":method": ["POST"], ":path": [HOSTILE], HOSTILE: [HOSTILE], ":callback": [f"https://{HOSTILE}"]},
    )
    engine.note(job.id, Entry("log", 1, HOSTILE))
    engine.note(job.id, Entry("action", 1, json.dumps({"action": HOSTILE, "by": HOSTILE, "reason": HOSTILE})))
    engine.note(job.id, Entry("action", 1, json.dumps({"action": "\ud800", "by": "\ud800", "job": HOSTILE})))
    for asked in ({}, {"_live": ""}):
        page = boss.get(address(job), asked).content.decode()
        assert "<img" not in page
        assert "onerror=alert(1)&gt;{{7*7}}" in page
        assert "\u202e" not in page
        assert "\x1b" not in page


def test_a_tag_leads_to_the_jobs_that_have_it(boss: Client, engine: Engine) -> None:
    page = boss.get(address(put(engine, tags=("für & alle",)))).content.decode()
    assert 'href="/admin/asyncjobs/dashboard/jobs/?q=tag%3A%22f%C3%BCr%20%26%20alle%22"' in page


def test_long_names_are_shown_whole(boss: Client, engine: Engine) -> None:
    assert LONG in text_of(boss.get(address(put(engine, name=LONG))))


@pytest.mark.parametrize("progress", [Progress(done=7), Progress(done=7, total=0), Progress(done=9, total=7)])
def test_odd_progress_is_shown(boss: Client, engine: Engine, progress: Progress) -> None:
    job = started(engine)
    written(engine, job, transitions.report(job, progress, now=engine.store.now()))
    assert str(progress.done) in text_of(boss.get(address(job)))


def test_a_page_changes_nothing(boss: Client, engine: Engine) -> None:
    job = failed(engine, JobError(code="X", message="m"))
    for part in ("", "?_live=", "edit/", "arguments.txt", "result.txt"):
        boss.get(address(job, part))
    assert engine.get(job.id) == job
    assert engine.store.journal(job.id, "action") == []


def test_no_page_needs_inline_scripts_or_styles(boss: Client, engine: Engine) -> None:
    job = failed(engine, JobError(code="X", message="m", traceback="t"))
    for part in ("", "edit/"):
        page = boss.get(address(job, part)).content.decode()
        page = page[page.index('<div class="aj') :]
        assert not re.search(r"<script|<style|\sstyle=|\son\w+=", page)


def test_a_poll_with_nothing_new_is_empty(boss: Client, engine: Engine) -> None:
    job = started(engine, *lines("one"))
    poll = Poll(boss, job)
    assert poll().status_code == 200
    assert poll().status_code == 204


def test_a_poll_brings_only_the_lines_that_are_new(boss: Client, engine: Engine) -> None:
    job = started(engine, *lines("first"))
    poll = Poll(boss, job)
    written(engine, job, job, *lines("second"))
    news = poll().content.decode()
    assert "second" in news
    assert "first" not in news
    assert 'hx-swap-oob="beforeend"' in news
    poll()
    assert poll().status_code == 204


def test_a_log_that_grew_very_much_is_replaced(boss: Client, engine: Engine) -> None:
    job = started(engine, *lines("first"))
    poll = Poll(boss, job)
    written(engine, job, job, *lines(*(f"line {number}" for number in range(600))))
    news = poll().content.decode()
    assert 'id="aj-log" hx-swap-oob="innerHTML"' in news
    assert news.count("<p><time") == 500


def test_a_poll_brings_progress_and_leaves_the_rest_alone(boss: Client, engine: Engine) -> None:
    job = started(engine)
    poll = Poll(boss, job)
    written(engine, job, transitions.report(job, Progress(done=3, total=9), now=engine.store.now()))
    news = poll().content.decode()
    assert "3 of 9" in news
    assert "aj-acts" not in news
    assert "aj-timeline" not in news


def test_a_poll_after_the_job_moved_on_brings_what_can_be_done_now(boss: Client, engine: Engine) -> None:
    job, error = started(engine), JobError(code="X", message="m")
    poll, now = Poll(boss, job), engine.store.now()
    written(engine, job, transitions.fail(job, error, delay=None, now=now), attempt_entry(job, error, now=now))
    news = poll().content.decode()
    assert "/retry/" in news
    assert "failed for good" in news
    assert "1 more attempt: show" in unescape(news)
    assert 'id="aj-attempts"' not in news
    poll()
    assert poll().status_code == 204


def test_live_parts_are_no_parts_of_tables(boss: Client, engine: Engine) -> None:
    news = boss.get(address(failed(engine, JobError(code="X", message="m"))), {"_live": ""}).content.decode()
    assert set(re.findall(r"<(\w+)[^>]*hx-swap-oob", news)) <= {"div", "span", "input"}


@pytest.mark.parametrize(
    "asked", [{"line": "x"}, {"line": "9" * 99}, {"line": "-1"}, {"attempt": "٣"}, {"state": "\x00"}]
)
def test_a_poll_that_says_odd_things_is_answered(boss: Client, engine: Engine, asked: dict[str, str]) -> None:
    assert boss.get(address(started(engine)), {"_live": "", **asked}).status_code == 200


def test_a_poll_of_a_job_that_was_removed_says_so(boss: Client, engine: Engine) -> None:
    job = put(engine)
    poll = Poll(boss, job)
    engine.delete(job.id)
    news = poll()
    assert news.status_code == 200
    assert "This job has been removed." in news.content.decode()
    assert poll().status_code == 204


def test_numbers_for_the_page_are_not_for_people(boss: Client, engine: Engine, settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    job = started(engine, *lines(*(f"line {number}" for number in range(1_200))))
    assert 'name="line" value="1200"' in boss.get(address(job)).content.decode()
