"""Waiting for a job with one request: in a thread under WSGI, on the event loop under ASGI."""

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime
from typing import Any

import httpx
import pytest

from asyncjobs.api.waiting import share_of
from tests.api.live.conftest import LIMITS
from tests.api.live.served import Api, Gate
from tests.workers import until

LATE_S = 1.0  # after which a client knows of it: half is what is promised, half for a machine that is busy
SEATS = {"wsgi": share_of(LIMITS["MOST_WAITING"]), "asgi": share_of(LIMITS["MOST_STREAMS"])}
LONGEST_S = LIMITS["LONGEST_WAIT"]


def seconds_since_the_end_of(job: dict[str, Any]) -> float:
    """By the clock of the machine, which the store has, too."""
    return time.time() - datetime.fromisoformat(job["completed_at"]).timestamp()


@pytest.mark.parametrize(
    "asking", [{"params": {"wait": LONGEST_S}}, {"headers": {"Prefer": f"respond-async, wait={LONGEST_S}"}}]
)
def test_a_client_that_waits_is_answered_when_the_job_ends(api: Api, gate: Gate, asking: dict[str, Any]) -> None:
    address = api.accepted("live.walk", gate=str(gate), steps=1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(api.get, address, **asking)
        assert not api.get(address).json()["done"]
        gate.open()
        job = waiting.result().json()
        assert seconds_since_the_end_of(job) < LATE_S
    assert (job["done"], job["result"]) == (True, 1)


def test_a_client_is_told_how_long_it_may_wait_as_it_prefers(api: Api) -> None:
    address = api.accepted("live.add", a=1)
    api.ended(address)
    applied = [api.get(address, headers={"Prefer": f"wait={seconds}"}).headers for seconds in (1, 99)]
    assert [headers["Preference-Applied"] for headers in applied] == ["wait=1", f"wait={LONGEST_S}"]
    assert "Preference-Applied" not in api.get(address, params={"wait": 1}).headers


@pytest.mark.parametrize("kind", ["valkey"], scope="package")  # how long is no matter of the store
def test_no_client_waits_longer_than_the_site_lets_it(wsgi: Api, asgi: Api, gate: Gate) -> None:
    address = wsgi.accepted("live.walk", gate=str(gate), steps=1)
    known = {"If-None-Match": until(lambda: is_running(wsgi.get(address))).headers["ETag"]}
    asking = [(api, headers) for api in (wsgi, asgi) for headers in ({}, known)]
    with ThreadPoolExecutor(len(asking)) as pool:
        start = time.monotonic()
        waiting = [pool.submit(api.get, address, params={"wait": 99}, headers=headers) for api, headers in asking]
        answers = [future.result() for future in waiting]
        assert LONGEST_S - 0.1 < time.monotonic() - start < LONGEST_S + LATE_S
    assert [answer.status_code for answer in answers] == [200, 304, 200, 304]
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in answers)


def test_a_client_that_knows_the_job_is_answered_when_it_changes(api: Api, gate: Gate) -> None:
    address = api.accepted("live.walk", gate=str(gate), steps=2)
    known = until(lambda: is_running(api.get(address))).headers["ETag"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(api.get, address, params={"wait": LONGEST_S}, headers={"If-None-Match": known})
        gate.open()
        answer = waiting.result()
    assert (answer.status_code, answer.json()["done"], answer.json()["progress"]["done"]) == (200, False, 1)
    assert answer.headers["ETag"] != known


def is_running(answer: httpx.Response) -> httpx.Response | None:
    return answer if answer.json()["status"] == "in_progress" else None


@pytest.mark.parametrize("sort", SEATS)
def test_more_clients_of_a_user_than_may_wait_are_answered_at_once(
    sort: str, request: pytest.FixtureRequest, gate: Gate
) -> None:
    api: Api = request.getfixturevalue(sort)
    address = api.accepted("live.walk", gate=str(gate), steps=1)
    with ThreadPoolExecutor(SEATS[sort] + 2) as pool:
        clients = {pool.submit(api.get, address, params={"wait": LONGEST_S}) for _ in range(SEATS[sort] + 2)}
        at_once = first(2, clients, within=LONGEST_S / 2)
        gate.open()
        later = [future.result().json()["done"] for future in clients - at_once]
    assert [future.result().json()["done"] for future in at_once] == [False, False]
    assert later == [True] * SEATS[sort]


def first(count: int, futures: set[Future], *, within: float) -> set[Future]:
    """Exactly so many are done, and the others are not."""
    end = time.monotonic() + within
    done: set[Future] = set()
    while len(done) < count:
        new, _ = wait(futures - done, timeout=end - time.monotonic(), return_when=FIRST_COMPLETED)
        assert new, f"{len(done)} are done"
        done |= new
    assert len(done) == count
    return done
