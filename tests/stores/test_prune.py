"""`delete` and `prune`: jobs go, with everything that was known of them."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import TERMINAL, JobStatus
from asyncjobs.stores.base import Store
from tests.scene import Scene, ids

FOREVER = 2**52


@pytest.mark.parametrize("status", JobStatus)
def test_a_deleted_job_is_gone_from_everywhere(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert scene.store.delete([job]) == [True]
    assert scene.is_gone(job)
    assert scene.found() == scene.found(status=status) == scene.store.held("w1") == []
    assert scene.counted() == {}


def test_deleting_again_says_it_is_gone(scene: Scene) -> None:
    job = scene.add()
    assert [scene.store.delete([job]), scene.store.delete([job])] == [[True], [True]]


def test_a_job_that_has_changed_is_not_deleted(scene: Scene) -> None:
    job = scene.add()
    [claimed] = scene.claim()
    assert scene.store.delete([job]) == [False]
    assert scene.stored(job) == claimed


def test_each_job_is_deleted_by_itself(scene: Scene) -> None:
    first, changed, unknown = scene.add(), scene.add(), scene.job()
    scene.settle(transitions.cancel, changed)
    assert scene.store.delete([first, changed, unknown]) == [True, False, True]
    assert not scene.is_gone(changed)


def test_nothing_to_delete(store: Store) -> None:
    assert store.delete([]) == []


def test_a_deleted_job_may_be_added_again(scene: Scene) -> None:
    job = scene.add()
    scene.store.delete([job])
    scene.put(job)
    assert ids(scene.claim(limit=5)) == [job.id]


@pytest.mark.parametrize("status", TERMINAL)
def test_finished_jobs_are_pruned(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert scene.store.prune({status: scene.clock() + 1}, limit=10) == 1
    assert scene.is_gone(job)
    assert scene.found() == []
    assert scene.counted() == {}


@pytest.mark.parametrize("status", TERMINAL)
def test_a_job_completed_at_the_very_time_stays(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert scene.store.prune({status: scene.clock()}, limit=10) == 0
    assert scene.stored(job) == job


def test_each_status_has_its_own_time(scene: Scene) -> None:
    completed, failed, canceled = scene.completed(), scene.failed(), scene.canceled()
    later = scene.clock() + 1
    before = {JobStatus.COMPLETED: later, JobStatus.FAILED: scene.clock()}
    assert scene.store.prune(before, limit=10) == 1
    assert ids(scene.found()) and scene.is_gone(completed)
    assert scene.store.get(ids([failed, canceled])) == [failed, canceled]


def test_unfinished_jobs_are_never_pruned(scene: Scene) -> None:
    jobs = [job for status, job in scene.one_of_each().items() if status not in TERMINAL]
    assert scene.store.prune(dict.fromkeys(JobStatus, FOREVER), limit=10) == len(TERMINAL)
    assert scene.store.get(ids(jobs)) == jobs


def test_no_more_than_the_limit_is_pruned(scene: Scene) -> None:
    for _ in range(5):
        scene.completed()
    before = {JobStatus.COMPLETED: FOREVER}
    assert [scene.store.prune(before, limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_the_limit_holds_for_all_statuses_together(scene: Scene) -> None:
    for _ in range(2):
        scene.completed()
        scene.failed()
        scene.canceled(queue="other")
    assert scene.store.prune(dict.fromkeys(TERMINAL, FOREVER), limit=4) == 4
    assert len(scene.found()) == 2


def test_jobs_of_every_queue_are_pruned(scene: Scene) -> None:
    for queue in ("a", "b", "c"):
        scene.completed(queue=queue)
    assert scene.store.prune({JobStatus.COMPLETED: FOREVER}, limit=10) == 3


def test_many_jobs_are_pruned_in_one_call(scene: Scene) -> None:
    started = scene.started_many(250)
    for job in started:
        scene.settle(transitions.complete, job, "1")
    assert scene.store.prune({JobStatus.COMPLETED: FOREVER}, limit=230) == 230
    assert scene.counted() == {JobStatus.COMPLETED: 20}


def test_a_job_retried_by_hand_is_not_pruned(scene: Scene) -> None:
    retried = scene.settle(transitions.retry, scene.completed())
    assert scene.store.prune({JobStatus.COMPLETED: FOREVER}, limit=10) == 0
    assert scene.stored(retried) == retried


def test_a_pruned_job_cannot_be_retried(scene: Scene) -> None:
    failed = scene.failed()
    scene.store.prune({JobStatus.FAILED: FOREVER}, limit=10)
    assert not scene.swap(failed, transitions.retry(failed, now=scene.clock()))
    assert scene.claim() == []
