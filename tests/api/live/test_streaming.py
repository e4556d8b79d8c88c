"""What happens to a job, as Server-Sent Events from a server with an event loop."""

import json
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from asyncjobs.api.waiting import share_of
from tests.api.live.conftest import LIMITS, OTHER
from tests.api.live.served import PASSWORD, Api, Event, Gate, Served, events_of
from tests.workers import until

MOST = share_of(LIMITS["MOST_STREAMS"])
STEPS = 3


def followed(api: Api, address: str, *, after: str = "") -> Generator[Event]:
    """The events until the stream ends, or the client goes away."""
    headers = {"Last-Event-ID": after} if after else {}
    with api.stream("GET", f"{address}events/", headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        yield from events_of(response)


def lines(events: list[Event]) -> list[str]:
    return [json.loads(event.data)["text"] for event in events if event.kind == "log"]


def statuses(events: list[Event]) -> list[str]:
    return [json.loads(event.data)["status"] for event in events if event.kind == "status"]


def stepping(gate: Gate) -> Callable[[Event], None]:
    """Lets the job take a step when it is known to run, and another whenever one was seen in the log."""
    is_started = False

    def saw(event: Event) -> None:
        nonlocal is_started
        running = event.kind == "status" and json.loads(event.data)["status"] == "in_progress"
        if event.kind == "log" or (running and not is_started):
            is_started = is_started or running
            gate.open()

    return saw


def test_a_stream_tells_of_status_progress_and_log_in_their_order(asgi: Api, gate: Gate) -> None:
    address = asgi.accepted("live.walk", gate=str(gate), steps=STEPS)
    saw = stepping(gate)
    events: list[Event] = []
    for event in followed(asgi, address):
        events.append(event)
        saw(event)
    assert lines(events) == ["step 1", "step 2", "step 3"]
    assert statuses(events)[-2:] == ["in_progress", "completed"]
    assert [json.loads(event.data)["done"] for event in events if event.kind == "progress"][:2] == [1, 2]
    assert events[-1].kind == "status"
    assert len({event.id for event in events}) == len(events)


def test_a_client_that_is_cut_off_after_every_event_misses_none_and_sees_none_twice(asgi: Api, gate: Gate) -> None:
    address = asgi.accepted("live.walk", gate=str(gate), steps=STEPS)
    saw = stepping(gate)
    events: list[Event] = []
    while not events or statuses(events)[-1] != "completed":
        with closing(followed(asgi, address, after=events[-1].id if events else "")) as stream:
            events.append(next(stream))
        saw(events[-1])
    assert lines(events) == ["step 1", "step 2", "step 3"]
    assert len({event.id for event in events}) == len(events)
    over = asgi.get(f"{address}events/", headers={"Last-Event-ID": events[-1].id})
    assert (over.status_code, over.content) == (204, b"")


def test_a_client_that_comes_late_is_told_what_is_left_to_tell(asgi: Api, gate: Gate) -> None:
    gate.open(STEPS)
    address = asgi.accepted("live.walk", gate=str(gate), steps=STEPS)
    asgi.ended(address)
    events = list(followed(asgi, address))
    assert (lines(events), statuses(events)) == (["step 1", "step 2", "step 3"], ["completed"])
    assert list(followed(asgi, address, after=events[1].id)) == events[2:]
    assert list(followed(asgi, address, after="no id of ours")) == events


def test_a_server_without_an_event_loop_says_that_it_streams_nothing(wsgi: Api) -> None:
    answer = wsgi.get(f"{wsgi.accepted('live.add', a=1)}events/")
    assert (answer.status_code, answer.json()["code"]) == (406, "not-acceptable")


def test_a_user_with_too_many_streams_is_told_to_come_back_and_may_when_one_is_over(asgi: Api, gate: Gate) -> None:
    address = asgi.accepted("live.walk", gate=str(gate), steps=1)
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(closing(followed(asgi, address))) for _ in range(MOST)]
        for stream in streams:
            next(stream)
        refused = asgi.get(f"{address}events/")
        assert (refused.status_code, refused.json()["code"]) == (503, "too-busy")
        assert int(refused.headers["Retry-After"]) >= 1
        assert asgi.head(f"{address}events/").headers["Content-Type"].startswith("text/event-stream")  # needs no seat
        with Api(asgi.site, auth=(OTHER, PASSWORD)) as other:
            assert is_let_in(other, other.accepted("live.walk", gate=str(gate), steps=1))
        streams[0].close()
        assert until(lambda: is_let_in(asgi, address), seconds=5)


def is_let_in(api: Api, address: str) -> bool:
    with api.stream("GET", f"{address}events/") as response:
        return response.status_code == 200


@pytest.mark.parametrize("kind", ["valkey"], scope="package")  # the users are in a database, whatever the jobs are in
def test_clients_that_follow_or_wait_hold_no_connection_to_the_database(served: Served, asgi: Api, gate: Gate) -> None:
    pid = served.servers["asgi"].pid
    address = asgi.accepted("live.walk", gate=str(gate), steps=2)
    with ExitStack() as open_streams, ThreadPoolExecutor(1) as pool:
        for _ in range(MOST):
            next(open_streams.enter_context(closing(followed(asgi, address))))
        until(lambda: not connections_of(pid), seconds=5)
        waiting = pool.submit(asgi.get, address, params={"wait": LIMITS["LONGEST_WAIT"]})
        begun = time.monotonic() + LIMITS["LONGEST_WAIT"] / 4
        until(lambda: time.monotonic() > begun and not connections_of(pid), seconds=LIMITS["LONGEST_WAIT"] * 3 / 4)
        assert not waiting.done()
        gate.open(2)
        assert waiting.result().json()["done"]


def connections_of(pid: int) -> list[Path]:
    """The databases that the process has open."""
    files = [Path(f"/proc/{pid}/fd/{name.name}") for name in Path(f"/proc/{pid}/fd").iterdir()]
    return [path for file in files if file.exists() and (path := file.readlink()).suffix == ".sqlite3"]
