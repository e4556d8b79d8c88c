"""Verbs over all jobs that match."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.bulk import Tally
from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError
from asyncjobs.errors import WrongStatus
from asyncjobs.stores.base import Change, Page, Store
from asyncjobs.stores.memory import MemoryStore
from tests.backends import Backend
from tests.clock import Clock
from tests.scene import BOOM, LEASE, Scene


@pytest.fixture
def engine(store: Store, backend: Backend) -> Engine:
    return Engine(store, Conf(database=getattr(backend, "alias", "default")))


def all_statuses(scene: Scene, **fields: Any) -> dict[JobStatus, Job]:
    last_is_running = [status for status in JobStatus if status != JobStatus.QUEUED] + [JobStatus.QUEUED]
    return {status: scene.in_status(status, **fields) for status in last_is_running}


def statuses(engine: Engine, jobs: dict[JobStatus, Job]) -> dict[JobStatus, JobStatus]:
    """What became of the jobs that were in each status and are not any more."""
    now = {old: engine.get(job.id).status for old, job in jobs.items()}
    return {old: new for old, new in now.items() if new != old}


def test_cancel_all_ends_or_asks_every_unfinished_job(engine: Engine, scene: Scene) -> None:
    jobs, other = all_statuses(scene), scene.add(queue="other")
    assert engine.cancel_all(Query(queue="default"), reason="over") == Tally(4, 0)
    canceled = JobStatus.CANCELED
    assert statuses(engine, jobs) == dict.fromkeys((JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED), canceled)
    assert engine.get(jobs[JobStatus.IN_PROGRESS].id).cancel_requested == scene.clock()
    assert engine.get(other.id).status == JobStatus.QUEUED


def test_retry_all_takes_the_dead_letters(engine: Engine, scene: Scene) -> None:
    jobs = all_statuses(scene)
    assert engine.retry_all(Query()) == Tally(1, 0)
    assert statuses(engine, jobs) == {JobStatus.FAILED: JobStatus.QUEUED}


def test_retry_all_takes_another_status_when_told(engine: Engine, scene: Scene) -> None:
    jobs = all_statuses(scene)
    assert engine.retry_all(Query(status=JobStatus.CANCELED)) == Tally(1, 0)
    assert statuses(engine, jobs) == {JobStatus.CANCELED: JobStatus.QUEUED}


def test_delete_all_leaves_running_jobs_alone(engine: Engine, scene: Scene) -> None:
    jobs = all_statuses(scene)
    assert engine.delete_all(Query()) == Tally(6, 0)
    assert [status for status, job in jobs.items() if not scene.is_gone(job)] == [JobStatus.IN_PROGRESS]


def test_a_status_a_verb_does_not_apply_to_is_refused(engine: Engine, scene: Scene) -> None:
    with pytest.raises(WrongStatus, match="and not COMPLETED"):
        engine.cancel_all(Query(status=JobStatus.COMPLETED))
    with pytest.raises(WrongStatus):
        engine.retry_all(Query(status=JobStatus.QUEUED))
    with pytest.raises(WrongStatus):
        engine.delete_all(Query(status=JobStatus.IN_PROGRESS))


def test_more_than_a_page_is_changed(engine: Engine, scene: Scene) -> None:
    engine.submit_many([scene.job(tags=("old",)) for _ in range(350)] + [scene.job() for _ in range(10)])
    assert engine.cancel_all(Query(tag="old")) == Tally(350, 0)
    assert engine.counts()[0].by_status == {JobStatus.QUEUED: 10, JobStatus.CANCELED: 350}


def test_a_limit_holds_across_statuses(engine: Engine, scene: Scene) -> None:
    engine.submit_many([scene.job() for _ in range(150)] + [scene.delayed(5_000) for _ in range(150)])
    assert engine.cancel_all(Query(), limit=170) == Tally(170, 0)
    assert engine.counts()[0].by_status == {JobStatus.QUEUED: 130, JobStatus.CANCELED: 170}


def test_filters_combine(engine: Engine, scene: Scene) -> None:
    wanted = scene.add(name="a", owner="ada", queue="q", tags=("t",))
    for other in ({"name": "b"}, {"owner": "bob"}, {"queue": "r"}, {"tags": ()}):
        scene.add(**{"name": "a", "owner": "ada", "queue": "q", "tags": ("t",)} | other)
    assert engine.cancel_all(Query(name="a", owner="ada", queue="q", tag="t")) == Tally(1, 0)
    assert engine.get(wanted.id).status == JobStatus.CANCELED


def test_jobs_created_meanwhile_are_not_met(engine: Engine, scene: Scene) -> None:
    scene.add()
    later = scene.add(created_at=scene.clock() + 5)
    assert engine.cancel_all(Query()) == Tally(1, 0)
    assert engine.get(later.id).status == JobStatus.QUEUED


class Busy(MemoryStore):
    """Whenever a page is read, so many times at most, workers beat, and fail what they can get."""

    def __init__(self, times: int) -> None:
        self.time = Clock()
        super().__init__(clock=self.time)
        self.times = times
        self.pages = 0

    def find(self, query: Query) -> Page:
        self.pages += 1
        assert self.pages < 100, "this does not end"
        page = super().find(query)
        self.time.advance(1)
        if self.pages <= self.times:
            self.fail_some(50)
            self.beat("living", {job.id: job.version for job in self.held("living")}, lease=LEASE)
        return page

    def fail_some(self, limit: int) -> None:
        held = self.claim(["default"], worker="failing", limit=limit, lease=LEASE)
        self.swap([Change(job, transitions.fail(job, BOOM, delay=None, now=self.now())) for job in held])


def new_jobs(store: MemoryStore, count: int) -> list[Job]:
    made = [Job(id=str(uuid4()), name="n", created_at=store.now()) for _ in range(count)]
    return [job for start in range(0, count, 1_000) for job in store.add(made[start : start + 1_000])]


def test_a_retry_of_jobs_that_fail_again_at_once_ends() -> None:
    store = Busy(times=100)
    new_jobs(store, 300)
    store.fail_some(300)
    assert Engine(store, Conf()).retry_all(Query()) == Tally(300, 0)


@pytest.mark.parametrize("times", [0, 1, 2])
def test_running_jobs_are_asked_to_stop_while_they_beat(times: int) -> None:
    store = Busy(times)
    new_jobs(store, 1_250)
    running = store.claim(["default"], worker="living", limit=2_000, lease=LEASE)
    assert Engine(store, Conf()).cancel_all(Query()) == Tally(1_250, 0)
    assert all(job and job.cancel_requested for job in store.get([job.id for job in running]))


def test_jobs_that_beat_all_the_time_are_not_followed_for_ever() -> None:
    store = Busy(times=100)
    new_jobs(store, 1_250)
    store.claim(["default"], worker="living", limit=2_000, lease=LEASE)
    assert Engine(store, Conf()).cancel_all(Query()).done >= 1_000


class Outrun(MemoryStore):
    """Somebody claims the first job of every page before it is acted on."""

    def find(self, query: Query) -> Page:
        page = super().find(query)
        if query.status == JobStatus.QUEUED and page.jobs:
            self.claim(["default"], worker="fast", limit=1, lease=LEASE)
        return page


def test_a_job_that_starts_meanwhile_is_asked_to_stop() -> None:
    store = Outrun()
    new_jobs(store, 3)
    assert Engine(store, Conf()).cancel_all(Query(status=JobStatus.QUEUED)) == Tally(3, 0)
    [running] = store.held("fast")
    assert running.cancel_requested is not None


class Elsewhere(MemoryStore):
    """Once a page has been read, somebody else takes its first job through these steps."""

    def __init__(self, *steps: Callable[[Job], Job]) -> None:
        super().__init__()
        self.steps = steps

    def find(self, query: Query) -> Page:
        page = super().find(query)
        for step in self.steps if page.jobs else ():
            [job] = self.get([page.jobs[0].id])
            assert job is not None
            assert self.swap([Change(job, step(job))]) == [True]
        return page


def begin(job: Job) -> Job:
    return transitions.start(job, worker="fast", until=LEASE, now=1)


def end(job: Job) -> Job:
    return transitions.complete(job, "1", now=1)


def again(job: Job) -> Job:
    return transitions.retry(job, now=1)


def dead_letter(store: MemoryStore) -> Job:
    error = JobError(code="X", message="x")
    job = transitions.fail(begin(Job(id=str(uuid4()), name="n")), error, delay=None, now=1)
    return store.add([job])[0]


def test_a_purge_keeps_the_result_of_a_job_that_ran_meanwhile() -> None:
    store = Elsewhere(begin, end)
    [job] = new_jobs(store, 1)
    assert Engine(store, Conf()).purge("default") == 0
    assert [kept.status for kept in store.get([job.id]) if kept] == [JobStatus.COMPLETED]


def test_a_dead_letter_that_is_retried_meanwhile_is_not_deleted() -> None:
    store = Elsewhere(again)
    job = dead_letter(store)
    assert Engine(store, Conf()).delete_all(Query(status=JobStatus.FAILED)) == Tally(0, 1)
    assert [kept.status for kept in store.get([job.id]) if kept] == [JobStatus.QUEUED]


def test_a_dead_letter_that_succeeds_meanwhile_is_not_run_once_more() -> None:
    store = Elsewhere(again, begin, end)
    job = dead_letter(store)
    assert Engine(store, Conf()).retry_all(Query()) == Tally(0, 1)
    assert [kept.status for kept in store.get([job.id]) if kept] == [JobStatus.COMPLETED]


def test_no_job_was_created_before_the_first_moment(engine: Engine, scene: Scene) -> None:
    scene.add()
    assert engine.cancel_all(Query(created_to=0)) == Tally(0, 0)


def test_running_jobs_are_found_behind_many_that_do_not_match(engine: Engine, scene: Scene) -> None:
    for _ in range(3):
        scene.started_many(1_000)
    scene.clock.advance(1)
    wanted = scene.started(name="wanted")
    assert engine.cancel_all(Query(name="wanted")) == Tally(1, 0)
    assert engine.get(wanted.id).cancel_requested == scene.clock()


def test_running_jobs_of_an_owner_are_found_behind_all_that_ended(engine: Engine, scene: Scene) -> None:
    for number in range(3):
        scene.clock.advance(1)
        scene.store.add([scene.job(owner="ada", status=JobStatus.CANCELED, completed_at=1) for _ in range(1_000)])
        if number == 1:
            wanted = scene.started(owner="ada")
    assert engine.cancel_all(Query(owner="ada")) == Tally(1, 0)
    assert engine.get(wanted.id).cancel_requested == scene.clock()


def test_a_job_that_starts_meanwhile_is_not_deleted() -> None:
    store = Outrun()
    new_jobs(store, 3)
    assert Engine(store, Conf()).delete_all(Query()) == Tally(2, 1)
    assert len(store.held("fast")) == 1
