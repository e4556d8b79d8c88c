"""Jobs go back to where they were: each to its own place, and an end they had before is not counted again."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.domain.past import Past
from asyncjobs.stores.base import Change
from tests.scene import Scene, ids


def undo(scene: Scene, *changes: Change) -> list[Job]:
    """What is stored after these changes were written, and taken back in one call."""
    assert scene.store.swap(changes) == [True] * len(changes)
    now = scene.clock.advance(5)
    back = [Change(new, transitions.undo(new, Past.of(old, new), now=now)) for old, new, _ in changes]
    assert scene.store.swap(back) == [True] * len(changes)
    return [scene.stored(change.new) for change in back]


def canceled(scene: Scene, job: Job) -> Change:
    return Change(job, transitions.cancel(job, now=scene.clock()))


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED])
def test_jobs_that_are_back_stand_where_they_stood(scene: Scene, status: JobStatus) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(scene.in_status(status))
        scene.clock.advance(10)
    order = ids(scene.found(status=status))
    undone = undo(scene, *(canceled(scene, job) for job in jobs))
    assert [job.replace(version=1, updated_at=0) for job in undone] == [job.replace(updated_at=0) for job in jobs]
    assert ids(scene.found(status=status)) == order
    assert scene.counted() == {status: 3}


def test_an_end_that_a_job_had_before_is_not_counted_again(scene: Scene) -> None:
    failed = scene.failed()
    scene.clock.advance(10)
    before = scene.store.series(5), scene.store.faults(10)
    [undone] = undo(scene, Change(failed, transitions.retry(failed, now=scene.clock(), hold=700)))
    assert (undone.status, undone.completed_at) == (JobStatus.FAILED, failed.completed_at)
    assert (scene.store.series(5), scene.store.faults(10)) == before
    assert scene.counted() == {JobStatus.FAILED: 1}


def test_a_job_that_is_back_holds_its_unique_key_again(scene: Scene) -> None:
    job = scene.add(unique_key="k")
    undo(scene, canceled(scene, job))
    assert ids(scene.store.add([scene.job(unique_key="k")])) == [job.id]
