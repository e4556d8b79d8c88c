"""What a view comes to in a worker is the end of its job."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from pytest_django import Settings
from rest_framework.response import Response
from rest_framework.views import exception_handler

from asyncjobs import Engine, JobStatus
from asyncjobs.domain.job import Job
from asyncjobs.testing import run_jobs
from tests.api.conftest import ClientOf, JsonClient

pytestmark = [pytest.mark.urls("tests.api.endpoints"), pytest.mark.django_db]


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def ended(client: JsonClient, kind: str) -> Job:
    """The job that comes to this, after all its retries."""
    assert client.post(f"/outcome/{kind}/").status_code == 202
    return run_jobs()[-1]


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("moment", "2026-01-02T03:04:05Z"),
        ("uuid", "00000000-0000-0000-0000-000000000005"),
        ("decimal", 1.5),
        ("lazy", "Yes"),
        ("tagged", {"$type": "uuid", "value": [1]}),
        ("no-content", None),
        ("json", {"a": [1, 2]}),
        ("text", "<p>é</p>"),
        ("elsewhere", "http://testserver/reports/7/"),
    ],
)
def test_what_a_view_answers_is_the_result(client: JsonClient, engine: Engine, kind: str, result: Any) -> None:
    assert engine.result(ended(client, kind).id) == result


def test_an_answer_that_is_somewhere_else_leads_there(client: JsonClient) -> None:
    job = ended(client, "elsewhere")
    led = client.get(f"/api/jobs/{job.id}/result/")
    assert (led.status_code, led.headers["Location"]) == (303, "http://testserver/reports/7/")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("not-found", "404 Not Found: No such order."),
        ("http404", "404 Not Found: No such page."),
        ("forbidden", "403 Forbidden: You do not have permission to perform this action."),
        ("invalid", '400 Bad Request: {"name": ["Too odd."]}'),
        ("400", "400 Bad Request: Not like this."),
        ("text-400", "400 Bad Request: no"),
    ],
)
def test_a_view_that_refuses_is_not_asked_again(client: JsonClient, kind: str, message: str) -> None:
    job = ended(client, kind)
    assert (job.status, job.attempt) == (JobStatus.FAILED, 1)
    assert job.error is not None
    assert (job.error.code, job.error.message) == ("ENDPOINT_REFUSED", message)


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("crash", "HANDLER_ERROR", "it broke"),
        ("unavailable", "HANDLER_ERROR", "The bank is closed."),
        ("502", "ENDPOINT_FAILED", "502 Bad Gateway: The bank hung up."),
        ("nothing", "INVALID_RESULT", "the view answered with a NoneType, which is no response"),
        ("file", "INVALID_RESULT", "the view answered with application/octet-stream, which does not survive JSON"),
        ("infinite", "HANDLER_ERROR", "Out of range float values are not JSON compliant"),
    ],
)
def test_a_view_that_fails_is_asked_again(client: JsonClient, kind: str, code: str, message: str) -> None:
    job = ended(client, kind)
    assert (job.status, job.attempt) == (JobStatus.FAILED, 3)
    assert job.error is not None
    assert (job.error.code, job.error.message.removesuffix(": inf")) == (code, message)  # which newer Pythons say


def test_a_view_may_succeed_the_second_time(client: JsonClient, engine: Engine) -> None:
    client.post("/second-time/")
    first, second = run_jobs()
    assert (first.status, second.status) == (JobStatus.SCHEDULED, JobStatus.COMPLETED)
    assert engine.result(second.id) == 2


def closed(error: Exception, context: Any) -> Response | None:
    """An exception handler as sites have them."""
    if isinstance(error, ValueError):
        return Response({"reason": str(error)}, status=409)
    return exception_handler(error, context)


def test_the_exception_handler_of_the_site_says_what_is_refused(client: JsonClient, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {"EXCEPTION_HANDLER": "tests.api.test_endpoint_answers.closed"}
    job = ended(client, "crash")
    assert (job.status, job.attempt) == (JobStatus.FAILED, 1)
    assert job.error is not None
    assert job.error.message == '409 Conflict: {"reason": "it broke"}'


def test_an_atomic_view_that_refuses_has_written_nothing(client: JsonClient) -> None:
    client.post("/all-or-nothing/", {"name": "half"})
    [job] = run_jobs()
    assert job.status == JobStatus.FAILED
    assert not Group.objects.exists()
