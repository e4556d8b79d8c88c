"""Credentials of a request, and secrets among arguments: never where they have no business to be."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.testing import run_jobs
from tests.api.stored import everything
from tests.api.wire import ANN, BOSS, URL, Answer, Sent, Server
from tests.backends import Backend

pytestmark = [pytest.mark.usefixtures("unlimited"), pytest.mark.urls("tests.api.endpoints")]

CANARY = "canary-4711"
HEADERS = {
    "Authorization": f"Bearer {CANARY}",
    "Proxy-Authorization": f"Basic {CANARY}",
    "Cookie": f"sessionid={CANARY}; csrftoken={CANARY}",
    "X-CSRFToken": CANARY,
    "X-Api-Key": CANARY,
    "Api-Key": CANARY,
    "X-Auth-Token": CANARY,
    "X-Amz-Security-Token": CANARY,
    "X-Session-Id": CANARY,
    "X-Custom-Secret": CANARY,
    "X-Forwarded-For": CANARY,
    "Referer": f"https://example.com/?token={CANARY}",
    "From": CANARY,
}
OTHERS = ("redis7", "postgres", "mariadb")
KINDS = ["memory", "valkey", "sqlite", *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)]
JOBS = {
    "succeeds": {"name": "tests.api.jobs.add", "args": [1], "unique_key": "one", "tags": ["x"]},
    "fails": {"name": "tests.api.jobs.fail", "args": ["no"]},
    "waits": {"name": "tests.api.jobs.add", "args": [1], "delay": 60},
    "is retried": {"name": "tests.api.jobs.flaky", "args": []},
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def engine(backend: Backend, settings: Settings, tmp_path: Path) -> Iterator[Engine]:
    settings.MEDIA_ROOT = tmp_path
    engine = Engine(backend.open(), Conf(database=getattr(backend, "alias", "default")))
    before = exchange_engine(engine)
    yield engine
    exchange_engine(before)


class Client:
    """Keeps all answers it gets."""

    def __init__(self, server: Server, **headers: str) -> None:
        self._server = server
        self._headers = headers
        self.answers: list[Answer] = []

    def send(self, method: str, path: str, body: Any = None, *, user: Any = ANN, **headers: str) -> Answer:
        written = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        once = {"Idempotency-Key": f"{CANARY}-{len(self.answers)}"}
        headers = {**self._headers, **once, **headers}
        answer = self._server.send(Sent(method, path, headers=headers, body=written, user=user))
        self.answers.append(answer)
        return answer

    def told(self) -> str:
        return "\n".join(f"{dict(answer.headers)} {answer.body.decode()}" for answer in self.answers)

    def look_around(self, ids: list[str]) -> None:
        """Asks for all there is to see."""
        for user in (ANN, BOSS):
            for job_id in ids:
                for part in ("", "result/", "log/", "events/"):
                    self.send("GET", f"{URL}{job_id}/{part}", user=user)
            self.send("GET", URL, user=user)
        for part in ("queues/", "workers/", "handlers/", "health/"):
            self.send("GET", URL + part, user=BOSS)


def said(record: logging.LogRecord) -> str:
    """All that a formatter may make a line of; Django's own records have the request, for sites that want it."""
    return str({name: value for name, value in vars(record).items() if name != "request"})


def test_no_credential_is_kept_told_or_logged(
    engine: Engine, backend: Backend, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = Client(server, **HEADERS)
    made = {what: client.send("POST", URL, body).json() for what, body in JOBS.items()}
    client.send("POST", URL, JOBS["succeeds"])
    client.send("POST", URL + "batch/", {"jobs": list(JOBS.values())})
    client.send("POST", "/mirror/", {"a": 1})
    form = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f.txt"\r\n\r\nhello\r\n--x--\r\n'
    client.send("POST", "/upload/", form, **{"Content-Type": "multipart/form-data; boundary=x"})
    client.send("POST", "/outcome/crash/", {})
    assert [answer.status for answer in client.answers] == [202] * len(client.answers)
    run_jobs()
    client.send("POST", f"{URL}{made['fails']['id']}/retry/")
    client.send("POST", f"{URL}{made['waits']['id']}/cancel/", {"reason": "x"})
    client.send("POST", f"{URL}{made['succeeds']['id']}/cancel/")
    run_jobs()
    found = engine.find(Query(limit=100)).jobs
    assert {job.status for job in found} >= {JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED}
    client.look_around([job.id for job in found])
    client.send("POST", URL, {"name": "no"})
    client.send("DELETE", f"{URL}{made['succeeds']['id']}/")
    client.send("PUT", URL, b"\xff")
    kept = everything(backend)
    assert made["fails"]["id"] in kept
    for place in (kept, client.told(), *map(said, caplog.records)):
        assert CANARY not in place


@pytest.mark.parametrize("kind", ["memory"], indirect=True)
def test_a_secret_among_arguments_stays_there(engine: Engine, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = Client(server)
    login = "tests.api.jobs.log_in"
    client.send("POST", URL, {"name": login, "kwargs": {"user": "ann", "password": CANARY}})
    assert client.answers[0].status == 202
    for kwargs in (
        {"user": "ann", "password": CANARY, "color": CANARY},
        {"user": "ann", "password": [CANARY]},
        {"user": "ann", "password": {"password": CANARY}},
        {"user": [CANARY], "password": CANARY},
        {"user": "ann", "password": CANARY, "level": "middle"},
        {"user": "ann", "password": CANARY, "since": CANARY},
        {"user": "ann", "password": CANARY, "port": CANARY},
        {"password": CANARY},
    ):
        client.send("POST", URL, {"name": login, "kwargs": kwargs})
        client.send("POST", URL + "batch/", {"jobs": [{"name": login, "kwargs": kwargs}]})
        client.send("POST", URL, {"name": login, "payload": kwargs})
        client.send("POST", URL, {"name": login, "kwargs": kwargs, "password": CANARY})
    assert {answer.status for answer in client.answers[1:]} == {422}
    client.send("POST", URL, b'{"name": "%s", "kwargs": {"password": "%s"' % (login.encode(), CANARY.encode()))
    run_jobs()
    [job] = engine.find(Query()).jobs
    assert (job.status, CANARY in job.payload) == (JobStatus.FAILED, True)
    assert "[redacted]" in str(job.error)
    client.look_around([job.id])
    client.send("POST", f"{URL}{job.id}/retry/")
    entries = [entry.text for kind in ("log", "attempt", "action") for entry in engine.store.journal(job.id, kind)]
    for place in (client.told(), str(job.error), str(entries), *map(said, caplog.records)):
        assert CANARY not in place
