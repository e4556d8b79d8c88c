"""Seats for those who wait, how often a job is looked at for them, and where nobody may wait."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from asyncjobs import Engine, Job
from asyncjobs.api.waiting import SLOWEST_S, Seats, Watcher, pause_after
from asyncjobs.conf import Conf
from asyncjobs.stores.memory import MemoryStore
from tests.api import jobs
from tests.api.conftest import ClientOf

pytestmark = pytest.mark.usefixtures("unlimited")


def test_a_user_has_a_quarter_of_the_seats_and_leaves_the_others_to_others() -> None:
    seats = Seats()
    assert [seats.take("ann", 8) is not None for _ in range(3)] == [True, True, False]
    assert [seats.take(user, 8) is not None for user in ("bob", "bob", "cy", "cy", "di", "di")] == [True] * 6
    assert seats.take("ed", 8) is None


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_few_seats_everybody_may_have_one(most: int) -> None:
    seats = Seats()
    assert seats.take("ann", most) is not None
    assert seats.take("ann", most) is None
    assert (seats.take("bob", most) is not None) == (most > 1)


def test_a_seat_that_is_left_twice_is_left_once() -> None:
    seats = Seats()
    first, second = seats.take("ann", 2), seats.take("bob", 2)
    assert first is not None
    assert second is not None
    seats.free(first)
    seats.free(first)
    assert seats.take("cy", 2) is not None
    assert seats.take("di", 2) is None


def test_a_job_is_looked_at_less_often_the_longer_it_stays_as_it_is() -> None:
    assert [pause_after(seconds) for seconds in (0, 1, 2, 5, 10, 600)] == [0.2, 0.2, 0.2, 0.5, 1.0, SLOWEST_S]


class Counting(MemoryStore):
    """Counts what is read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[list[str]] = []

    def get(self, ids: Sequence[str]) -> list[Job | None]:
        self.reads.append(sorted(ids))
        return super().get(ids)


def test_all_who_wait_for_a_job_have_it_read_once() -> None:
    store = Counting()
    watcher = Watcher(Engine(store, Conf()))

    async def ask() -> list[Job | None]:
        return await asyncio.gather(*(watcher.look(job_id, pause=0) for job_id in "aabab"))

    assert asyncio.run(ask()) == [None] * 5
    assert store.reads == [["a", "b"]]


@pytest.mark.parametrize("threads", [True, False])
def test_nobody_waits_in_a_process_with_one_thread(
    client_of: ClientOf,
    ann: User,
    engine: Engine,
    settings: Settings,
    threads: bool,  # noqa: FBT001 - pytest's
) -> None:
    settings.ASYNCJOBS = {"STORE": "memory", "API": {"LONGEST_WAIT": 0.1 if threads else 60}}
    job = jobs.submitted_by(ann, jobs.add, 1)
    start = time.monotonic()
    headers = {"Prefer": "wait=30"}
    environ: dict[str, Any] = {"wsgi.multithread": threads}
    answer = client_of(ann).get(f"/api/jobs/{job.id}/", headers=headers, **environ)
    assert (answer.status_code, answer.json()["done"]) == (200, False)
    assert ("Preference-Applied" in answer) == threads
    assert (time.monotonic() - start >= 0.1) == threads
