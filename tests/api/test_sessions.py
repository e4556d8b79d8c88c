"""Browsers: nothing is done for them without the token that only the site's own pages know, and nothing by looking."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asyncjobs import Engine, Query
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import JOURNAL_LIMITS
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.stored import everything, site_rows
from tests.api.wire import ANN, BOSS, URL, Sent, Server
from tests.backends import Backend

pytestmark = pytest.mark.usefixtures("unlimited")
ADD = {"name": "tests.api.jobs.add", "args": [1]}
FORM = "multipart/form-data"
FIELD = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n{}\r\n--x--\r\n'


@pytest.fixture
def browser(ann: User) -> Client:
    """Ann is logged in, and has a page with a token."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ann)
    browser.cookies["csrftoken"] = "a" * 32
    return browser


def acts(job_id: str) -> list[tuple[str, str, Any]]:
    """All that changes something."""
    return [
        ("POST", URL, ADD),
        ("POST", URL + "batch/", {"jobs": [ADD]}),
        ("POST", f"{URL}{job_id}/cancel/", {}),
        ("POST", f"{URL}{job_id}/retry/", {}),
        ("DELETE", f"{URL}{job_id}/", {}),
        ("POST", URL + "queues/default/pause/", {}),
        ("POST", URL + "queues/default/resume/", {}),
    ]


def state_of(engine: Engine) -> Any:
    kept = engine.find(Query(limit=1_000)).jobs
    return [(job, [engine.store.journal(job.id, kind) for kind in JOURNAL_LIMITS]) for job in kept], engine.counts()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-CSRFToken": ""},
        {"X-CSRFToken": "b" * 32},
        {"X-CSRFToken": "a" * 31},
        {"X-CSRFToken": "a" * 32, "Origin": "https://evil.example"},
        {"X-HTTP-Method-Override": "POST"},
    ],
)
def test_a_session_without_the_token_does_nothing(
    browser: Client, engine: Engine, ann: User, headers: dict[str, str]
) -> None:
    job = jobs.submitted_by(ann, jobs.add, 1)
    before = state_of(engine)
    for method, path, body in acts(job.id):
        answer = browser.generic(method, path, json.dumps(body), content_type="application/json", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "permission-denied")
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert state_of(engine) == before


def test_a_session_with_the_token_may_do_what_its_user_may(browser: Client, engine: Engine, ann: User) -> None:
    headers = {"X-CSRFToken": "a" * 32}
    accepted = browser.post(URL, ADD, content_type="application/json", headers=headers)
    assert accepted.status_code == 202
    [job] = engine.find(Query()).jobs
    assert job.owner == str(ann.pk)
    assert browser.get(f"{URL}{job.id}/").json()["status"] == "queued"
    canceled = browser.post(f"{URL}{job.id}/cancel/", {}, content_type="application/json", headers=headers)
    assert canceled.json()["status"] == "canceled"
    assert browser.delete(f"{URL}{job.id}/", headers=headers).status_code == 204


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded", "csrfmiddlewaretoken=" + "a" * 32),
        ("application/x-www-form-urlencoded", "name=tests.api.jobs.add"),
        ("text/plain", '{"name": "tests.api.jobs.add", "args": [1]}'),
        (f"{FORM}; boundary=x", "--x--"),
        (f"{FORM}; boundary=x", FIELD.format("b")),
        (f"{FORM}; boundary=" + "x" * 300, "x"),
        (f"{FORM}; boundary=\xff", "x"),
        (FORM, "x"),
        ("application/x-www-form-urlencoded", "x=1&" * 2_000),
        ("application/x-www-form-urlencoded", "x=" + "1" * 3_000_000),
        (
            f"{FORM}; boundary=x",
            '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + "1" * 3_000_000 + "\r\n--x--\r\n",
        ),
    ],
)
def test_a_form_does_nothing_even_with_the_token(
    browser: Client, engine: Engine, ann: User, content_type: str, body: str
) -> None:
    """What pages of others can send without asking first is forms and plain text."""
    job = jobs.submitted_by(ann, jobs.add, 1)
    before = state_of(engine)
    for method, path, _ in acts(job.id):
        if method == "POST":
            for headers in ({}, {"X-CSRFToken": "a" * 32}):
                answer = browser.generic(method, path, body, content_type=content_type, headers=headers)
                assert 400 <= answer.status_code < 500
                assert answer.headers["Content-Type"] == "application/problem+json"
    assert state_of(engine) == before


def test_looking_changes_nothing(backend: Backend, server: Server) -> None:
    engine = Engine(backend.open(), Conf(database=getattr(backend, "alias", "default")))
    before = exchange_engine(engine)
    owned = [
        jobs.submitted_by(ANN, jobs.add, 1),
        jobs.submitted_by(ANN, jobs.fail),
        jobs.submitted_by(ANN, jobs.talk, 1),
    ]
    run_jobs()
    waiting = jobs.submitted_by(ANN, jobs.add.using(delay=60), 1)
    gone = jobs.submitted_by(ANN, jobs.add, 1)
    engine.delete(gone.id)
    kept = everything(backend)
    ids = [*(job.id for job in owned), waiting.id, gone.id]
    paths = [URL, *(f"{URL}{job_id}/{part}" for job_id in ids for part in ("", "result/", "log/", "events/"))]
    paths += [URL + part for part in ("queues/", "workers/", "handlers/", "handlers/tests.api.jobs.add/", "health/")]
    paths += [f"{URL}{job_id}/{part}" for job_id in ids for part in ("cancel/", "retry/")]
    paths += [URL + part for part in ("batch/", "queues/default/pause/", "queues/default/resume/")]
    seen = set()
    for user in (ANN, BOSS):
        for path in paths:
            for method in ("GET", "HEAD", "OPTIONS", "TRACE"):
                seen.add(server.send(Sent(method, path, user=user, headers={"Idempotency-Key": "one"})).status)
        for status in JobStatus:
            server.send(Sent("GET", URL, f"status={status.name.lower()}&limit=1&queue=default&tag=x", user=user))
    exchange_engine(before)
    assert seen >= {200, 405, 409, 410}
    assert everything(backend) == kept


def test_looking_changes_no_row_of_the_site(browser: Client, engine: Engine, ann: User) -> None:
    job = jobs.submitted_by(ann, jobs.add, 1)
    kept = site_rows()
    for path in (URL, f"{URL}{job.id}/", f"{URL}{job.id}/log/", URL + "queues/", URL + "health/"):
        browser.get(path)
    assert site_rows() == kept
