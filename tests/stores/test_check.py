"""`check`: a healthy store has no findings, whatever is in it and whatever goes on beside."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.stores.base import Change, Pause, Store
from tests.backends import Backend
from tests.scene import LEASE, Scene
from tests.threads import in_threads


@pytest.mark.parametrize("fix", [False, True])
def test_an_empty_store_is_healthy(store: Store, fix: bool) -> None:  # noqa: FBT001 - pytest's
    assert store.check(fix=fix) == []


@pytest.mark.parametrize("fix", [False, True])
def test_jobs_of_every_sort_are_healthy(scene: Scene, fix: bool) -> None:  # noqa: FBT001 - pytest's
    scene.started(unique_key="pending", unique_while="pending", owner="zoë", tags=("red",))
    scene.completed(unique_key="ttl", unique_while="ttl", unique_until=scene.clock() + 5)
    scene.store.pause(Pause(queue="other", since=scene.clock()))
    scene.clock.advance(10)
    scene.one_of_each()
    assert scene.store.check(fix=fix) == []


def test_healing_a_healthy_store_changes_nothing(scene: Scene) -> None:
    jobs = scene.one_of_each()
    assert scene.store.check(fix=True) == []
    assert scene.store.get([job.id for job in jobs.values()]) == list(jobs.values())
    assert scene.counted() == dict.fromkeys(jobs, 1)


def test_more_jobs_than_one_round_trip_holds_are_healthy(scene: Scene) -> None:
    scene.started_many(120)
    scene.store.add([scene.job(tags=("red",), unique_key=f"k{place}") for place in range(250)])
    assert scene.store.check() == []


def test_a_check_beside_running_work_finds_nothing(backend: Backend, live_store: Store) -> None:
    """Jobs move from place to place all the time the check looks."""
    over = False

    def work() -> None:
        nonlocal over
        scene = Scene(backend.open(), live_store.now)
        try:
            for _ in range(60):
                scene.store.add([scene.job(unique_key=f"k{place}") for place in range(5)])
                started = scene.claim(limit=4)
                done = [Change(job, transitions.complete(job, "1", now=scene.clock())) for job in started]
                scene.store.swap(done)
        finally:
            over = True

    def check() -> None:
        store = backend.open()
        while not over:
            assert store.check() == []

    in_threads(work, check)
    assert live_store.lapsed(1, lease=LEASE) == []
