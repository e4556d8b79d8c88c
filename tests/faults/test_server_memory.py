"""A server at its memory limit takes no new jobs, lets finished work be recorded, and goes on when there is room."""

from typing import cast

import pytest
import redis

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import StoreOutOfMemory
from asyncjobs.stores.base import Change
from asyncjobs.stores.redis import RedisStore
from tests.scene import BOOM, LEASE, Scene, ids

pytestmark = pytest.mark.faults
ROOM = 512 * 1024
PAYLOAD = '"' + "x" * 10_000 + '"'


@pytest.fixture
def running(scene: Scene) -> list[Job]:
    """Jobs that were started while there was room, on a server that has none left."""
    running = [scene.started(queue="running", payload=PAYLOAD) for _ in range(10)]
    client = client_of(scene)
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) + ROOM)
    fill_up(scene)
    return running


def client_of(scene: Scene) -> redis.Redis:
    return cast(RedisStore, scene.store).client


def fill_up(scene: Scene) -> None:
    with pytest.raises(StoreOutOfMemory):
        for _ in range(200):
            scene.add(payload=PAYLOAD)


def test_a_new_job_is_refused_and_leaves_nothing_behind(scene: Scene, running: list[Job]) -> None:
    before = client_of(scene).dbsize()
    jobs = [scene.job(queue="new", unique_key="k", payload=PAYLOAD, tags=("red",)) for _ in range(3)]
    with pytest.raises(StoreOutOfMemory):
        scene.store.add(jobs)
    assert scene.store.get(ids(jobs)) == [None] * 3
    assert scene.counted("new") == {}
    assert client_of(scene).dbsize() == before


def test_finished_jobs_are_recorded(scene: Scene, running: list[Job]) -> None:
    now = scene.clock()
    done = [transitions.complete(job, PAYLOAD, now=now) for job in running[:5]]
    failed = [transitions.fail(job, BOOM, delay=None, now=now) for job in running[5:8]]
    back = [transitions.release(job, now=now) for job in running[8:]]
    new = done + failed + back
    assert scene.store.swap([Change(*pair) for pair in zip(running, new, strict=True)]) == [True] * 10
    assert scene.store.get(ids(running)) == new


def test_workers_go_on(scene: Scene, running: list[Job]) -> None:
    assert scene.store.beat("w1", {job.id: job.version for job in running}, lease=LEASE).lost == []
    [claimed] = scene.claim()
    done = transitions.complete(claimed, "1", now=scene.clock())
    written, more = scene.store.exchange([Change(claimed, done)], ["default"], worker="w1", limit=5, lease=LEASE)
    assert written == [True]
    assert len(more) == 5
    assert scene.counted()[JobStatus.IN_PROGRESS] == 5


def test_jobs_are_taken_again_when_there_is_room(scene: Scene, running: list[Job]) -> None:
    while claimed := scene.claim(limit=50):
        changes = [Change(job, transitions.complete(job, None, now=scene.clock())) for job in claimed]
        assert all(scene.store.swap(changes))
    while scene.store.prune({JobStatus.COMPLETED: 2**52}, limit=100):
        continue
    job = scene.add(queue="new", payload=PAYLOAD)
    assert scene.claim("new") == [scene.stored(job)]
