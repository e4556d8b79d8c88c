"""One job over HTTP: its state, its result, its log, and what can be done to it."""

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from asyncjobs import Engine, JobStatus, get_engine
from asyncjobs.actions import OPERATION
from asyncjobs.api.webhooks import CALLBACK, delivery_of
from asyncjobs.conf import get_conf
from asyncjobs.domain.job import Job, Progress
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import Change, Entry
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.conftest import ClientOf, JsonClient, StaffWith

pytestmark = pytest.mark.usefixtures("unlimited")
NOBODYS = "3b241101-e2bb-4255-8caf-4136c566a962"


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def url(job: Job, part: str = "") -> str:
    return f"/api/jobs/{job.id}/{part}"


def claimed(engine: Engine, job: Job) -> Job:
    [running] = engine.store.claim([job.queue], worker="w", limit=1, lease=60_000)
    return running


def swap(engine: Engine, old: Job, new: Job, *entries: Entry) -> Job:
    assert engine.store.swap([Change(old, new, entries)]) == [True]
    return engine.get(new.id)


@pytest.fixture
def job(engine: Engine, ann: User) -> Job:
    return jobs.submitted_by(ann, jobs.add, 1, 2)


def test_a_job_that_has_not_changed_is_not_sent_again(client: JsonClient, engine: Engine, job: Job) -> None:
    etag = client.get(url(job)).headers["ETag"]
    same = client.get(url(job), headers={"If-None-Match": f'"other", W/{etag}'})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", etag)
    assert int(same.headers["Retry-After"]) >= 1
    claimed(engine, job)
    assert client.get(url(job), headers={"If-None-Match": etag}).status_code == 200


def test_progress_is_a_change(client: JsonClient, engine: Engine, job: Job) -> None:
    running = claimed(engine, job)
    etag = client.get(url(job)).headers["ETag"]
    swap(engine, running, running.replace(progress=Progress(done=3, total=4, message="nearly")))
    response = client.get(url(job), headers={"If-None-Match": etag})
    assert response.json()["progress"] == {"done": 3, "total": 4, "percent": 75, "message": "nearly"}


def test_a_finished_job_does_not_ask_to_be_asked_again(client: JsonClient, job: Job) -> None:
    run_jobs()
    response = client.get(url(job))
    assert "Retry-After" not in response.headers
    assert response.headers["Cache-Control"] == "private, no-cache"


def test_a_failed_job_is_an_answer_and_no_error(client: JsonClient, engine: Engine, ann: User, boss: User) -> None:
    job = jobs.submitted_by(ann, jobs.fail, "boom")
    run_jobs()
    response = client.get(url(job))
    assert (response.status_code, response.json()["status"]) == (200, "failed")
    assert response.json()["error"] == {"code": "HANDLER_ERROR", "message": "boom", "type": "builtins.ValueError"}
    result = client.get(url(job, "result/"))
    assert (result.status_code, result.json()["code"], result.json()["detail"]) == (409, "job-failed", "boom")


def test_staff_see_the_traceback(client_of: ClientOf, engine: Engine, ann: User, boss: User) -> None:
    job = jobs.submitted_by(ann, jobs.fail, "boom")
    run_jobs()
    assert "ValueError: boom" in client_of(boss).get(url(job)).json()["error"]["traceback"]


def test_a_result_is_there_once_the_job_is_done(client: JsonClient, job: Job) -> None:
    early = client.get(url(job, "result/"))
    assert (early.status_code, early.json()["code"]) == (409, "not-finished")
    assert int(early.headers["Retry-After"]) >= 1
    run_jobs()
    result = client.get(url(job, "result/"))
    assert result.json() == 3
    known = client.get(url(job, "result/"), headers={"If-None-Match": result.headers["ETag"]})
    assert (known.status_code, known.content, known.headers["ETag"]) == (304, b"", result.headers["ETag"])


def test_staff_who_may_not_see_what_jobs_hold_see_no_result(
    client_of: ClientOf, staff_with: StaffWith, engine: Engine, job: Job
) -> None:
    run_jobs()
    without, with_it = (client_of(staff_with("view_dashboard", *more)) for more in ((), ("view_payload",)))
    assert "result" not in without.get(url(job)).json()
    assert without.get(url(job, "result/")).status_code == 403
    assert with_it.get(url(job)).json()["result"] == with_it.get(url(job, "result/")).json() == 3


def test_a_canceled_job_has_no_result(client: JsonClient, engine: Engine, job: Job) -> None:
    engine.cancel(job.id)
    response = client.get(url(job, "result/"))
    assert (response.status_code, response.json()["code"]) == (409, "job-canceled")


@pytest.mark.parametrize("address", ["https://example.com/report.pdf", "http://127.0.0.1:8000/x?y=1#z"])
def test_a_result_that_is_an_address_is_followed(client: JsonClient, ann: User, address: str) -> None:
    job = jobs.submitted_by(ann, jobs.echo, address)
    run_jobs()
    response = client.get(url(job, "result/"))
    assert (response.status_code, response.headers["Location"]) == (303, address)


@pytest.mark.parametrize(
    "text",
    ["https://", "https:///x", "javascript:alert(1)", "see https://example.com", "https://a b/", "https://[x", "/x"],
)
def test_a_result_that_is_no_address_is_an_answer(client: JsonClient, ann: User, text: str) -> None:
    job = jobs.submitted_by(ann, jobs.echo, text)
    run_jobs()
    response = client.get(url(job, "result/"))
    assert (response.status_code, response.json()) == (200, text)


def test_a_log_is_read_page_by_page(client: JsonClient, engine: Engine, job: Job) -> None:
    running = claimed(engine, job)
    swap(engine, running, running, *(Entry("log", 1_700_000_000_000, f"line {number}") for number in range(3)))
    page = client.get(url(job, "log/?limit=2")).json()
    assert [entry["text"] for entry in page["entries"]] == ["line 0", "line 1"]
    assert page["entries"][0] == {"number": 1, "at": "2023-11-14T22:13:20.000Z", "text": "line 0"}
    rest = client.get(url(job, f"log/?after={page['next']}")).json()
    assert [entry["text"] for entry in rest["entries"]] == ["line 2"]
    assert rest["next"] is None


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=x", "after=²", "after=99999999999999999999"])
def test_a_page_of_the_log_that_is_none_is_refused(client: JsonClient, job: Job, query: str) -> None:
    response = client.get(url(job, f"log/?{query}"))
    assert (response.status_code, response.json()["code"]) == (400, "malformed")


def test_a_waiting_job_is_canceled_at_once(client: JsonClient, engine: Engine, job: Job, ann: User) -> None:
    response = client.post(url(job, "cancel/"), {"reason": "a mistake"})
    assert (response.status_code, response.json()["status"]) == (200, "canceled")
    assert client.post(url(job, "cancel/")).status_code == 200
    [entry] = engine.store.journal(job.id, "action")
    assert entry.text == f'{{"action": "cancel", "by": "{ann.pk}", "reason": "a mistake"}}'


def test_a_running_job_is_asked_to_end(client: JsonClient, engine: Engine, job: Job) -> None:
    claimed(engine, job)
    response = client.post(url(job, "cancel/"))
    assert (response.status_code, response.json()["cancel_requested"]) == (202, True)
    assert client.post(url(job, "cancel/")).status_code == 202


def test_a_finished_job_is_not_canceled(client: JsonClient, job: Job) -> None:
    run_jobs()
    response = client.post(url(job, "cancel/"))
    assert (response.status_code, response.json()["code"]) == (409, "already-finished")


@pytest.mark.parametrize("body", [[], {"reason": 5}, {"why": "x"}, {"reason": "x" * 501}, "x"])
def test_a_reason_is_a_short_text(client: JsonClient, engine: Engine, job: Job, body: object) -> None:
    assert client.post(url(job, "cancel/"), body).status_code == 422
    assert engine.get(job.id).status == JobStatus.QUEUED


def test_a_job_that_ended_badly_is_run_again(client: JsonClient, engine: Engine, ann: User) -> None:
    job = jobs.submitted_by(ann, jobs.fail)
    run_jobs()
    response = client.post(url(job, "retry/"))
    assert (response.status_code, response.json()["status"]) == (202, "queued")
    assert response.headers["Location"].endswith(url(job))
    run_jobs()
    assert engine.get(job.id).status == JobStatus.FAILED


def test_what_did_not_end_badly_is_not_run_again(client: JsonClient, engine: Engine, job: Job) -> None:
    for _ in range(2):
        response = client.post(url(job, "retry/"))
        assert (response.status_code, response.json()["code"]) == (409, "not-retryable")
        run_jobs()
    assert engine.get(job.id).attempt == 1


def test_an_operation_of_the_dashboard_is_not_run_again(
    client_of: ClientOf, staff_with: StaffWith, engine: Engine
) -> None:
    operation = jobs.submitted_by(None, jobs.add, 1).replace(id=new_ids(1)[0], name=OPERATION)
    engine.submit_many([operation], on_commit=False)
    stopped = engine.cancel(operation.id)
    response = client_of(staff_with("view_dashboard", "retry_job")).post(url(stopped, "retry/"))
    assert (response.status_code, response.json()["code"]) == (409, "not-retryable")
    assert engine.get(stopped.id) == stopped


def test_a_retry_that_is_refused_tells_nobody_again(client_of: ClientOf, ann: User, settings: Settings) -> None:
    webhooks = {"HOSTS": ["hooks.example.com"], "SECRETS": ["whsec_" + "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"]}
    settings.ASYNCJOBS = {"STORE": "memory", "API": {"WEBHOOKS": webhooks}}
    job = jobs.submitted_by(ann, jobs.add, 1)
    url_there = "https://hooks.example.com/"
    told = job.replace(headers={CALLBACK: [url_there]}, id=new_ids(1)[0])
    delivery = delivery_of(told, url_there, get_conf().api.webhooks)
    done = delivery.replace(status=JobStatus.COMPLETED, completed_at=1, result='"delivered"')
    ended = told.replace(status=JobStatus.COMPLETED, completed_at=1)
    get_engine().submit_many([ended, done], on_commit=False)
    assert client_of(ann).post(url(told, "retry/")).status_code == 409
    assert get_engine().get(delivery.id).status == JobStatus.COMPLETED


def test_who_may_not_submit_a_job_may_not_retry_it(client: JsonClient, engine: Engine, ann: User) -> None:
    job = jobs.submitted_by(ann, jobs.staff_only)
    engine.cancel(job.id)
    assert client.post(url(job, "retry/")).status_code == 403
    assert engine.get(job.id).status == JobStatus.CANCELED


def test_a_job_is_removed_and_was_there(client: JsonClient, client_of: ClientOf, bob: User, job: Job) -> None:
    assert client.delete(url(job)).status_code == 204
    for part in ("", "result/", "log/"):
        response = client.get(url(job, part))
        assert (response.status_code, response.json()["code"]) == (410, "gone")
    assert client_of(bob).get(url(job)).status_code == 404


def test_a_running_job_is_not_removed(client: JsonClient, engine: Engine, job: Job) -> None:
    claimed(engine, job)
    response = client.delete(url(job))
    assert (response.status_code, response.json()["code"]) == (409, "running")


@pytest.mark.parametrize("job_id", [NOBODYS, "x", "0", NOBODYS + "0", "{" + NOBODYS, "%00", "ø"])
def test_what_is_no_job_is_not_found(client: JsonClient, job_id: str) -> None:
    for part in ("", "result/", "log/", "events/"):
        response = client.get(f"/api/jobs/{job_id}/{part}")
        assert (response.status_code, response.json()["code"]) == (404, "not-found")
    for part in ("cancel/", "retry/"):
        assert client.post(f"/api/jobs/{job_id}/{part}").status_code == 404
    assert client.delete(f"/api/jobs/{job_id}/").status_code == 404


def test_an_id_is_read_however_it_is_written(client: JsonClient, job: Job) -> None:
    assert client.get(f"/api/jobs/{job.id.upper().replace('-', '')}/").json()["id"] == job.id


@pytest.mark.parametrize("wait", ["x", "-1", "1.5", "", "99999999999"])
def test_a_wait_is_a_whole_number_of_seconds(client: JsonClient, job: Job, wait: str) -> None:
    response = client.get(url(job), {"wait": wait})
    assert (response.status_code, response.json()["code"]) == (400, "malformed")


def test_a_preference_that_cannot_be_read_is_none(client: JsonClient, job: Job) -> None:
    response = client.get(url(job), headers={"Prefer": "wait=soon, respond-async"})
    assert (response.status_code, "Preference-Applied" in response.headers) == (200, False)


def test_whoever_waits_for_a_finished_job_has_it_at_once(client: JsonClient, job: Job) -> None:
    run_jobs()
    response = client.get(url(job), headers={"Prefer": "respond-async, wait=20"})
    assert (response.json()["done"], response.headers["Preference-Applied"]) == (True, "wait=20")


def test_events_need_an_event_loop(client: JsonClient, job: Job) -> None:
    response = client.get(url(job, "events/"))
    assert (response.status_code, response.json()["code"]) == (406, "not-acceptable")


def test_a_problem_is_at_an_address_whatever_was_asked_for(client: JsonClient) -> None:
    assert client.get("/api/jobs/%C3%9F%20%7C/").json()["instance"] == "/api/jobs/%C3%9F%20%7C/"
