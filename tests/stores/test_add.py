"""`add`: stores jobs as they are, all or none, and is safe to repeat."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.domain.retry import exponential
from asyncjobs.errors import DuplicateJob, QueueFull
from asyncjobs.stores.base import MAX_BATCH, Store
from tests.scene import BOOM, Scene, ids

WITH_EVERYTHING = {
    "name": "shop.tasks.größe",
    "queue": "mail",
    "priority": -37,
    "headers": {"Accept": ["application/json", None], "X-Ünï": []},
    "route_params": {"id": 7, "nested": {"list": [1, None, "é"]}, "empty": {}},
    "query_params": [("page", ["2"]), ("q", ["a&b", None])],
    "payload": '{"a": [1, 2.50, []]}',
    "result": "[]",
    "error": BOOM,
    "retry_count": 2,
    "max_retries": 9,
    "timeout_ms": 30_000,
    "soft_timeout_ms": 20_000,
    "retry": exponential(2, cap=60, only=(ValueError,), never=(KeyError,)),
    "unique_key": "order:7",
    "unique_while": "pending",
    "workflow_id": "0f0d2f5e-9d0e-4b0a-8a43-0d2f5e9d0e4b",
    "owner": "zoë",
    "tags": ("red", "größer", "with space"),
}


def plain(job: Job) -> Job:
    """The job with its JSON fields in one form, lists and tuples being the same JSON."""
    return job.replace(
        headers=job.headers and {name: list(values) for name, values in job.headers.items()},
        query_params=job.query_params and [(name, list(values)) for name, values in job.query_params],
    )


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED])
def test_a_job_is_stored_as_it_is(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert scene.stored(job) == job


def test_every_field_is_stored(scene: Scene) -> None:
    job = scene.delayed(5_000, **WITH_EVERYTHING)
    [answered] = scene.store.add([job])
    assert plain(answered) == plain(job)
    assert plain(scene.stored(job)) == plain(job)


def test_jobs_are_answered_in_their_order(scene: Scene) -> None:
    jobs = [scene.job(priority=priority) for priority in (5, -5, 100, 0)]
    assert scene.store.add(jobs) == jobs


def test_no_jobs_are_no_trouble(store: Store) -> None:
    assert store.add([]) == []


def test_a_full_batch_is_stored(scene: Scene) -> None:
    jobs = [scene.job() for _ in range(MAX_BATCH)]
    assert scene.store.add(jobs) == jobs
    assert scene.store.get(ids(jobs)) == jobs
    assert scene.counted() == {JobStatus.QUEUED: MAX_BATCH}


def test_a_repeated_add_stores_nothing_more(scene: Scene) -> None:
    jobs = [scene.job(), scene.delayed(1_000)]
    assert scene.store.add(jobs) == scene.store.add(jobs) == jobs
    assert scene.counted() == {JobStatus.QUEUED: 1, JobStatus.SCHEDULED: 1}


def test_a_repeated_add_answers_the_job_as_it_is_by_now(scene: Scene) -> None:
    job = scene.add()
    [claimed] = scene.claim()
    assert scene.store.add([job]) == [claimed]
    assert scene.stored(job) == claimed


def test_a_repeated_add_leaves_a_finished_job_alone(scene: Scene) -> None:
    job = scene.add()
    done = scene.settle(transitions.complete, *scene.claim(), "1")
    assert scene.store.add([job, scene.job()])[0] == done
    assert ids(scene.claim(limit=5)) != [job.id]


def test_an_id_twice_in_one_call_is_one_job(scene: Scene) -> None:
    job = scene.job()
    assert scene.store.add([job, job]) == [job, job]
    assert scene.counted() == {JobStatus.QUEUED: 1}


def test_stored_and_new_jobs_may_come_together(scene: Scene) -> None:
    old, new = scene.add(), scene.job()
    assert scene.store.add([new, old]) == [new, old]


def test_a_limit_lets_a_queue_fill_up(scene: Scene) -> None:
    jobs = [scene.job(), scene.delayed(1_000), scene.job(status=JobStatus.WAITING)]
    assert scene.store.add(jobs, limits={"default": 3}) == jobs


def test_one_more_than_the_limit_is_refused(scene: Scene) -> None:
    scene.add()
    scene.in_status(JobStatus.SCHEDULED)
    scene.in_status(JobStatus.WAITING)
    job = scene.job()
    with pytest.raises(QueueFull):
        scene.store.add([job], limits={"default": 3})
    assert scene.is_gone(job)


def test_a_full_queue_refuses_the_whole_call(scene: Scene) -> None:
    elsewhere, first, second = scene.job(queue="other"), scene.job(), scene.job()
    with pytest.raises(QueueFull):
        scene.store.add([elsewhere, first, second], limits={"default": 1})
    assert scene.store.get(ids([elsewhere, first, second])) == [None, None, None]
    assert scene.claim("other", "default", limit=5) == []


def test_a_limit_is_for_its_queue_alone(scene: Scene) -> None:
    scene.add(queue="other")
    job = scene.job()
    assert scene.store.add([job, scene.job(queue="other")], limits={"default": 1, "third": 0})[0] == job


def test_started_and_finished_jobs_do_not_fill_a_queue(scene: Scene) -> None:
    scene.completed()
    scene.started()
    job = scene.job()
    assert scene.store.add([job], limits={"default": 1}) == [job]


def test_repeating_an_add_that_filled_the_queue_is_not_refused(scene: Scene) -> None:
    jobs = [scene.job(), scene.job()]
    scene.store.add(jobs, limits={"default": 2})
    assert scene.store.add(jobs, limits={"default": 2}) == jobs


def test_a_twin_does_not_fill_a_queue(scene: Scene) -> None:
    twin = scene.add(unique_key="k")
    assert scene.store.add([scene.job(unique_key="k")], limits={"default": 1}) == [twin]


def test_a_refused_twin_refuses_the_whole_call(scene: Scene) -> None:
    scene.add(unique_key="k")
    other, twin = scene.job(), scene.job(unique_key="k")
    with pytest.raises(DuplicateJob):
        scene.store.add([other, twin], twins="refuse")
    assert scene.store.get([other.id, twin.id]) == [None, None]
