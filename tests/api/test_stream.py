"""The seats of those who follow jobs, left however they go; and what they are told."""

import asyncio
import gc
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.http.response import HttpResponseBase

from asyncjobs import Engine, Job
from asyncjobs.api.problems import Problem
from asyncjobs.api.stream import Stream
from asyncjobs.conf import Conf
from asyncjobs.conf_api import ApiConf
from asyncjobs.stores.memory import MemoryStore
from tests.api.wire import serving
from tests.scene import Scene

Follow = Callable[[str], HttpResponseBase]


@pytest.fixture
def follow() -> Iterator[Follow]:
    """Lets a user in where there are two seats."""
    store = MemoryStore()
    engine = Engine(store, Conf(api=ApiConf(most_streams=2)))
    job: Job = Scene(store, store.now).add()

    def response(user: str) -> HttpResponseBase:
        return Stream(engine, job, lambda job_id, part: job_id + part).response(user)

    with serving():
        yield response


def is_let_in(follow: Follow, user: str) -> bool:
    try:
        follow(user).close()
    except Problem as problem:
        assert problem.code == "too-busy"
        return False
    return True


def test_a_seat_is_taken_by_whoever_is_let_in_before_anything_is_read(follow: Follow) -> None:
    first = follow("ann")
    second = follow("bob")
    assert not is_let_in(follow, "cy")
    first.close()
    assert is_let_in(follow, "cy")
    second.close()
    second.close()


def test_a_user_on_a_seat_is_not_let_in_again(follow: Follow) -> None:
    first = follow("ann")
    assert not is_let_in(follow, "ann")
    assert is_let_in(follow, "bob")
    first.close()
    assert is_let_in(follow, "ann")


def test_the_seat_of_a_stream_that_nobody_closed_is_free_again(follow: Follow) -> None:
    follow("ann")
    gc.collect()
    assert is_let_in(follow, "ann")


def test_that_a_running_job_is_to_end_is_told_as_a_status() -> None:
    """Which is no other version of it: neither is progress, of which there is none here."""
    engine = Engine(MemoryStore(), Conf())
    job = Scene(engine.store, engine.store.now).started()

    async def told() -> bytes:
        response: Any = Stream(engine, job, lambda job_id, part: job_id + part).response("ann")
        with closing(response):
            events = aiter(response)
            for _ in ("retry", "status"):
                await anext(events)
            engine.cancel(job.id)
            last: bytes = await anext(events)
            return last

    with serving():
        event = asyncio.run(told()).decode()
    assert "event: status\n" in event
    assert json.loads(event.partition("data: ")[2])["cancel_requested"] is True
