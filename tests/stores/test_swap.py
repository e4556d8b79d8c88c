"""`swap`: writes the new only over the old's version, and only what differs."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobError, JobStatus, Progress
from asyncjobs.stores.base import Change, Store
from tests.scene import BOOM, LEASE, Scene, ids


def test_a_change_of_the_stored_version_is_written(scene: Scene) -> None:
    started = scene.started()
    done = transitions.complete(started, '{"a": 1}', now=scene.clock.advance(5))
    assert scene.swap(started, done)
    assert scene.stored(done) == done


def test_no_changes_are_no_trouble(store: Store) -> None:
    assert store.swap([]) == []


def test_a_stale_change_writes_nothing(scene: Scene) -> None:
    started = scene.started()
    released = scene.settle(transitions.release, started)
    assert not scene.swap(started, transitions.complete(started, "1", now=scene.clock()))
    assert scene.stored(started) == released


def test_a_change_of_a_version_yet_to_come_writes_nothing(scene: Scene) -> None:
    job = scene.add()
    ahead = job.replace(version=7)
    assert not scene.swap(ahead, transitions.cancel(ahead, now=scene.clock()))
    assert scene.stored(job) == job


def test_a_job_that_does_not_exist_is_stale(scene: Scene) -> None:
    job = scene.job()
    assert not scene.swap(job, transitions.cancel(job, now=scene.clock()))
    assert scene.is_gone(job)


def test_a_deleted_job_is_not_brought_back(scene: Scene) -> None:
    started = scene.started()
    scene.store.delete([started])
    assert not scene.swap(started, transitions.complete(started, "1", now=scene.clock()))
    assert scene.is_gone(started)


def test_each_change_stands_by_itself(scene: Scene) -> None:
    jobs = [scene.started() for _ in range(3)]
    scene.settle(transitions.release, jobs[1])
    now = scene.clock()
    changes = [Change(job, transitions.complete(job, str(place), now=now)) for place, job in enumerate(jobs)]
    assert scene.store.swap(changes) == [True, False, True]
    assert [scene.stored(job).status.name for job in jobs] == ["COMPLETED", "QUEUED", "COMPLETED"]


def test_a_batch_may_hold_changes_of_every_sort(scene: Scene) -> None:
    done, failed, retried, released = (scene.started() for _ in range(4))
    waiting, canceled = scene.in_status(JobStatus.WAITING), scene.add()
    now = scene.clock.advance(5)
    news = [
        transitions.complete(done, "[]", now=now),
        transitions.fail(failed, BOOM, delay=None, now=now),
        transitions.fail(retried, BOOM, delay=100, now=now),
        transitions.release(released, now=now),
        transitions.ready(waiting, now=now),
        transitions.cancel(canceled, now=now, reason="not needed"),
    ]
    olds = [done, failed, retried, released, waiting, canceled]
    assert scene.store.swap([Change(*pair) for pair in zip(olds, news, strict=True)]) == [True] * 6
    assert scene.store.get(ids(news)) == news


def test_a_large_batch_is_written_in_one_call(scene: Scene) -> None:
    started = scene.started_many(250)
    done = [transitions.complete(job, "1", now=scene.clock()) for job in started]
    assert all(scene.store.swap([Change(*pair) for pair in zip(started, done, strict=True)]))
    assert scene.store.get(ids(done)) == done


def test_a_change_that_is_stored_counts_as_written(scene: Scene) -> None:
    started = scene.started()
    done = scene.settle(transitions.complete, started, "1")
    assert scene.swap(started, done)
    assert scene.stored(started) == done


def test_a_repeated_change_is_counted_once(scene: Scene) -> None:
    started = scene.started()
    done = scene.settle(transitions.complete, started, "1")
    scene.swap(started, done)
    assert [minute.count for minute in scene.store.series(1)] == [1]


def test_a_repeated_change_is_indexed_once(scene: Scene) -> None:
    started = scene.started()
    released = scene.settle(transitions.release, started)
    assert scene.swap(started, released)
    assert ids(scene.claim(limit=5)) == [started.id]


def test_a_repeated_change_is_stale_once_the_job_has_moved_on(scene: Scene) -> None:
    started = scene.started()
    released = scene.settle(transitions.release, started)
    [again] = scene.claim(worker="w2")
    assert not scene.swap(started, released)
    assert scene.stored(started) == again


def test_another_change_to_the_same_version_is_not_the_same_change(scene: Scene) -> None:
    started = scene.started()
    done = scene.settle(transitions.complete, started, "1")
    assert not scene.swap(started, transitions.complete(started, "2", now=scene.clock()))
    assert not scene.swap(started, transitions.fail(started, BOOM, delay=None, now=scene.clock()))
    assert scene.stored(started) == done


def test_two_holders_of_one_version_cannot_both_write(scene: Scene) -> None:
    job = scene.add()
    first, second = transitions.cancel(job, now=scene.clock()), transitions.reschedule(job, 7, now=scene.clock())
    assert scene.store.swap([Change(job, first), Change(job, second)]) == [True, False]
    assert scene.stored(job) == first


def test_a_cancel_requested_meanwhile_survives_a_settle(scene: Scene) -> None:
    started = scene.started()
    now = scene.clock.advance(5)
    scene.settle(transitions.request_cancel, started)
    done = transitions.complete(started, "1", now=scene.clock.advance(5))
    assert scene.swap(started, done)
    assert scene.stored(started) == done.replace(cancel_requested=now)


def test_progress_made_meanwhile_survives_a_cancel_request(scene: Scene) -> None:
    started = scene.started()
    scene.settle(transitions.report, started, Progress(done=3, total=10, message="drei"))
    asked = scene.settle(transitions.request_cancel, started)
    stored = scene.stored(started)
    assert (stored.progress, stored.cancel_requested) == (Progress(done=3, total=10, message="drei"), asked.updated_at)


def test_a_lease_extended_meanwhile_survives_a_note(scene: Scene) -> None:
    started = scene.started()
    now = scene.clock.advance(2_000)
    scene.store.beat("w1", {started.id: started.version}, lease=LEASE)
    scene.settle(transitions.request_cancel, started)
    assert scene.stored(started).claimed_until == now + LEASE


def test_a_note_keeps_the_version(scene: Scene) -> None:
    started = scene.started()
    asked = scene.settle(transitions.request_cancel, started)
    assert scene.stored(started) == asked
    assert asked.version == started.version


def test_a_note_may_be_repeated(scene: Scene) -> None:
    started = scene.started()
    asked = scene.settle(transitions.request_cancel, started)
    assert scene.swap(started, asked)
    assert scene.stored(started) == asked


def test_a_note_is_stored_as_long_as_all_it_changed_is(scene: Scene) -> None:
    started = scene.started()
    noted = scene.settle(transitions.report, started, Progress(done=1))
    scene.clock.advance(60)
    scene.settle(transitions.complete, noted, "1")
    assert scene.swap(started, noted)


def test_a_note_that_changes_nothing_is_stale_once_the_job_has_moved_on(scene: Scene) -> None:
    started = scene.started()
    assert scene.swap(started, started)
    scene.settle(transitions.complete, started, "1")
    assert not scene.swap(started, started)


def test_a_note_on_a_job_that_moved_on_is_stale(scene: Scene) -> None:
    started = scene.started()
    done = scene.settle(transitions.complete, started, "1")
    assert not scene.swap(started, transitions.request_cancel(started, now=scene.clock()))
    assert scene.stored(started) == done


def test_a_field_set_back_to_nothing_is_written(scene: Scene) -> None:
    failed = scene.failed()
    retried = scene.settle(transitions.retry, failed)
    stored = scene.stored(failed)
    assert stored == retried
    assert (stored.worker, stored.started_at, stored.completed_at) == (None, None, None)


def test_what_was_asked_of_the_last_run_is_not_asked_of_the_next(scene: Scene) -> None:
    started = scene.started()
    asked = scene.settle(transitions.request_cancel, started)
    canceled = scene.settle(transitions.cancel, asked, reason="on request")
    retried = scene.settle(transitions.retry, canceled)
    assert scene.stored(started) == retried
    assert retried.cancel_requested is None


@pytest.mark.parametrize("transition", [transitions.cancel, transitions.run_now])
def test_a_job_leaves_the_place_it_was_in(scene: Scene, transition: object) -> None:
    job = scene.put(scene.delayed(1_000))
    moved = scene.settle(transition, job)
    assert scene.found(status=JobStatus.SCHEDULED) == []
    assert scene.found(status=moved.status) == [moved]


def test_an_error_is_stored_to_the_letter(scene: Scene) -> None:
    error = JobError(code="X", message="„schön“\n\x7f", type="a.B", traceback="x" * 20_000)
    failed = scene.settle(transitions.fail, scene.started(), error, delay=None)
    assert scene.stored(failed).error == error


def test_a_change_from_a_jobs_former_life_leaves_it_in_one_place(scene: Scene) -> None:
    """A deleted job that is added again starts at version 1 again, where its old changes would not look for it."""
    first = scene.add()
    canceled = scene.settle(transitions.cancel, first)
    scene.store.delete([canceled])
    scene.put(scene.delayed(1_000, id=first.id))
    status = JobStatus.CANCELED if scene.swap(first, canceled) else JobStatus.SCHEDULED
    assert scene.counted() == {status: 1}
    assert ids(scene.found(status=status)) == [first.id]
    assert scene.store.check() == []
