"""What Redis need not look at to find jobs."""

import pytest

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Query
from asyncjobs.stores.redis.finder import WINDOW
from tests.scene import Scene, ids


@pytest.fixture(params=["fakeredis", "valkey", "redis7"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("status", [JobStatus.WAITING, JobStatus.QUEUED], ids=["waiting", "queued"])
def test_jobs_of_a_handler_are_found_at_once_whatever_other_queues_hold(scene: Scene, status: JobStatus) -> None:
    rare = scene.put(scene.job(name="tests.rare", queue="rare", status=status))
    scene.clock.advance(1)
    for _ in range(2):
        scene.store.add([scene.job(queue="busy", status=status) for _ in range(WINDOW)])
    assert ids(scene.store.find(Query(name="tests.rare", status=status)).jobs) == [rare.id]


def test_a_few_among_many_are_found_on_one_page(scene: Scene) -> None:
    """Past stretches of several lengths, none of which is looked at twice."""
    jobs = [scene.job(status=JobStatus.WAITING, tags=("vip",) * (number % 100 == 0)) for number in range(WINDOW)]
    scene.store.add(jobs)
    page = scene.store.find(Query(status=JobStatus.WAITING, tag="vip", limit=20))
    assert sorted(ids(page.jobs)) == sorted(ids(jobs[::100]))
