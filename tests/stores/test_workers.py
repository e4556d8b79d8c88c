"""`workers`: who was heard from. `order`: what is ordered of them."""

from asyncjobs.stores.base import Beat, Store, WorkerRecord
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


def test_a_beat_brings_back_what_was_last_ordered_again_and_again(scene: Scene) -> None:
    assert scene.store.beat("w1", {}, lease=LEASE).order == ""
    assert scene.store.order("w1", "quiet")
    assert [scene.store.beat("w1", {}, lease=LEASE).order for _ in range(2)] == ["quiet", "quiet"]
    assert scene.store.order("w1", "work")
    assert scene.store.beat("w1", {}, lease=LEASE).order == "work"


def test_an_order_is_for_one_worker(scene: Scene) -> None:
    for worker in ("w1", "w2"):
        scene.store.beat(worker, {}, lease=LEASE)
    scene.store.order("w1", "stop")
    assert scene.store.beat("w2", {}, lease=LEASE).order == ""
    assert [record.order for record in scene.store.workers()] == ["stop", ""]


def test_a_beat_with_jobs_brings_back_the_order_too(scene: Scene) -> None:
    job = scene.started()
    scene.store.beat("w1", {}, lease=LEASE)
    scene.store.order("w1", "stop")
    assert scene.store.beat("w1", {job.id: job.version}, lease=LEASE) == Beat([], [], "stop")


def test_nothing_is_ordered_of_a_worker_that_nobody_knows(scene: Scene) -> None:
    assert not scene.store.order("w1", "stop")
    assert scene.store.workers() == []
    assert scene.store.beat("w1", {}, lease=LEASE).order == ""


def test_nothing_is_ordered_of_a_worker_that_is_forgotten(scene: Scene) -> None:
    scene.store.beat("w1", {}, lease=LEASE)
    scene.clock.advance(DAY)
    assert not scene.store.order("w1", "stop")


def test_the_same_order_may_be_given_twice(scene: Scene) -> None:
    scene.store.beat("w1", {}, lease=LEASE)
    assert [scene.store.order("w1", "stop") for _ in range(2)] == [True, True]
