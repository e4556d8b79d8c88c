"""`gone`: of a job that had an owner it stays known for a while that it was there."""

from collections.abc import Callable

import pytest

from asyncjobs.domain.job import TERMINAL, Job, JobStatus
from asyncjobs.stores.base import GONE_MS, Gone
from tests.scene import Scene, ids

FOREVER = 2**52


def delete(scene: Scene, job: Job) -> None:
    assert scene.store.delete([job]) == [True]


def prune(scene: Scene, job: Job) -> None:
    assert scene.store.prune({job.status: FOREVER}, limit=10) == 1


removing = pytest.mark.parametrize("remove", [delete, prune])
Remove = Callable[[Scene, Job], None]


@removing
def test_of_a_removed_job_it_is_known_whose_it_was(scene: Scene, remove: Remove) -> None:
    job = scene.completed(owner="zoë: 7")
    remove(scene, job)
    assert scene.is_gone(job)
    assert scene.store.gone(job.id) == Gone("zoë: 7", scene.clock())


@removing
def test_of_a_job_without_an_owner_nothing_is_left(scene: Scene, remove: Remove) -> None:
    job = scene.completed()
    remove(scene, job)
    assert scene.store.gone(job.id) is None


def test_a_job_that_is_there_is_not_gone(scene: Scene) -> None:
    job = scene.add(owner="ada")
    assert scene.store.gone(job.id) is None
    assert scene.store.gone(scene.job().id) is None


def test_a_job_that_could_not_be_deleted_is_not_gone(scene: Scene) -> None:
    job = scene.add(owner="ada")
    scene.claim()
    assert scene.store.delete([job]) == [False]
    assert scene.store.gone(job.id) is None


def test_what_is_known_of_a_job_is_forgotten_in_the_end(scene: Scene) -> None:
    job = scene.add(owner="ada")
    delete(scene, job)
    scene.clock.advance(GONE_MS - 1)
    assert scene.store.gone(job.id) is not None
    scene.clock.advance(1)
    assert scene.store.gone(job.id) is None


def test_deleting_again_changes_nothing(scene: Scene) -> None:
    job = scene.add(owner="ada")
    delete(scene, job)
    gone = scene.store.gone(job.id)
    scene.clock.advance(5)
    delete(scene, job)
    assert scene.store.gone(job.id) == gone


def test_many_jobs_go_at_once(scene: Scene) -> None:
    jobs = [scene.job(owner=f"owner {number}" if number % 2 else None) for number in range(250)]
    scene.store.add(jobs)
    assert scene.store.delete(jobs) == [True] * len(jobs)
    for job in jobs[:4] + jobs[-4:]:
        assert scene.store.gone(job.id) == (Gone(job.owner, scene.clock()) if job.owner else None)


def test_pruning_leaves_what_is_known_of_jobs_that_went_lately(scene: Scene) -> None:
    job = scene.add(owner="ada")
    delete(scene, job)
    scene.clock.advance(GONE_MS - 1)
    scene.store.prune(dict.fromkeys(TERMINAL, scene.clock()), limit=10)
    assert scene.store.gone(job.id) is not None


def test_a_job_of_every_status_is_known(scene: Scene) -> None:
    jobs = [scene.in_status(status, owner="ada") for status in sorted(JobStatus, reverse=True)]
    assert all(scene.store.delete(jobs))
    assert all(scene.store.gone(job_id) for job_id in ids(jobs))
