"""What goes wrong under the API, in what the site brings as well, is told as a problem."""

import logging
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, ProgrammingError
from django.test import Client
from pytest_django import Settings
from rest_framework import status
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.response import Response

from asyncjobs import Engine
from asyncjobs.api.problems import MEDIA_TYPE, RETRY_SECONDS

URL = "/api/jobs/"


class Maintenance(APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = "Come back tomorrow."


class Locked(APIException):
    status_code = status.HTTP_423_LOCKED
    default_detail = {"messages": ["Your account is locked.", {"until": "monday"}]}


class Failing(BaseAuthentication):
    """The site's own way to know who asks, on a bad day."""

    error: Exception

    def authenticate(self, request: Any) -> None:
        raise self.error

    def authenticate_header(self, request: Any) -> str:
        return "Bearer"


@pytest.fixture
def failing_with(settings: Settings, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answers a request whose authentication raises this."""

    def ask(error: Exception) -> Response:
        monkeypatch.setattr(Failing, "error", error, raising=False)
        settings.ASYNCJOBS = {"STORE": "memory", "API": {"AUTHENTICATION": [f"{__name__}.Failing"]}}
        answer: Any = Client(raise_request_exception=False).get(URL)
        return answer

    return ask


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError])
def test_a_database_that_cannot_say_who_asks_makes_the_api_unavailable(
    failing_with: Any, caplog: pytest.LogCaptureFixture, kind: type[Exception]
) -> None:
    with caplog.at_level(logging.ERROR, "asyncjobs.api"):
        answer = failing_with(kind("the server at 10.0.0.7 closed the connection"))
    assert (answer.status_code, answer["Content-Type"]) == (503, MEDIA_TYPE)
    assert (answer.json()["code"], answer["Retry-After"]) == ("store-unavailable", str(RETRY_SECONDS))
    assert "10.0.0.7" not in answer.content.decode()
    assert "10.0.0.7" in caplog.text


def test_a_defect_of_the_site_stays_one(failing_with: Any) -> None:
    assert failing_with(ProgrammingError("no such column")).status_code == 500


@pytest.mark.parametrize(
    ("error", "expected", "code"),
    [(Maintenance(), 503, "store-unavailable"), (Locked(), 423, "permission-denied")],
)
def test_what_the_sites_own_classes_raise_is_a_problem_with_their_status(
    failing_with: Any, error: APIException, expected: int, code: str
) -> None:
    answer = failing_with(error)
    assert (answer.status_code, answer["Content-Type"]) == (expected, MEDIA_TYPE)
    assert (answer.json()["code"], answer.json()["status"]) == (code, expected)
    assert ("Retry-After" in answer) == (expected == 503)


def test_what_is_said_in_a_dict_is_told_as_a_text(failing_with: Any) -> None:
    assert failing_with(Locked()).json()["detail"] == "Your account is locked. monday"


def test_the_detail_of_a_refused_token_is_a_text(failing_with: Any) -> None:
    answer = failing_with(AuthenticationFailed({"detail": "Token is invalid", "code": "token_not_valid"}))
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert (answer.json()["code"], answer.json()["detail"]) == ("not-authenticated", "Token is invalid")
