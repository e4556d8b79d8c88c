"""`workers`: who was heard from."""

from asyncjobs.stores.base import Store, WorkerRecord
from tests.scene import LEASE, Scene

DAY = 86_400_000


def test_nobody_was_heard_from(store: Store) -> None:
    assert store.workers() == []


def test_a_beat_records_the_worker(scene: Scene) -> None:
    scene.store.beat("w1", {}, lease=LEASE, about='{"host": "köln", "pid": 7}')
    assert scene.store.workers() == [WorkerRecord("w1", scene.clock(), '{"host": "köln", "pid": 7}')]


def test_the_last_beat_counts(scene: Scene) -> None:
    scene.store.beat("w1", {}, lease=LEASE, about="first")
    now = scene.clock.advance(500)
    scene.store.beat("w1", {}, lease=LEASE, about="second")
    assert scene.store.workers() == [WorkerRecord("w1", now, "second")]


def test_workers_come_by_id(scene: Scene) -> None:
    for worker in ("w2", "w3", "w1"):
        scene.store.beat(worker, {}, lease=LEASE)
    assert [record.worker for record in scene.store.workers()] == ["w1", "w2", "w3"]


def test_a_worker_is_remembered_for_a_day(scene: Scene) -> None:
    scene.store.beat("w1", {}, lease=LEASE)
    scene.clock.advance(DAY - 1)
    assert [record.worker for record in scene.store.workers()] == ["w1"]


def test_a_worker_is_forgotten_after_a_day(scene: Scene) -> None:
    scene.store.beat("w1", {}, lease=LEASE)
    scene.clock.advance(DAY)
    assert scene.store.workers() == []


def test_a_claim_is_not_a_beat(scene: Scene) -> None:
    scene.started()
    assert scene.store.workers() == []
