"""`faults`, and pages by fault: what is broken, how often, since when; of the jobs that are dead now."""

from dataclasses import replace
from typing import Any

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.faults import fault_of
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidQuery
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import DAY_MS, FAULT_DAYS, MAX_FAULTS, Change, Fault, Query, Store
from tests.backends import Backend
from tests.scene import BOOM, Scene, ids
from tests.threads import in_threads

OTHER = replace(BOOM, message="it broke otherwise")
MIDNIGHT = 20_000 * DAY_MS


def failed(scene: Scene, error: Any = BOOM, **fields: Any) -> Job:
    return scene.settle(transitions.fail, scene.started(**fields), error, delay=None)


def fault(job: Job) -> str:
    assert job.fault is not None
    return job.fault


def test_a_store_without_dead_jobs_has_no_faults(scene: Scene) -> None:
    scene.completed()
    scene.canceled()
    scene.settle(transitions.fail, scene.started(), BOOM, delay=5)
    assert scene.store.faults(MAX_FAULTS) == []


def test_jobs_that_failed_alike_are_one_fault(scene: Scene) -> None:
    first = failed(scene, replace(BOOM, message="order 1 is gone"), queue="a")
    scene.clock.advance(5)
    last = failed(scene, replace(BOOM, message="order 2 is gone"), queue="b")
    [known] = scene.store.faults(10)
    assert known == Fault(
        fault=fault(first),
        count=2,
        first_at=first.score,
        last_at=last.score,
        days=(0,) * (FAULT_DAYS - 1) + (2,),
        newest=last.id,
    )


def test_the_fault_that_struck_last_comes_first(scene: Scene) -> None:
    for error in (BOOM, OTHER, BOOM):
        last = failed(scene, error)
        scene.clock.advance(1)
    assert [(known.fault, known.count) for known in scene.store.faults(10)] == [
        (fault(last), 2),
        (fault_of(last.name, OTHER), 1),
    ]
    assert [known.newest for known in scene.store.faults(1)] == [last.id]


def test_every_way_to_die_has_a_fault(scene: Scene) -> None:
    scene.settle(transitions.rescue, scene.started(), max_lapses=1)
    scene.settle(transitions.crash, scene.started(), max_crashes=1)
    failed(scene)
    assert [known.count for known in scene.store.faults(10)] == [1, 1, 1]


def test_days_are_those_on_which_the_jobs_failed(scene: Scene) -> None:
    scene.clock.advance(MIDNIGHT - scene.clock() - 1)
    for jobs in (1, 2, 0, 3):
        for _ in range(jobs):
            failed(scene)
        scene.clock.advance(DAY_MS)
    assert scene.store.faults(1)[0].days == (0, 0, 1, 2, 0, 3, 0)
    scene.clock.advance(1)
    scene.store.prune({}, limit=1)
    assert scene.store.faults(1)[0].days == (0, 1, 2, 0, 3, 0, 0)
    scene.clock.advance(5 * DAY_MS)
    scene.store.prune({}, limit=1)
    assert (scene.store.faults(1)[0].days, scene.store.faults(1)[0].count) == ((0,) * 7, 6)


def test_a_fault_of_long_ago_is_counted_down_when_its_jobs_are_retried(scene: Scene) -> None:
    jobs = [failed(scene) for _ in range(3)]
    scene.clock.advance(30 * DAY_MS)
    scene.store.prune({}, limit=1)
    scene.settle(transitions.retry, jobs[0])
    scene.store.prune({}, limit=1)
    assert [known.count for known in scene.store.faults(10)] == [2]
    scene.store.delete(jobs[1:])
    scene.store.prune({}, limit=1)
    assert scene.store.faults(10) == []


def test_a_job_that_is_retried_has_no_fault(scene: Scene) -> None:
    first, last = failed(scene), failed(scene)
    scene.settle(transitions.retry, last)
    assert [(known.count, known.newest) for known in scene.store.faults(10)] == [(1, first.id)]
    scene.settle(transitions.retry, first)
    assert scene.store.faults(10) == []
    assert scene.found(fault=fault(first)) == []


def test_a_retried_job_may_die_of_something_else(scene: Scene) -> None:
    scene.settle(transitions.retry, failed(scene))
    [again] = scene.claim()
    dead = scene.settle(transitions.fail, again, OTHER, delay=None)
    assert [(known.fault, known.newest) for known in scene.store.faults(10)] == [(dead.fault, dead.id)]


def test_deleted_and_pruned_jobs_are_counted_no_more(scene: Scene) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(failed(scene))
        scene.clock.advance(1)
    assert scene.store.prune({JobStatus.FAILED: jobs[1].score}, limit=5) == 1
    [known] = scene.store.faults(10)
    assert (known.count, known.first_at) == (2, jobs[1].score)
    scene.store.delete([jobs[2]])
    [known] = scene.store.faults(10)
    assert (known.count, known.last_at, known.newest) == (1, jobs[1].score, jobs[1].id)
    scene.store.delete([jobs[1]])
    assert scene.store.faults(10) == []


def test_a_dead_job_counts_but_while_it_rests_in_the_trash(scene: Scene) -> None:
    job = failed(scene)
    [before] = scene.store.faults(MAX_FAULTS)
    assert scene.store.delete([job], rest_until=scene.clock() + DAY_MS) == [True]
    assert scene.store.faults(MAX_FAULTS) == []
    assert scene.found(fault=fault(job)) == []
    scene.store.restore([job.id])
    assert scene.store.faults(MAX_FAULTS) == [before]
    assert [found.id for found in scene.found(fault=fault(job))] == [job.id]


def test_a_job_that_is_dead_when_it_is_added_counts(scene: Scene) -> None:
    dead = failed(scene)
    scene.store.delete([dead])
    assert scene.store.faults(10) == []
    scene.put(dead)
    assert [known.newest for known in scene.store.faults(10)] == [dead.id]
    assert scene.found(fault=fault(dead)) == [dead]


def test_a_change_written_twice_counts_once(scene: Scene) -> None:
    started = scene.started()
    change = Change(started, transitions.fail(started, BOOM, delay=None, now=scene.clock()))
    assert [scene.store.swap([change]), scene.store.swap([change])] == [[True], [True]]
    assert [known.count for known in scene.store.faults(10)] == [1]


def test_a_batch_of_deaths_of_several_faults_is_counted_whole(scene: Scene) -> None:
    started = scene.started_many(130)
    dead = [
        transitions.fail(job, BOOM if place % 3 else OTHER, delay=None, now=scene.clock())
        for place, job in enumerate(started)
    ]
    scene.store.swap([Change(*pair) for pair in zip(started, dead, strict=True)])
    assert sorted(known.count for known in scene.store.faults(10)) == [44, 86]
    back = [transitions.retry(job, now=scene.clock()) for job in dead[:100]]
    assert all(scene.store.swap([Change(*pair) for pair in zip(dead, back, strict=False)]))
    assert sorted(known.count for known in scene.store.faults(10)) == [10, 20]


def test_more_faults_than_one_round_trip_holds(scene: Scene) -> None:
    started = transitions.start(scene.job(), worker="w1", until=0, now=scene.clock())
    kinds = [replace(BOOM, type=f"errors.E{number}") for number in range(230)]
    dead = [
        transitions.fail(started.replace(id=job_id), kind, delay=None, now=scene.clock.advance(1))
        for job_id, kind in zip(new_ids(len(kinds)), kinds, strict=True)
    ]
    scene.store.add(dead)
    assert [known.newest for known in scene.store.faults(MAX_FAULTS)] == ids(reversed(dead))
    assert [known.newest for known in scene.store.faults(120)] == ids(dead)[:-121:-1]


def test_a_fault_finds_its_jobs_in_the_order_in_which_they_died(scene: Scene) -> None:
    jobs = []
    for place in range(7):
        jobs.append(failed(scene, queue="a" if place % 2 else "b", name="n", owner="ada" if place < 2 else None))
        failed(scene, OTHER, name="n")
        scene.clock.advance(1)
    wanted = fault(jobs[0])
    assert scene.found(fault=wanted, limit=2) == jobs[::-1]
    assert scene.found(fault=wanted, limit=3, oldest_first=True) == jobs
    assert scene.found(fault=wanted, status=JobStatus.FAILED, limit=2) == jobs[::-1]
    assert scene.found(fault=wanted, queue="a") == jobs[1::2][::-1]
    assert scene.found(fault=wanted, owner="ada") == jobs[1::-1]
    assert scene.found(fault=wanted, created_from=jobs[3].created_at) == jobs[:2:-1]
    assert scene.found(fault=wanted, name="other") == []


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.CANCELED])
def test_no_job_that_lives_has_a_fault(scene: Scene, status: JobStatus) -> None:
    dead = failed(scene)
    scene.in_status(status)
    assert scene.found(fault=dead.fault, status=status) == []


def test_a_page_goes_on_either_way_from_a_job(scene: Scene) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(failed(scene))
        scene.clock.advance(1)
    cursor = scene.store.find(Query(fault=jobs[0].fault)).cursors[1]
    assert scene.store.find(Query(fault=jobs[0].fault, after=cursor)).jobs == jobs[:1]
    assert scene.store.find(Query(fault=jobs[0].fault, after=cursor, oldest_first=True)).jobs == jobs[2:]


def test_an_unknown_fault_finds_nothing(scene: Scene) -> None:
    failed(scene)
    for unknown in ("0123456789abcdef", "", "*", "x" * 5_000):
        assert scene.found(fault=unknown) == []


@pytest.mark.parametrize("limit", [0, -1, MAX_FAULTS + 1])
def test_a_number_of_faults_that_is_none_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(InvalidQuery):
        store.faults(limit)


def test_deaths_retries_and_deletions_at_once_leave_the_right_number(backend: Backend, live_store: Store) -> None:
    """Three threads, each with jobs of its own, all of one fault."""

    def work() -> None:
        scene = Scene(backend.open(), live_store.now)
        for _ in range(5):
            scene.store.add([scene.job() for _ in range(4)])
            started, now = scene.claim(limit=4), scene.clock()
            dead = [transitions.fail(job, BOOM, delay=None, now=now) for job in started]
            scene.store.swap([Change(*pair) for pair in zip(started, dead, strict=True)])
            scene.store.delete(dead[:1])
            scene.store.swap([Change(job, transitions.retry(job, now=now)) for job in dead[1:2]])

    in_threads(*[work] * 3)
    left = live_store.find(Query(status=JobStatus.FAILED, limit=100)).jobs
    assert [known.count for known in live_store.faults(10)] == [len(left)]
