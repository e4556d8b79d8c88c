"""The verbs of holders and on queues, on every store."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from asyncjobs import Engine, JobStatus
from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import PENDING
from asyncjobs.errors import InvalidJob
from asyncjobs.stores.base import Change, Store
from tests.backends import Backend
from tests.clock import Clock
from tests.scene import LEASE, Scene

UNSTARTED = sorted(PENDING)


@pytest.fixture
def engine(store: Store, backend: Backend) -> Engine:
    return Engine(store, Conf(database=getattr(backend, "alias", "default")))


def test_settle_tells_which_leases_were_lost(engine: Engine, scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    kept, taken = scene.started(), scene.started()
    scene.settle(transitions.release, taken)
    lost = engine.settle([Change(job, transitions.complete(job, "1", now=scene.clock())) for job in (kept, taken)])
    assert [(error.code, error.job_id) for error in lost] == [("LEASE_LOST", taken.id)]
    assert engine.get(kept.id).status == JobStatus.COMPLETED
    assert engine.get(taken.id).status == JobStatus.QUEUED
    assert taken.id in caplog.text
    assert engine.settle([]) == []


def test_release_gives_a_job_back_uncharged(engine: Engine, scene: Scene) -> None:
    job = scene.started()
    assert engine.release([job]) == []
    released = engine.get(job.id)
    assert (released.status, released.attempt, released.retry_count) == (JobStatus.QUEUED, 0, 0)
    scene.clock.advance(1)
    assert [error.job_id for error in engine.release([job])] == [job.id]


def test_release_of_a_job_asked_to_cancel_cancels_it(engine: Engine, scene: Scene) -> None:
    asked = engine.cancel(scene.started().id)
    engine.release([asked])
    assert engine.get(asked.id).status == JobStatus.CANCELED


def test_rescue_takes_jobs_from_the_dead(engine: Engine, scene: Scene, elapse: Callable[[int], None]) -> None:
    job = scene.started()
    assert engine.rescue(lease=LEASE) == []
    elapse(LEASE + 1)
    [rescued] = engine.rescue(lease=LEASE)
    assert (rescued.id, rescued.status, rescued.lapses) == (job.id, JobStatus.QUEUED, 1)
    assert engine.get(job.id) == rescued
    assert engine.rescue(lease=LEASE) == []


def test_a_paused_queue_is_left_alone_until_it_is_resumed(engine: Engine, scene: Scene) -> None:
    scene.add()
    pause = engine.pause("default", reason="maintenance")
    assert (pause.since, pause.until) == (scene.clock(), None)
    assert engine.counts()[0].pause == pause
    assert scene.claim() == []
    assert engine.resume("default")
    assert not engine.resume("default")
    assert len(scene.claim()) == 1


def test_a_pause_may_have_an_end(engine: Engine, scene: Scene, clock: Clock) -> None:
    scene.add()
    assert engine.pause("default", until=timedelta(minutes=1)).until == clock() + 60_000
    assert scene.claim() == []
    clock.advance(60_001)
    assert len(scene.claim()) == 1


def test_pause_and_purge_and_resume_name_one_queue(engine: Engine) -> None:
    for verb in (engine.pause, engine.resume, engine.purge):
        with pytest.raises(InvalidJob):
            verb("*")
    with pytest.raises(InvalidJob):
        engine.pause("default", reason="\x1b[2J")


def test_purge_removes_what_has_not_started(engine: Engine, scene: Scene) -> None:
    kept = [scene.started(), scene.failed(), scene.completed(), scene.canceled(), scene.add(queue="other")]
    gone = [scene.in_status(status) for status in UNSTARTED]
    assert engine.purge("default") == 3
    assert all(map(scene.is_gone, gone))
    assert not any(map(scene.is_gone, kept))


def test_check_finds_nothing_in_a_healthy_store(engine: Engine, scene: Scene) -> None:
    scene.add()
    assert engine.check() == engine.check(fix=True) == []
