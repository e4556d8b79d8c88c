"""How often who may ask: by default, and as the site says."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from asyncjobs import Engine, Query
from tests.api import jobs
from tests.api.wire import ANN, BOB, URL, Answer, Sent, Server

ADD = b'{"name":"tests.api.jobs.add","args":[1]}'


class Asker:
    """Asks until it is refused."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def submit(
        self, user: User = ANN, *, body: bytes = ADD, path: str = URL, headers: Mapping[str, str] | None = None
    ) -> Answer:
        return self._server.send(Sent("POST", path, body=body, user=user, headers=headers or {}))

    def poll(self, user: User = ANN, path: str = URL) -> Answer:
        return self._server.send(Sent("GET", path, query="" if path != URL else "limit=1", user=user))

    def until_refused(self, ask: Any, *, most: int) -> int:
        """How often it was answered before."""
        for count in range(most):
            answer = ask()
            if answer.status == 429:
                assert answer.headers["Content-Type"] == "application/problem+json"
                assert answer.json()["code"] == "throttled"
                assert 1 <= int(answer.headers["Retry-After"]) <= 60
                return count
        return most


@pytest.fixture
def asker(server: Server, engine: Engine) -> Asker:
    return Asker(server)


@pytest.mark.parametrize(
    "given", [None, {}, {"DEFAULT_THROTTLE_RATES": {"user": "1/day"}}, {"DEFAULT_THROTTLE_CLASSES": []}]
)
def test_a_site_that_says_nothing_has_limits(asker: Asker, engine: Engine, settings: Settings, given: Any) -> None:
    if given is not None:
        settings.REST_FRAMEWORK = given
    assert asker.until_refused(asker.submit, most=70) == 60
    assert len(engine.find(Query(limit=100)).jobs) == 60
    assert asker.until_refused(asker.poll, most=610) == 600
    assert asker.submit(BOB).status == 202


def test_changing_and_looking_are_counted_apart(
    asker: Asker, server: Server, engine: Engine, settings: Settings
) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": "2/min", "asyncjobs-poll": "3/min"}}
    job = jobs.submitted_by(ANN, jobs.add, 1)
    assert asker.until_refused(asker.submit, most=5) == 2
    for path in (URL + "batch/", f"{URL}{job.id}/cancel/", f"{URL}{job.id}/retry/"):
        assert asker.submit(path=path).status == 429
    assert server.send(Sent("DELETE", f"{URL}{job.id}/", user=ANN)).status == 429
    assert engine.get(job.id) == job
    for path in (URL, f"{URL}{job.id}/", f"{URL}{job.id}/log/"):
        assert asker.poll(path=path).status == 200
    assert {asker.poll(path=f"{URL}{job.id}/{part}").status for part in ("", "result/", "log/", "events/")} == {429}


@pytest.mark.parametrize("scope", ["asyncjobs-submit", "asyncjobs-poll"])
def test_a_site_may_have_no_limit(asker: Asker, settings: Settings, scope: str) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {scope: None}}
    ask = asker.submit if scope == "asyncjobs-submit" else asker.poll
    assert asker.until_refused(ask, most=650) == 650


def test_what_is_refused_is_counted(asker: Asker, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": "3/min"}}
    assert [asker.submit(body=body).status for body in (b"x", b"{}", ADD, ADD)] == [400, 422, 202, 429]


def test_nothing_that_a_client_says_of_itself_counts_it_anew(asker: Asker, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": "1/min"}}
    asker.submit()
    for name in ("X-Forwarded-For", "X-Real-Ip", "Forwarded", "Cookie", "Idempotency-Key"):
        assert asker.submit(headers={name: "10.0.0.1"}).status == 429
    assert asker.submit(path="//api/jobs/").status in (404, 429)


def test_an_answer_repeated_is_counted(asker: Asker, engine: Engine, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": "2/min"}}
    keyed = {"Idempotency-Key": "one"}
    assert [asker.submit(headers=keyed).status for _ in range(3)] == [202, 202, 429]
    assert len(engine.find(Query()).jobs) == 1
