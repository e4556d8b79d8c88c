"""A job runs again with other arguments, as another job."""

import json
import re
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from asyncjobs import Engine, Job, JobStatus, get_engine
from asyncjobs.actions import read_action
from asyncjobs.registry import job
from asyncjobs.testing import run_jobs, submitted
from tests.api import jobs
from tests.api.jobs import submitted_by
from tests.dashboard.test_job import address, put, started, text_of

pytestmark = pytest.mark.usefixtures("engine")


@job(name="tests.dashboard.pay", max_retries=0, queue="money", priority=7)
def pay(amount: int, card: str, options: Any = None) -> None:
    raise ValueError("wrong amount")


@pytest.fixture
def paid(db: None) -> Job:
    """A job that failed."""
    job = submitted_by(User.objects.create_user("ann"), pay, 5, "4111", {"pin": 99, "note": "x"})
    run_jobs()
    return job


def form_of(client: Client, job: Job) -> Any:
    page = client.get(address(job, "edit/"))
    assert page.status_code == 200
    [text] = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page.content.decode(), re.S)
    return json.loads(unescape(text))


def send(client: Client, job: Job, value: Any, **more: str) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    return client.post(address(job, "edit/"), {"arguments": text, **more})


def new_one(answer: Any) -> Job:
    assert answer.status_code == 302, text_of(answer)
    return get_engine().get(answer["Location"].rstrip("/").rpartition("/")[2])


def payload(job: Job) -> Any:
    return json.loads(job.payload)


def test_the_form_hides_secrets(boss: Client, paid: Job) -> None:
    assert form_of(boss, paid) == {
        "args": [5, "[redacted]", {"pin": "[redacted]", "note": "x"}],
        "kwargs": {},
    }


def test_a_new_job_has_the_new_arguments_the_old_secrets_and_the_same_options(boss: Client, paid: Job) -> None:
    value = form_of(boss, paid)
    value["args"][0] = 6
    new = new_one(send(boss, paid, value))
    assert payload(new) == {"args": [6, "4111", {"pin": 99, "note": "x"}], "kwargs": {}}
    assert new.status == JobStatus.QUEUED
    kept = ("name", "queue", "priority", "tags", "owner", "max_retries", "timeout_ms", "soft_timeout_ms", "retry")
    assert [getattr(new, name) for name in kept] == [getattr(paid, name) for name in kept]


def test_the_old_job_stays_and_each_says_which_the_other_one_is(boss: Client, engine: Engine, paid: Job) -> None:
    before = engine.get(paid.id)
    new = new_one(send(boss, paid, form_of(boss, paid), reason="typo"))
    assert engine.get(paid.id) == before
    for one, other, action in ((paid, new, "replace"), (new, paid, "edit")):
        [entry] = engine.store.journal(one.id, "action")
        said = read_action(entry)
        assert (said["action"], said["job"], said["reason"]) == (action, other.id, "typo")
        assert address(other) in boss.get(address(one)).content.decode()
    assert "typo" in LogEntry.objects.get().change_message


def test_a_secret_can_be_replaced(boss: Client, paid: Job) -> None:
    new = new_one(send(boss, paid, {"args": [], "kwargs": {"amount": 1, "card": "4222"}}))
    assert payload(new)["kwargs"] == {"amount": 1, "card": "4222"}


def test_values_that_look_alike_are_not_taken_for_the_same(boss: Client, paid: Job) -> None:
    new = new_one(send(boss, paid, {"args": [5.0, "[redacted]", True], "kwargs": {}}))
    assert new.payload == '{"args":[5.0,"4111",true],"kwargs":{}}'


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nope", "this is no JSON"),
        ("[" * 100_000, "nested too deep"),
        ("[]", "arguments are an object"),
        ({"args": [1, "x"]}, "arguments are an object"),
        ({"args": [1], "kwargs": {}}, "missing a required argument: 'card'"),
        ({"args": [1, "x"], "kwargs": {"amuont": 1}}, "unexpected keyword argument 'amuont'"),
        ({"args": [1, "x", "y" * 70_000], "kwargs": {}}, "more than the"),
        ({"args": [1, "x", {"$type": "what"}], "kwargs": {}}, "not readable"),
        ({"args": ["[redacted]", "[redacted]"], "kwargs": {}}, "stands for what the job has in this place"),
        ('{"args": [1, "\\ud800"], "kwargs": {}}', "lone surrogate"),
        ('{"args": [1, NaN], "kwargs": {}}', "not readable"),
        ("", "this is no JSON"),
        ("</textarea><img src=x onerror=alert(1)>", "this is no JSON"),
    ],
)
def test_arguments_that_no_job_can_have_are_refused(
    boss: Client, engine: Engine, paid: Job, value: Any, said: str
) -> None:
    answer = send(boss, paid, value, reason="because")
    assert answer.status_code == 422
    assert said in text_of(answer)
    page = answer.content.decode()
    assert "<img" not in page
    assert 'value="because"' in page
    assert [found.id for found in submitted()] == [paid.id]


def test_a_job_with_a_twin_is_refused(boss: Client, engine: Engine) -> None:
    old = submitted_by(None, jobs.once, 1)
    run_jobs()
    submitted_by(None, jobs.once, 2)
    answer = send(boss, old, {"args": [2], "kwargs": {}})
    assert answer.status_code == 422
    assert "holds the unique key" in text_of(answer)
    assert payload(new_one(send(boss, old, {"args": [3], "kwargs": {}})))["args"] == [3]


def test_only_jobs_that_are_over_and_were_calls_can_be_edited(boss: Client, engine: Engine) -> None:
    running, queued = started(engine), put(engine)
    request = put(engine, status=JobStatus.FAILED, completed_at=1, headers={":method": ["POST"]})
    unknown = put(engine, status=JobStatus.FAILED, completed_at=1, name="gone.away")
    garbled = put(engine, status=JobStatus.FAILED, completed_at=1, payload="no call")
    internal = put(engine, status=JobStatus.FAILED, completed_at=1, name="asyncjobs.webhook")
    for one in (running, queued, request, unknown, garbled, internal):
        assert address(one, "edit/") not in boss.get(address(one)).content.decode()
        for answer in (boss.get(address(one, "edit/")), send(boss, one, {"args": [], "kwargs": {}})):
            assert answer["Location"] == address(one)


def test_a_job_that_is_not_there_cannot_be_edited(boss: Client) -> None:
    assert boss.get(address(str(uuid4()), "edit/"), follow=True).status_code == 404
