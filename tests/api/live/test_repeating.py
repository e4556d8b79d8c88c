"""A request that is made again with its key is carried out once, whatever became of the first one."""

import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from uuid import uuid4

import httpx
import pytest

from tests.api.live.served import PASSWORD, PATH, USER, Api, Gate, Served, WebServer, gunicorn
from tests.proxy import Proxy, proxy_to
from tests.workers import until

AT_ONCE = 50


@pytest.fixture
def key() -> str:
    return uuid4().hex


def is_replayed(answer: httpx.Response) -> bool:
    return answer.headers.get("Idempotent-Replayed") == "true"


def test_fifty_requests_with_one_key_at_once_make_one_job(wsgi: Api, asgi: Api, key: str) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(api.submit, "live.add", key=key, a=1) for api in islice(cycle((wsgi, asgi)), AT_ONCE)]
        answers = [future.result() for future in waiting]
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.text for answer in answers}) == 1
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert sum(not is_replayed(answer) for answer in answers) == 1
    assert [job["id"] for job in wsgi.tagged(key)] == [answers[0].json()["id"]]


def test_the_same_key_for_something_else_is_refused(api: Api, key: str) -> None:
    assert api.submit("live.add", key=key, a=1).status_code == 202
    other = api.submit("live.add", key=key, a=2)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")
    assert len(api.tagged(key)) == 1


@pytest.fixture
def proxy(api: Api, served: Served) -> Iterator[Proxy]:
    """Between clients and the server."""
    with proxy_to(httpx.URL(api.site).port or 0) as proxy:
        yield proxy


def test_a_request_whose_answer_was_lost_is_answered_when_it_is_made_again(api: Api, proxy: Proxy, key: str) -> None:
    proxy.lose_reply(key.encode())
    with Api(f"http://127.0.0.1:{proxy.port}") as cut_off, pytest.raises(httpx.TransportError):
        cut_off.submit("live.add", key=key, a=1)
    assert proxy.lost_all
    again = api.submit("live.add", key=key, a=1)
    assert (again.status_code, is_replayed(again)) == (202, True)
    assert [job["id"] for job in api.tagged(key)] == [again.json()["id"]]
    assert api.ended(f"{again.json()['id']}/")["result"] == 1


def test_a_client_that_leaves_without_an_answer_has_it_when_it_comes_again(api: Api, key: str) -> None:
    body = json.dumps({"name": "live.add", "kwargs": {"a": 1}, "tags": [key]}).encode()
    with socket.create_connection(("127.0.0.1", httpx.URL(api.site).port or 0)) as connection:
        connection.sendall(request_with(key, body))
    answers = [api.submit("live.add", key=key, a=1)]  # by whichever of the two requests was faster
    until(lambda: api.tagged(key))
    answers.append(api.submit("live.add", key=key, a=1))
    assert {answer.status_code for answer in answers} == {202}
    assert is_replayed(answers[1])
    assert {answer.json()["id"] for answer in answers} == {job["id"] for job in api.tagged(key)}


def request_with(key: str, body: bytes) -> bytes:
    who = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    head = [
        f"POST {PATH} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Basic {who}",
        "Content-Type: application/json",
        f"Idempotency-Key: {key}",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


@pytest.fixture
def mortal(served: Served) -> WebServer:
    """A server of the site that may be killed."""
    server = gunicorn(served.site, threads=2)
    server.wait_until_it_listens()
    return server


@pytest.mark.faults
@pytest.mark.parametrize(("name", "replayed"), [("live.let_in", [False, True]), ("live.stored", [True, True])])
def test_a_request_whose_server_was_killed_is_carried_out_once(
    served: Served, mortal: WebServer, gate: Gate, key: str, name: str, replayed: list[bool]
) -> None:
    with Api(mortal.url) as api, ThreadPoolExecutor(1) as pool:
        dying = pool.submit(api.submit, name, key=key, gate=str(gate))
        until(lambda: gate.is_reached)
        mortal.kill()
        with pytest.raises(httpx.TransportError):
            dying.result()
    gate.open()
    successor = gunicorn(served.site, port=mortal.port, threads=2)
    successor.wait_until_it_listens()
    with Api(successor.url) as api:
        again = [api.submit(name, key=key, gate=str(gate)) for _ in replayed]
        assert list(map(is_replayed, again)) == replayed
        assert [job["id"] for job in api.tagged(key)] == [again[0].json()["id"]]
        assert api.ended(again[0].headers["Location"])["result"] == str(gate)
    assert successor.stop() == 0
