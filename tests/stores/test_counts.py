"""`counts` and `series`: how many jobs there are, and how many ended when."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import SERIES_MINUTES, Change, Minute, Pause, QueueCounts, Store
from tests.scene import BOOM, LEASE, Scene

MINUTE = 60_000


def minute_of(at: int) -> int:
    return at // MINUTE * MINUTE


def counts_of(scene: Scene, queue: str = "default") -> QueueCounts:
    return next(counts for counts in scene.store.counts() if counts.queue == queue)


def test_an_empty_store_counts_no_queues(store: Store) -> None:
    assert store.counts() == []


@pytest.mark.parametrize("status", JobStatus)
def test_a_job_counts_in_its_status(scene: Scene, status: JobStatus) -> None:
    scene.in_status(status)
    scene.in_status(status)
    assert scene.counted() == {status: 2}


def test_queues_come_by_name(scene: Scene) -> None:
    for queue in ("b", "c", "a"):
        scene.add(queue=queue)
    assert [counts.queue for counts in scene.store.counts()] == ["a", "b", "c"]


def test_a_queue_counts_its_own_jobs(scene: Scene) -> None:
    scene.completed(queue="a")
    scene.add(queue="a")
    scene.add(queue="b")
    assert scene.counted("a") == {JobStatus.QUEUED: 1, JobStatus.COMPLETED: 1}
    assert scene.counted("b") == {JobStatus.QUEUED: 1}


def test_a_job_that_moves_is_counted_where_it_went(scene: Scene) -> None:
    started = scene.started()
    assert scene.counted() == {JobStatus.IN_PROGRESS: 1}
    waiting = scene.settle(transitions.fail, started, BOOM, delay=5)
    assert scene.counted() == {JobStatus.SCHEDULED: 1}
    scene.settle(transitions.cancel, waiting)
    assert scene.counted() == {JobStatus.CANCELED: 1}


def test_a_queue_once_used_stays_when_it_is_empty(scene: Scene) -> None:
    scene.store.delete([scene.add()])
    assert scene.store.counts() == [QueueCounts(queue="default", by_status={})]


def test_the_backlog_is_what_is_not_started(scene: Scene) -> None:
    scene.one_of_each()
    assert counts_of(scene).backlog == 3


def test_the_oldest_ready_job_says_since_when_it_waits(scene: Scene) -> None:
    first = scene.add()
    scene.clock.advance(50)
    second = scene.add(priority=100)
    assert counts_of(scene).oldest_at == first.created_at
    scene.claim(limit=1)
    assert counts_of(scene).oldest_at == first.created_at
    scene.claim(limit=1)
    assert counts_of(scene).oldest_at is None
    assert second.created_at != first.created_at


def test_a_job_that_is_not_ready_is_not_the_oldest(scene: Scene) -> None:
    scene.put(scene.delayed(1_000))
    scene.in_status(JobStatus.WAITING)
    assert counts_of(scene).oldest_at is None


def test_a_released_job_waits_since_its_release(scene: Scene) -> None:
    started = scene.started()
    scene.clock.advance(500)
    released = scene.settle(transitions.release, started)
    assert counts_of(scene).oldest_at == released.ready_at == scene.clock()


def test_a_pause_shows_in_the_counts(scene: Scene) -> None:
    scene.add()
    pause = Pause(queue="default", since=scene.clock(), reason="release läuft", by="7")
    scene.store.pause(pause)
    assert counts_of(scene).pause == pause


def test_a_paused_queue_is_a_queue_though_it_never_had_a_job(scene: Scene) -> None:
    pause = Pause(queue="new", since=scene.clock())
    scene.store.pause(pause)
    assert scene.store.counts() == [QueueCounts(queue="new", by_status={}, pause=pause)]


def test_a_pause_that_is_over_does_not_show(scene: Scene) -> None:
    scene.add()
    scene.store.pause(Pause(queue="default", since=scene.clock(), until=scene.clock() + 100))
    scene.clock.advance(100)
    assert counts_of(scene).pause is None


def test_nothing_ended_yet(scene: Scene) -> None:
    scene.add()
    scene.started(queue="other")
    assert scene.store.series(SERIES_MINUTES) == []


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED])
def test_a_job_that_ends_is_counted_in_its_minute(scene: Scene, status: JobStatus) -> None:
    scene.in_status(status)
    assert scene.store.series(1) == [Minute(minute_of(scene.clock()), "default", status, 1)]


def test_jobs_of_one_minute_queue_and_status_are_counted_together(scene: Scene) -> None:
    for queue in ("a", "b", "a"):
        scene.completed(queue=queue)
    scene.failed(queue="a")
    at = minute_of(scene.clock())
    assert sorted(scene.store.series(1)) == [
        Minute(at, "a", JobStatus.COMPLETED, 2),
        Minute(at, "a", JobStatus.FAILED, 1),
        Minute(at, "b", JobStatus.COMPLETED, 1),
    ]


def test_minutes_come_oldest_first_and_none_is_empty(scene: Scene) -> None:
    starts = []
    for minutes in (1, 3, 1):
        scene.completed()
        starts.append(minute_of(scene.clock()))
        scene.clock.advance(minutes * MINUTE)
    assert [(minute.at, minute.count) for minute in scene.store.series(10)] == [(start, 1) for start in starts]


def test_only_the_minutes_asked_for_are_answered(scene: Scene) -> None:
    scene.completed()
    scene.clock.advance(MINUTE)
    scene.failed()
    assert [minute.status for minute in scene.store.series(1)] == [JobStatus.FAILED]
    assert len(scene.store.series(2)) == 2


def test_figures_are_kept_for_a_day(scene: Scene) -> None:
    scene.completed()
    scene.clock.advance((SERIES_MINUTES - 1) * MINUTE)
    assert len(scene.store.series(SERIES_MINUTES)) == 1
    scene.clock.advance(MINUTE)
    assert scene.store.series(10 * SERIES_MINUTES) == []


def test_a_job_that_goes_back_is_not_counted(scene: Scene) -> None:
    scene.settle(transitions.release, scene.started())
    scene.settle(transitions.fail, *scene.claim(), BOOM, delay=5)
    assert scene.store.series(1) == []


def test_each_end_of_a_retried_job_is_counted(scene: Scene) -> None:
    scene.settle(transitions.retry, scene.failed())
    scene.settle(transitions.complete, *scene.claim(), "1")
    assert sorted((minute.status, minute.count) for minute in scene.store.series(1)) == [
        (JobStatus.COMPLETED, 1),
        (JobStatus.FAILED, 1),
    ]


def test_a_deleted_job_stays_counted_in_its_minute(scene: Scene) -> None:
    scene.store.delete([scene.completed()])
    assert [minute.count for minute in scene.store.series(1)] == [1]


def test_a_large_batch_is_counted_whole(scene: Scene) -> None:
    started = scene.started_many(130)
    done = [transitions.complete(job, "1", now=scene.clock()) for job in started]
    scene.store.exchange(
        [Change(*pair) for pair in zip(started, done, strict=True)], ["default"], worker="w1", limit=1, lease=LEASE
    )
    assert [minute.count for minute in scene.store.series(1)] == [130]
