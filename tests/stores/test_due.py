"""`due`: how many delayed jobs fall due when."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.errors import InvalidQuery
from asyncjobs.stores.base import LARGEST_TIME, MAX_DUE, MAX_EDGES, Pause, Store
from tests.scene import BOOM, Scene


def test_a_job_falls_due_in_the_span_that_begins_at_its_time(scene: Scene) -> None:
    now = scene.clock()
    for ms in (-5, 0, 9, 10, 30):
        scene.put(scene.delayed(ms))
    edges = [0, now, now + 10, now + 10, now + 20, now + 30]
    assert scene.store.due(edges) == [1, 2, 0, 1, 0]
    assert scene.store.due(edges[1::2]) == [2, 1]


def test_jobs_that_do_not_wait_for_their_time_do_not_fall_due(scene: Scene) -> None:
    delayed = scene.one_of_each()[JobStatus.SCHEDULED]
    assert scene.store.due([-LARGEST_TIME, delayed.score, LARGEST_TIME]) == [0, 1]


def test_a_queue_has_its_own_and_all_have_theirs_together(scene: Scene) -> None:
    edges = [0, scene.clock() + 100]
    assert scene.store.due(edges) == scene.store.due(edges, queue="a") == [0]
    scene.store.add([scene.delayed(5, queue=queue) for queue in ("a", "a", "b")])
    scene.store.pause(Pause(queue="a", since=scene.clock()))
    asked = {queue: scene.store.due(edges, queue=queue) for queue in ("a", "b", "c", "", "*", "x" * 5_000)}
    assert asked == {"a": [2], "b": [1], "c": [0], "": [0], "*": [0], "x" * 5_000: [0]}
    assert scene.store.due(edges) == [3]


def test_a_job_counts_at_its_time_as_long_as_it_waits_for_it(scene: Scene) -> None:
    now, store = scene.clock(), scene.store
    edges = [0, now + 10, now + 20]
    moved, canceled, deleted = (scene.put(scene.delayed(5)) for _ in range(3))
    assert store.due(edges) == [3, 0]
    moved = scene.settle(transitions.reschedule, moved, now + 15)
    assert store.due(edges) == [2, 1]
    scene.settle(transitions.cancel, canceled)
    store.delete([deleted], rest_until=now)
    assert store.due(edges) == [0, 1]
    scene.clock.advance(15)
    assert store.due(edges) == [0, 1]
    [claimed] = scene.claim()
    assert store.due(edges) == [0, 0]
    scene.settle(transitions.fail, claimed, BOOM, delay=3)
    assert store.due(edges) == [0, 1]
    store.restore([deleted.id])
    assert store.due(edges) == [1, 1]


def test_no_span_is_counted_further_than_so_many(scene: Scene) -> None:
    """Neither that of a queue nor that of all, whatever the queues have of it."""
    now, store = scene.clock(), scene.store
    edges, less, most = [now, now + 10, now + 20], [MAX_DUE - 1, 0], [MAX_DUE, 0]
    store.add([scene.delayed(5, queue="a") for _ in range(MAX_DUE - 1)])
    assert [store.due(edges, queue="a"), store.due(edges)] == [less, less]
    store.add([scene.delayed(5, queue="b") for _ in range(2)])
    assert [store.due(edges, queue="a"), store.due(edges)] == [less, most]
    store.add([scene.delayed(5, queue="a") for _ in range(2)])
    assert [store.due(edges, queue="a"), store.due(edges)] == [most, most]


def test_many_queues_and_many_spans_are_counted(scene: Scene) -> None:
    now = scene.clock()
    scene.store.add([scene.delayed(number, queue=f"q{number}") for number in range(MAX_EDGES - 1)])
    assert scene.store.due(range(now, now + MAX_EDGES)) == [1] * (MAX_EDGES - 1)


@pytest.mark.parametrize("edges", [[], [1], range(MAX_EDGES + 1), [2, 1], [0, LARGEST_TIME + 1]], ids=str)
def test_spans_that_are_none_are_refused(store: Store, edges: list[int]) -> None:
    with pytest.raises(InvalidQuery):
        store.due(edges)


@pytest.mark.parametrize("queue", ["a\x00", "\ud800"], ids=ascii)
def test_a_queue_that_cannot_be_is_refused(store: Store, queue: str) -> None:
    with pytest.raises(InvalidQuery):
        store.due([0, 1], queue=queue)
