"""A store that is not there: every address says so, and asking again is safe."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.authentication import BaseAuthentication

from asyncjobs import Engine, Query
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.stores.base import Store
from asyncjobs.stores.memory import MemoryStore
from tests.api import jobs
from tests.api.wire import ANN, BOSS, URL, Answer, Sent, Server

pytestmark = pytest.mark.usefixtures("unlimited")
ID = str(uuid4())
ADD = b'{"name":"tests.api.jobs.add","args":[1]}'
REQUESTS = [
    Sent("GET", URL),
    Sent("HEAD", URL),
    Sent("POST", URL, body=ADD),
    Sent("POST", URL, body=ADD, headers={"Idempotency-Key": "one"}),
    Sent("POST", URL, body=b'{"name":"tests.api.jobs.add","args":[1],"queue":"other"}'),
    Sent("POST", URL, body=b'{"name":"tests.api.jobs.once","args":[1]}'),
    Sent("POST", URL, body=b'{"name":"tests.api.jobs.latest","args":[1]}'),
    Sent("POST", URL + "batch/", body=b'{"jobs":[%s]}' % ADD),
    *(Sent("GET", f"{URL}{ID}/{part}") for part in ("", "result/", "log/", "events/")),
    Sent("GET", f"{URL}{ID}/", query="wait=5"),
    *(Sent("POST", f"{URL}{ID}/{part}") for part in ("cancel/", "retry/")),
    Sent("DELETE", f"{URL}{ID}/"),
    *(Sent("GET", URL + part, user=BOSS) for part in ("queues/", "workers/")),
    *(Sent("POST", URL + f"queues/default/{part}/", user=BOSS) for part in ("pause", "resume")),
    Sent("GET", URL + "health/"),
    Sent("POST", "/plain/1/", body=b"{}"),
]


@contextmanager
def engine_on(store: Store, **conf: Any) -> Iterator[Engine]:
    engine = Engine(store, Conf(**conf))
    before = exchange_engine(engine)
    try:
        yield engine
    finally:
        exchange_engine(before)


def assert_unavailable(answer: Answer, method: str = "GET") -> None:
    assert answer.status == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.headers["Content-Type"] == "application/problem+json"
    if method != "HEAD":
        assert answer.json()["code"] == "store-unavailable"
    for secret in (b"hidden", b"127.0.0.1", b"refused", b"redis", b"postgres"):
        assert secret not in answer.body


@pytest.mark.urls("tests.api.endpoints")
@pytest.mark.parametrize("sent", REQUESTS, ids=lambda sent: f"{sent.method} {sent.path.replace(ID, 'ID')}")
def test_every_address_says_that_the_store_is_not_there(dead_store: Store, server: Server, sent: Sent) -> None:
    with engine_on(dead_store):
        assert_unavailable(server.send(sent._replace(user=sent.user or ANN)), sent.method)


def test_the_log_says_why(dead_store: Store, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with engine_on(dead_store):
        server.send(Sent("GET", URL, user=ANN))
    told = [record for record in caplog.records if record.name.startswith("asyncjobs")]
    assert [record.levelno for record in told] == [logging.ERROR]
    assert "refused" in caplog.text
    assert "hidden" not in caplog.text


class FromDeadDatabase(BaseAuthentication):
    """Knows of users from a database that is not there."""

    def authenticate(self, request: Any) -> tuple[Any, None]:
        return User.objects.using("dead").get(), None


@pytest.mark.usefixtures("dead_database")
def test_a_database_of_users_that_is_not_there_is_no_defect(server: Server, settings: Settings) -> None:
    settings.ASYNCJOBS = {"API": {"AUTHENTICATION": ["tests.api.test_unavailable.FromDeadDatabase"]}}
    for method in ("GET", "POST"):
        assert_unavailable(server.send(Sent(method, URL)))


def test_a_full_queue_is_said_to_be_full(server: Server) -> None:
    sent = Sent("POST", URL, user=ANN, body=ADD, headers={"Idempotency-Key": "one"})
    with engine_on(MemoryStore(), queues={"default": 2}) as engine:
        first, second = (jobs.submitted_by(ANN, jobs.add, 1) for _ in range(2))
        for _ in range(2):
            refused = server.send(sent)
            assert (refused.status, refused.json()["code"]) == (429, "queue-full")
            assert int(refused.headers["Retry-After"]) >= 1
        batch = b'{"jobs":[%s,%s]}' % (ADD, ADD)
        engine.delete(first.id)
        assert server.send(Sent("POST", URL + "batch/", user=ANN, body=batch)).status == 429
        assert [job.id for job in engine.find(Query()).jobs] == [second.id]
        accepted = server.send(sent)
        assert (accepted.status, accepted.headers.get("Idempotent-Replayed")) == (202, None)
