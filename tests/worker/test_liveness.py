"""Whether the workers of this machine take jobs, by what they said of themselves."""

import json
import os
import socket
from typing import Any

import pytest

from asyncjobs.conf import get_conf
from asyncjobs.engine import Engine
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.worker.liveness import LONGEST_HUNGER_MS, LONGEST_SILENCE_MS, complaints
from tests.clock import Clock


@pytest.fixture
def engine(clock: Clock) -> Engine:
    return Engine(MemoryStore(clock=clock), get_conf())


def tell(engine: Engine, worker: str = "w", **facts: Any) -> None:
    mine = {"host": socket.gethostname(), "supervisor": os.getpid(), "since": 1.0, "name": "a"}
    about = mine | {"pid": 7, "state": "working", "running": 0, "claimed_ago": 0}
    engine.store.beat(worker, {}, lease=1_000, about=json.dumps({**about, **facts}))


def test_a_worker_that_was_just_heard_of_is_alive(engine: Engine) -> None:
    tell(engine)
    assert complaints(engine, name=None) == []


def test_without_a_worker_nothing_is_alive(engine: Engine) -> None:
    assert complaints(engine, name=None) == ["no worker of this machine has been heard of"]


@pytest.mark.parametrize("facts", [{"host": "elsewhere"}, {"state": "ended"}])
def test_workers_of_other_machines_and_ended_ones_do_not_count(engine: Engine, facts: dict[str, Any]) -> None:
    tell(engine, **facts)
    assert complaints(engine, name=None) != []


@pytest.mark.parametrize("about", ["", "no json", "[]", "7", "null"])
def test_a_record_that_says_nothing_does_not_count(engine: Engine, about: str) -> None:
    engine.store.beat("w", {}, lease=1_000, about=about)
    assert complaints(engine, name=None) == ["no worker of this machine has been heard of"]


def test_a_name_asks_for_one_worker(engine: Engine) -> None:
    tell(engine)
    assert complaints(engine, name="a") == []
    assert complaints(engine, name="b") != []


def test_a_worker_that_fell_silent_is_named(engine: Engine, clock: Clock) -> None:
    tell(engine, running=1)
    clock.advance(LONGEST_SILENCE_MS)
    assert complaints(engine, name=None) == []
    clock.advance(1)
    assert complaints(engine, name=None) == ["process 7 was last heard of 45 s ago"]


def test_a_child_that_is_not_answered_is_named(engine: Engine) -> None:
    tell(engine, claimed_ago=LONGEST_HUNGER_MS)
    assert complaints(engine, name=None) == []
    tell(engine, claimed_ago=LONGEST_HUNGER_MS + 1)
    assert complaints(engine, name=None) == ["process 7 asked for jobs and was not answered for 60 s"]


def test_a_child_that_runs_something_need_not_ask(engine: Engine) -> None:
    tell(engine, claimed_ago=10 * LONGEST_HUNGER_MS, running=1)
    assert complaints(engine, name=None) == []


def test_a_child_that_is_to_be_quiet_need_not_ask(engine: Engine) -> None:
    tell(engine, claimed_ago=10 * LONGEST_HUNGER_MS, state="quiet")
    assert complaints(engine, name=None) == []


def test_one_silent_child_among_many_is_found(engine: Engine, clock: Clock) -> None:
    tell(engine, "w1", pid=1)
    clock.advance(LONGEST_SILENCE_MS + 1)
    tell(engine, "w2", pid=2)
    [complaint] = complaints(engine, name=None)
    assert "process 1 " in complaint


def test_what_was_killed_is_no_reason_to_complain(engine: Engine, clock: Clock) -> None:
    tell(engine, "killed", supervisor=GONE)
    tell(engine, "replaced", since=0.5)
    clock.advance(LONGEST_SILENCE_MS + 1)
    tell(engine, "alive")
    assert complaints(engine, name=None) == []


GONE = 2**22 + 1  # no process has such a number
