"""What strangers send: refused with a problem, quickly, in bounded memory, and without a trace in the store."""

import gc
import logging
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client
from pytest_django import Settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException

from asyncjobs import Engine, Handler, Query
from asyncjobs.api.problems import KINDS
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.stores.base import MAX_PAGE, Store
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.mutations import EndpointMutations, Mutations
from tests.api.wire import ANN, BOSS, URL, Answer, Sent, Server, serving
from tests.backends import Backend
from tests.promptness import best_of

pytestmark = pytest.mark.usefixtures("unlimited")
SLOWEST_S = 1.0  # of processor time: what else runs on the machine is no matter
MOST_GROWTH = 1024 * 1024  # for what is known of removed jobs, most of all


@pytest.fixture(autouse=True)
def short_waits(settings: Settings) -> None:
    settings.ASYNCJOBS = {"API": {"LONGEST_WAIT": 0.01}}
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # pytest keeps what is logged


@contextmanager
def engine_on(store: Store) -> Iterator[Engine]:
    engine = Engine(store, get_conf())
    before = exchange_engine(engine)
    try:
        yield engine
    finally:
        exchange_engine(before)


def versions(engine: Engine) -> dict[str, int]:
    """Every job there is, and how often it was changed."""
    return {job.id: job.version for job in engine.find(Query(limit=1_000)).jobs}


def is_readable(sent: Sent) -> bool:
    """Whether Django makes a request of it at all. Of one in a charset that is no text encoding, or in a charset and
    with a thousand parameters, it does not, and fails before any view is asked."""
    try:
        WSGIRequest(sent.environ())
    except (ValueError, LookupError, SuspiciousOperation):
        return False
    return True


def judge(sent: Sent, answer: Answer, before: dict[str, int], after: dict[str, int]) -> None:
    """Fails unless it is a good answer to a bad request, or one to a request that is odd and harmless."""
    assert answer.status < 500
    if answer.status >= 400:
        assert before == after
        assert len(answer.body) < 64_000
    if answer.status >= 400 and sent.is_ours and answer.body:
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == answer.status
        assert problem["code"] in KINDS
    if answer.status == 202 and not sent.path.endswith(("/cancel/", "/retry/")):
        body = answer.json()
        claimed = {job["id"] for job in body.get("jobs", [body])}
        assert after.keys() - before.keys() <= claimed <= after.keys()


def remove_all(engine: Engine) -> None:
    """For good: what rests in the trash takes room, too."""
    while found := engine.find(Query(limit=MAX_PAGE)).jobs:
        engine.store.delete(found)


class Siege:
    """Sends what is sent, and judges each answer by what was stored before and after."""

    def __init__(self, engine: Engine, server: Server) -> None:
        self._engine = engine
        self._server = server
        self.targets: list[str] = []
        self.before: dict[str, int] = {}

    def renew(self) -> None:
        """A few jobs in most of the states there are, and no others."""
        remove_all(self._engine)
        asked: list[tuple[Handler[..., Any], Any]] = [
            (jobs.add.using(delay=60), 1),
            (jobs.talk, 1),
            (jobs.echo, {"a": ["x"]}),
            (jobs.echo, "https://example.com/"),
            (jobs.fail, "no"),
        ]
        made = [
            job for handler, value in asked for job in handler.using(owner=str(ANN.pk)).jobs_of([handler.call(value)])
        ]
        self.targets = [job.id for job in self._engine.submit_many(made, on_commit=False)]
        run_jobs(queues=["default"])
        self.before = versions(self._engine)

    def send(self, sent: Sent) -> None:
        start = time.process_time()
        answer = self._server.send(sent)
        took = time.process_time() - start
        after = versions(self._engine)
        judge(sent, answer, self.before, after)
        assert took < SLOWEST_S
        self.before = after


def besiege(engine: Engine, server: Server, *, seed: int, rounds: int, kind: type[Mutations] = Mutations) -> None:
    siege = Siege(engine, server)
    siege.renew()
    mutations = islice(filter(is_readable, kind(seed, lambda: siege.targets)), rounds)
    for number, sent in enumerate(mutations, 1):
        if number % 200 == 0:
            siege.renew()
        try:
            siege.send(sent._replace(user=BOSS if number % 7 == 0 else ANN))
        except BaseException as error:
            error.add_note(f"request {number} of seed {seed}: {sent!r:.2000}")
            raise


def test_nothing_that_is_sent_breaks_the_server(engine: Engine, server: Server) -> None:
    besiege(engine, server, seed=1, rounds=2_000)


@pytest.mark.urls("tests.api.endpoints")
@pytest.mark.parametrize(("seed", "rounds"), [(1, 500), pytest.param(2, 2_000, marks=pytest.mark.slow)])
def test_nothing_that_is_sent_breaks_an_endpoint(
    engine: Engine, server: Server, seed: int, rounds: int, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    besiege(engine, server, seed=seed, rounds=rounds, kind=EndpointMutations)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_nothing_that_is_sent_breaks_any_store(backend: Backend, server: Server, seed: int) -> None:
    with engine_on(backend.open()) as engine:
        besiege(engine, server, seed=seed, rounds=500)


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_refused(engine: Engine, server: Server) -> None:
    def held_after(rounds: int) -> int:
        besiege(engine, server, seed=5, rounds=rounds)
        remove_all(engine)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    def growth() -> int:
        return -held_after(300) + held_after(1_000)

    tracemalloc.start()
    held_after(300)
    grown = best_of(growth, enough=MOST_GROWTH, rounds=3)  # what else the process remembers, it remembers once
    tracemalloc.stop()
    assert grown < MOST_GROWTH


@pytest.mark.parametrize(
    "charset", ["rot13", "undefined", "base64", "utf-16", "latin-1", "punycode", "idna", "x" * 8_000]
)
def test_a_body_in_another_charset_is_refused(engine: Engine, server: Server, charset: str) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}"}
    body = b'{"name":"tests.api.jobs.add","args":[1]}'
    posted = server.send(Sent("POST", URL, headers=headers, body=body, user=ANN))
    assert (posted.status, posted.json()["code"]) == (415, "unsupported-media-type")
    assert server.send(Sent("GET", URL, headers=headers, user=ANN)).status == 200


ODD_CHARSETS = ["hex", "rot13", "base64", "zlib", "undefined", "punycode", "idna", "utf-7", "utf-16", "latin-1"]


@pytest.mark.parametrize("charset", ODD_CHARSETS)
def test_the_charset_of_a_body_does_not_count_for_addresses(engine: Engine, server: Server, charset: str) -> None:
    for number in range(51):
        jobs.submitted_by(ANN, jobs.add, number)
    sent = Sent("GET", URL, headers={"Content-Type": f"application/json; charset={charset}"}, user=ANN)
    following = server.send(sent).json()["next"]
    assert following == server.send(Sent("GET", URL, user=ANN)).json()["next"]
    sent = sent._replace(query="tag=%C3%BC&limit=1")
    if is_readable(sent):
        assert server.send(sent).json()["jobs"] == []


@pytest.mark.parametrize("charset", ["hex", "undefined", "idna", "utf-16"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("url", [URL, "/upload/", "/mirror/"])
@pytest.mark.urls("tests.api.endpoints")
def test_no_form_is_read_in_another_charset(
    engine: Engine, server: Server, boss: User, url: str, kind: str, charset: str
) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n%ff\xff\x00\r\n--x--\r\n'
    client = Client(enforce_csrf_checks=True)  # which looks for its token in forms
    client.force_login(boss)
    assert client.generic("POST", url, body, f"{kind}; charset={charset}").status_code in (403, 415)
    sent = Sent("POST", url, headers={"Content-Type": f"{kind}; charset={charset}"}, body=body, user=ANN)
    assert server.send(sent).status == 415
    assert versions(engine) == {}


LARGE = {
    "texts": (b'{"numbers":[', b'"",', b"0]}"),
    "numbers": (b'{"numbers":[', b"0,", b"0]}"),
    "lists": (b'{"numbers":[', b"[],", b"0]}"),
    "objects": (b'{"numbers":[', b"{},", b"0]}"),
    "floats": (b'{"numbers":[', b"1e1,", b"0]}"),
    "key": (b'{"', b"x", b'":0}'),
    "escapes": (b'{"numbers":"', b"\\u00e9", b'"}'),
    "depth": (b"[", b"[", b"["),
}


def large_job(kind: str, size: int) -> Sent:
    """A batch of one job, with a body of that many bytes."""
    begin, middle, end = LARGE[kind]
    payload = begin + middle * (size // len(middle)) + end
    body = b'{"jobs":[{"name":"tests.api.jobs.total","payload":%s}]}' % payload
    return Sent("POST", URL + "batch/", user=ANN, body=body)


def peak_of(server: Server, sent: Sent) -> int:
    """The most memory that it takes to answer this."""
    tracemalloc.start()
    server.send(sent)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("kind", LARGE)
def test_a_job_in_a_batch_is_no_larger_than_one_alone(engine: Engine, server: Server, kind: str) -> None:
    sent = large_job(kind, 4_000_000)
    start = time.process_time()
    answer = server.send(sent)
    assert time.process_time() - start < SLOWEST_S
    assert answer.status in (400, 413)
    assert len(answer.body) < 1_000
    assert versions(engine) == {}


@pytest.mark.parametrize("kind", LARGE)
def test_what_is_too_large_takes_little_memory(engine: Engine, server: Server, kind: str) -> None:
    peak_of(server, large_job(kind, 0))
    assert peak_of(server, large_job(kind, 1_000_000)) < 25_000_000


def test_a_name_is_not_compared_with_others_for_long(engine: Engine, server: Server) -> None:
    sent = Sent("POST", URL, user=ANN, body=b'{"name":"' + b"x" * 90_000 + b'"}')
    assert peak_of(server, sent) < 10 * len(sent.body)
    answer = server.send(sent)
    assert (answer.status, answer.json()["errors"][0]["code"]) == (422, "unknown")


def test_of_many_things_that_do_not_fit_the_first_are_told(engine: Engine, server: Server) -> None:
    payload = b'{"numbers":[' + b'"",' * 30_000 + b"0]}"
    body = b'{"name":"tests.api.jobs.total","payload":%s}' % payload
    faults = server.send(Sent("POST", URL, user=ANN, body=body)).json()["errors"]
    assert len(faults) == 100
    assert faults[99]["pointer"] == "#/payload/numbers/99"


class Torn(BytesIO):
    """A body of which a part comes, and then nothing."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise ConnectionResetError("the client is gone")


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_body_that_breaks_off_is_no_defect(engine: Engine, server: Server, method: str) -> None:
    sent = Sent(method, URL, user=ANN, headers={"Content-Length": "50"}, stream=Torn())
    assert server.send(sent).status == {"POST": 400, "GET": 200, "DELETE": 405}[method]
    assert versions(engine) == {}


@pytest.mark.parametrize(
    ("url", "kind", "body"),
    [
        (URL, "application/json", b'{"name":"tests.api.jobs.add","args":[1]}'),
        ("/mirror/", "text/plain", b"half of"),
    ],
)
@pytest.mark.urls("tests.api.endpoints")
def test_a_part_of_a_body_is_not_taken_for_all_of_it(
    engine: Engine, server: Server, url: str, kind: str, body: bytes
) -> None:
    """A client that is cut off: servers hand on what came of it."""
    sent = Sent("POST", url, body=body, headers={"Content-Type": kind, "Content-Length": "5000"}, user=ANN)
    answer = server.send(sent)
    assert (answer.status, answer.json()["code"]) == (400, "malformed")
    assert versions(engine) == {}


@pytest.mark.parametrize("host", ["evil.example", "", "a b", "127.0.0.1:x", "[::1", "x" * 300])
def test_a_host_that_is_none_of_the_site_does_nothing(engine: Engine, settings: Settings, host: str) -> None:
    """Without the middleware that looks at it first."""
    settings.MIDDLEWARE = []
    job = jobs.submitted_by(ANN, jobs.add, 1)
    failed = jobs.submitted_by(ANN, jobs.fail)
    run_jobs(limit=2)
    waiting = jobs.submitted_by(ANN, jobs.add, 1)
    before = versions(engine)
    add = b'{"name":"tests.api.jobs.add","args":[1]}'
    for sent in (
        Sent("POST", URL, body=add),
        Sent("POST", URL + "batch/", body=b'{"jobs":[%s]}' % add),
        Sent("GET", URL),
        Sent("GET", f"{URL}{job.id}/"),
        Sent("POST", f"{URL}{waiting.id}/cancel/"),
        Sent("POST", f"{URL}{failed.id}/retry/"),
    ):
        with serving() as server:
            answer = server.send(sent._replace(user=ANN, headers={"Host": host}))
        assert (answer.status, answer.json()["code"]) == (400, "malformed")
    assert versions(engine) == before


class OwnRefusal(APIException):
    """One that only the site knows."""

    status_code = 402
    default_detail = "Pay first."


class OwnFailure(OwnRefusal):
    status_code = 502
    default_detail = "Who you are is not known at 10.0.0.7 right now."


class Refusing(BaseAuthentication):
    def authenticate(self, request: Any) -> Any:
        raise OwnFailure if "X-Fail" in request.headers else OwnRefusal


@pytest.mark.parametrize(
    ("headers", "status", "code"), [({}, 402, "permission-denied"), ({"X-Fail": "1"}, 502, "store-unavailable")]
)
def test_what_a_sites_authentication_raises_is_a_problem(
    server: Server, settings: Settings, headers: dict[str, str], status: int, code: str
) -> None:
    settings.ASYNCJOBS = {"API": {"AUTHENTICATION": ["tests.api.test_attacks.Refusing"]}}
    answer = server.send(Sent("POST", URL, headers=headers))
    assert (answer.status, answer.json()["status"], answer.json()["code"]) == (status, status, code)
    assert b"10.0.0.7" not in answer.body
