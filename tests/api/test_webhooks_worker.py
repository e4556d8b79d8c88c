"""Webhooks from end to end: a real worker in a process of its own tells a receiver how a job ended."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from asyncjobs.domain.job import JobStatus
from tests.api.hooks.jobs import with_callback
from tests.api.receiver import Receiver, status
from tests.backends import Backend
from tests.worker import jobs
from tests.worker.conftest import World, open_world
from tests.workers import until


@pytest.fixture(params=["valkey", "sqlite"])
def world(
    request: pytest.FixtureRequest,
    receiver: Receiver,
    backends: Callable[[str], Backend],
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
) -> Iterator[World]:
    """A site whose webhooks go to the receiver."""
    with override_settings(ASYNCJOBS=receiver.settings):
        for world in open_world(request.param, backends, django_db_blocker, tmp_path):
            environment = world.site.environment
            settings = json.loads(environment["WORKER_TEST_SETTINGS"]) | receiver.settings
            environment |= {"WORKER_TEST_SETTINGS": json.dumps(settings), "WORKER_TEST_APPS": "tests.api.hooks"}
            yield world


def test_a_worker_tells_how_jobs_end(world: World, receiver: Receiver) -> None:
    receiver.answers.append(status(500))
    job, delivery = with_callback(jobs.quick, 7, url=receiver.url)
    failed, other = with_callback(jobs.boom, url=receiver.url)
    world.site.start("--processes=1")
    ended = world.ended(job, failed, delivery, other, seconds=20)
    assert [one.status for one in ended[2:]] == [JobStatus.COMPLETED] * 2
    assert len(receiver.received) == 3
    assert all(received.is_signed for received in receiver.received)
    told = {received.told["data"]["id"]: received.told["type"] for received in receiver.received}
    assert told == {job.id: "job.completed", failed.id: "job.failed"}
    world.engine.retry(failed.id)
    until(lambda: len(receiver.received) == 4, seconds=20)
    assert receiver.received[-1].told["data"]["id"] == failed.id
