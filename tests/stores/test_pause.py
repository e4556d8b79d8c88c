"""`pause` and `resume`: a queue's claims stop and go on."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Pause, QueueCounts, Store
from tests.scene import Scene, ids


@pytest.fixture
def pause(scene: Scene) -> Pause:
    """The queue `default`, paused for a minute."""
    pause = Pause(queue="default", since=scene.clock(), reason="deploy", until=scene.clock() + 60_000)
    scene.store.pause(pause)
    return pause


def test_a_paused_queue_gives_no_jobs(scene: Scene, pause: Pause) -> None:
    scene.add()
    assert scene.claim(limit=5) == []


def test_a_paused_queue_takes_jobs(scene: Scene, pause: Pause) -> None:
    job = scene.add()
    assert scene.stored(job) == job


def test_a_running_job_may_end_in_a_paused_queue(scene: Scene) -> None:
    started = scene.started()
    scene.store.pause(Pause(queue="default", since=scene.clock()))
    done = scene.settle(transitions.complete, started, "1")
    assert scene.stored(started) == done


def test_what_falls_due_in_a_paused_queue_waits(scene: Scene, pause: Pause) -> None:
    job = scene.put(scene.delayed(100))
    scene.clock.advance(100)
    assert scene.claim() == []
    assert scene.stored(job).status == JobStatus.SCHEDULED
    scene.store.resume("default")
    assert ids(scene.claim()) == [job.id]


def test_a_resumed_queue_gives_its_jobs(scene: Scene, pause: Pause) -> None:
    job = scene.add()
    assert scene.store.resume("default")
    assert ids(scene.claim()) == [job.id]


def test_a_pause_ends_by_itself(scene: Scene, pause: Pause) -> None:
    job = scene.add()
    scene.clock.advance(59_999)
    assert scene.claim() == []
    scene.clock.advance(1)
    assert ids(scene.claim()) == [job.id]


def test_a_pause_without_an_end_does_not_end(scene: Scene) -> None:
    scene.add()
    scene.store.pause(Pause(queue="default", since=scene.clock()))
    scene.clock.advance(365 * 86_400_000)
    assert scene.claim() == []


def test_there_may_be_nothing_to_resume(store: Store) -> None:
    assert not store.resume("default")


def test_a_queue_is_resumed_once(scene: Scene, pause: Pause) -> None:
    assert [scene.store.resume("default"), scene.store.resume("default")] == [True, False]


def test_a_pause_that_is_over_is_none_to_resume(scene: Scene, pause: Pause) -> None:
    scene.clock.advance(60_000)
    assert not scene.store.resume("default")


def test_a_second_pause_replaces_the_first(scene: Scene, pause: Pause) -> None:
    longer = Pause(queue="default", since=scene.clock(), reason="längere Störung")
    scene.store.pause(longer)
    scene.clock.advance(60_000)
    assert scene.store.counts() == [QueueCounts(queue="default", by_status={}, pause=longer)]


def test_a_pause_stops_its_queue_alone(scene: Scene, pause: Pause) -> None:
    job = scene.add(queue="other")
    assert not scene.store.resume("other")
    assert ids(scene.claim("default", "other", limit=5)) == [job.id]
