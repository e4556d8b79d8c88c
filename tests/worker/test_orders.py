"""Orders that come by way of the store: to take no more jobs, to take them again, to stop."""

import json
import os
import signal
from collections.abc import Iterable

import pytest

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import WorkerRecord
from tests.worker import jobs
from tests.worker.conftest import World, of_kinds
from tests.workers import until


@pytest.fixture(params=of_kinds("valkey", "sqlite", "postgres"))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def in_state(world: World, state: str, *, count: int = 1) -> list[WorkerRecord]:
    """The records of processes that say so, once there are as many."""

    def look() -> list[WorkerRecord] | None:
        records = [record for record in world.store.workers() if json.loads(record.about)["state"] == state]
        return records if len(records) == count else None

    answer: list[WorkerRecord] = until(look, seconds=20)
    return answer


def order(world: World, records: Iterable[WorkerRecord], word: str) -> None:
    for record in records:
        assert world.store.order(record.worker, word)


def test_a_quiet_worker_finishes_what_runs_takes_no_more_and_takes_it_again_when_told(world: World) -> None:
    worker = world.site.start("--processes=2", "--lease=1")
    running = [jobs.nap.submit(2) for _ in range(2)]
    until(lambda: all(map(world.running, running)))
    order(world, in_state(world, "working", count=2)[:1], "quiet")
    records = in_state(world, "quiet", count=2)
    waiting = jobs.quick.submit()
    assert {job.status for job in world.ended(*running)} == {JobStatus.COMPLETED}
    in_state(world, "quiet", count=2)
    assert world.stored(waiting).status == JobStatus.QUEUED
    order(world, records, "work")
    assert world.ended(waiting)[0].status == JobStatus.COMPLETED
    assert worker.stop() == 0, worker.said()


def test_a_worker_that_is_told_to_stop_lets_what_runs_finish(world: World) -> None:
    worker = world.site.start("--processes=2", "--lease=1")
    job = jobs.nap.submit(1)
    until(lambda: world.running(job))
    order(world, in_state(world, "working", count=2), "stop")
    assert worker.wait() == 0, worker.said()
    assert world.stored(job).status == JobStatus.COMPLETED
    in_state(world, "ended", count=2)


def test_the_child_that_takes_the_place_of_a_quiet_one_is_quiet(world: World) -> None:
    worker = world.site.start("--processes=1", "--lease=1")
    order(world, in_state(world, "working"), "quiet")
    [before] = in_state(world, "quiet")
    os.kill(worker.children()[0], signal.SIGKILL)
    in_state(world, "ended")
    [after] = in_state(world, "quiet")
    assert after.worker != before.worker
