"""Verbs over all jobs that match."""

from typing import Any
from uuid import uuid4

import pytest

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.bulk import Tally
from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
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


def test_a_job_that_starts_meanwhile_is_not_deleted() -> None:
    store = Outrun()
    new_jobs(store, 3)
    assert Engine(store, Conf()).delete_all(Query()) == Tally(2, 1)
    assert len(store.held("fast")) == 1
