"""Unique keys: who holds one, what its twins get, and when it is let go and taken again."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import DuplicateJob
from tests.scene import BOOM, Scene, ids

PENDING = [JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED]
FINISHED = [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED]


def add_another(scene: Scene, **fields: object) -> tuple[Job, Job]:
    """Another job with the same key, and what the store answered for it."""
    job = scene.job(unique_key="k", **fields)
    [answered] = scene.store.add([job])
    assert scene.is_gone(job) == (answered.id != job.id)
    return job, answered


def is_free(scene: Scene) -> bool:
    job, answered = add_another(scene)
    return answered == job


@pytest.mark.parametrize("unique_while", ["pending", "running"])
@pytest.mark.parametrize("status", PENDING)
def test_a_pending_job_is_answered_in_place_of_its_twin(scene: Scene, status: JobStatus, unique_while: str) -> None:
    first = scene.in_status(status, unique_key="k", unique_while=unique_while)
    assert add_another(scene)[1] == first


def test_a_job_that_has_no_key_has_none_to_let_go(scene: Scene) -> None:
    jobs = [scene.add(), scene.add(unique_while="pending"), scene.add()]
    assert ids(scene.claim(limit=3)) == ids(jobs)


def test_a_twin_is_answered_as_it_is_by_now(scene: Scene) -> None:
    scene.add(unique_key="k")
    [claimed] = scene.claim()
    assert add_another(scene)[1] == claimed


def test_a_twin_may_be_in_another_queue_under_another_name(scene: Scene) -> None:
    first = scene.add(unique_key="k")
    assert add_another(scene, queue="other", name="tests.other")[1] == first


def test_different_keys_do_not_meet(scene: Scene) -> None:
    scene.add(unique_key="k2")
    assert is_free(scene)


def test_jobs_without_a_key_are_not_twins(scene: Scene) -> None:
    scene.add()
    scene.add()
    assert scene.counted() == {JobStatus.QUEUED: 2}


def test_two_jobs_of_one_call_are_twins(scene: Scene) -> None:
    first, second, other = scene.job(unique_key="k"), scene.job(unique_key="k"), scene.job()
    assert scene.store.add([first, second, other]) == [first, first, other]
    assert scene.is_gone(second)


def test_repeating_a_call_with_twins_answers_the_same(scene: Scene) -> None:
    first, second = scene.job(unique_key="k"), scene.job(unique_key="k")
    assert scene.store.add([first, second]) == scene.store.add([first, second]) == [first, first]


def test_refuse_names_the_twin(scene: Scene) -> None:
    first = scene.add(unique_key="k")
    with pytest.raises(DuplicateJob) as refusal:
        scene.store.add([scene.job(unique_key="k")], twins="refuse")
    assert refusal.value.job_id == first.id


def test_refuse_minds_two_jobs_of_one_call(scene: Scene) -> None:
    first, second = scene.job(unique_key="k"), scene.job(unique_key="k")
    with pytest.raises(DuplicateJob):
        scene.store.add([first, second], twins="refuse")
    assert scene.store.get([first.id, second.id]) == [None, None]


def test_refuse_does_not_refuse_a_repeated_add(scene: Scene) -> None:
    first = scene.add(unique_key="k")
    assert scene.store.add([first], twins="refuse") == [first]


def test_refuse_lets_a_first_job_in(scene: Scene) -> None:
    job = scene.job(unique_key="k")
    assert scene.store.add([job], twins="refuse") == [job]


def test_a_claim_lets_go_a_key_held_while_pending(scene: Scene) -> None:
    scene.started(unique_key="k", unique_while="pending")
    assert is_free(scene)


def test_a_claim_keeps_a_key_held_while_running(scene: Scene) -> None:
    scene.started(unique_key="k", unique_while="running")
    assert not is_free(scene)


@pytest.mark.parametrize("unique_while", ["pending", "running"])
@pytest.mark.parametrize("status", FINISHED)
def test_a_finished_job_lets_its_key_go(scene: Scene, status: JobStatus, unique_while: str) -> None:
    scene.in_status(status, unique_key="k", unique_while=unique_while)
    assert is_free(scene)


def test_a_pending_retry_holds_its_key(scene: Scene) -> None:
    started = scene.started(unique_key="k", unique_while="pending")
    waiting = scene.settle(transitions.fail, started, BOOM, delay=1_000)
    assert add_another(scene)[1] == waiting


def test_a_released_job_takes_its_key_again(scene: Scene) -> None:
    released = scene.settle(transitions.release, scene.started(unique_key="k", unique_while="pending"))
    assert add_another(scene)[1] == released


def test_a_key_taken_meanwhile_is_not_taken_back(scene: Scene) -> None:
    started = scene.started(unique_key="k", unique_while="pending")
    second = scene.add(unique_key="k")
    scene.settle(transitions.release, started)
    assert add_another(scene)[1] == second


def test_a_job_retried_by_hand_takes_its_key_again(scene: Scene) -> None:
    retried = scene.settle(transitions.retry, scene.failed(unique_key="k"))
    assert add_another(scene)[1] == retried


def test_a_retry_does_not_take_a_key_from_its_holder(scene: Scene) -> None:
    failed = scene.failed(unique_key="k")
    second = scene.add(unique_key="k")
    scene.settle(transitions.retry, failed)
    assert add_another(scene)[1] == second


def test_the_end_of_a_job_leaves_a_key_that_is_not_its_own(scene: Scene) -> None:
    started = scene.started(unique_key="k", unique_while="pending")
    second = scene.add(unique_key="k")
    scene.settle(transitions.complete, started, None)
    assert add_another(scene)[1] == second


def test_a_stale_swap_does_not_let_a_key_go(scene: Scene) -> None:
    started = scene.started(unique_key="k")
    released = scene.settle(transitions.release, started)
    assert not scene.swap(started, transitions.complete(started, None, now=scene.clock()))
    assert add_another(scene)[1] == released


@pytest.mark.parametrize("status", JobStatus)
def test_a_key_held_for_a_time_is_held_in_every_status(scene: Scene, status: JobStatus) -> None:
    until = scene.clock() + 1_000
    first = scene.in_status(status, unique_key="k", unique_while="ttl", unique_until=until)
    scene.clock.advance(999)
    assert add_another(scene)[1] == first


@pytest.mark.parametrize("status", JobStatus)
def test_a_key_held_for_a_time_is_free_after_it(scene: Scene, status: JobStatus) -> None:
    scene.in_status(status, unique_key="k", unique_while="ttl", unique_until=scene.clock() + 1_000)
    scene.clock.advance(1_000)
    assert is_free(scene)


def test_a_key_that_ran_out_and_was_taken_stays_with_its_new_holder(scene: Scene) -> None:
    first = scene.started(unique_key="k", unique_while="ttl", unique_until=scene.clock() + 1_000)
    scene.clock.advance(1_000)
    second = scene.add(unique_key="k")
    scene.settle(transitions.complete, first, None)
    assert add_another(scene)[1] == second


@pytest.mark.parametrize("unique_while", ["pending", "running", "ttl"])
def test_a_deleted_job_lets_its_key_go(scene: Scene, unique_while: str) -> None:
    job = scene.add(unique_key="k", unique_while=unique_while, unique_until=scene.clock() + 1_000)
    assert scene.store.delete([job]) == [True]
    assert is_free(scene)


def test_deleting_a_job_leaves_a_key_that_is_not_its_own(scene: Scene) -> None:
    started = scene.started(unique_key="k", unique_while="pending")
    second = scene.add(unique_key="k")
    scene.store.delete([started])
    assert add_another(scene)[1] == second


def test_a_pruned_job_lets_its_key_go(scene: Scene) -> None:
    now = scene.clock()
    scene.completed(unique_key="k", unique_while="ttl", unique_until=now + 90_000)
    assert scene.store.prune({JobStatus.COMPLETED: now + 1}, limit=10) == 1
    assert is_free(scene)


def test_a_repeated_add_takes_no_key_from_anybody(scene: Scene) -> None:
    first = scene.add(unique_key="k", unique_while="ttl", unique_until=scene.clock() + 50)
    scene.clock.advance(60)
    again = scene.job(id=first.id, unique_key="k", unique_while="pending")
    assert scene.store.add([again]) == [first]
    scene.clock.advance(-60)
    assert scene.store.add([scene.job(unique_key="k")]) == [first]


def test_of_twins_in_one_call_the_first_is_stored(scene: Scene) -> None:
    other, first, second = (scene.job(queue=q, unique_key=key) for q, key in (("b", "other"), ("a", "k"), ("b", "k")))
    assert scene.store.add([other, first, second]) == [other, first, first]
