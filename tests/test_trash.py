"""The engine's trash: what is deleted by hand can be restored for a while, and nothing else goes there."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.conf import Conf
from asyncjobs.errors import InvalidJobId, JobNotFound
from asyncjobs.reading import DAY_MS
from asyncjobs.stores.base import Entry, Resting
from asyncjobs.stores.memory import MemoryStore
from tests.clock import Clock
from tests.scene import Scene, ids

NOTE = Entry("action", 5, "by zoë")


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene(MemoryStore(clock=clock), clock)


@pytest.fixture
def engine(scene: Scene) -> Engine:
    return Engine(scene.store, Conf())


def resting(engine: Engine) -> list[str]:
    return [rest.job.id for rest in engine.trash().resting]


def notes(scene: Scene, job_id: str) -> list[str]:
    return [entry.text for entry in scene.store.journal(job_id, "action")]


def test_a_deleted_job_rests_for_a_day(engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    engine.delete(job.id)
    assert engine.rests(job.id.upper()) == Resting(job, scene.clock(), scene.clock() + DAY_MS)
    assert engine.trash().resting == [engine.rests(job.id)]


def test_a_restored_job_is_there_again(engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    engine.delete(job.id, note=NOTE)
    restored = engine.restore("{" + job.id + "}", note=NOTE._replace(text="by ada"))
    assert restored == engine.get(job.id) == job.replace(version=job.version + 1)
    assert notes(scene, job.id) == ["by zoë", "by ada"]
    assert engine.retry(job.id).status == JobStatus.QUEUED


def test_restoring_twice_is_no_error_and_noted_once(engine: Engine, scene: Scene) -> None:
    job = scene.add()
    engine.delete(job.id)
    assert engine.restore(job.id, note=NOTE) == engine.restore(job.id, note=NOTE)
    assert notes(scene, job.id) == ["by zoë"]


def test_what_is_not_in_the_trash_cannot_be_restored(engine: Engine) -> None:
    with pytest.raises(JobNotFound, match="and none in the trash"):
        engine.restore(str(uuid4()))
    for verb in (engine.restore, engine.rests):
        with pytest.raises(InvalidJobId):
            verb("7")


def test_all_that_is_deleted_at_once_rests(engine: Engine, scene: Scene) -> None:
    jobs = [scene.add() for _ in range(3)]
    running = scene.claim()
    assert engine.delete_all(Query(), note=NOTE) == (2, 0)
    assert sorted(resting(engine)) == sorted(set(ids(jobs)) - set(ids(running)))
    assert {rest.note and rest.note.text for rest in engine.trash().resting} == {"by zoë"}


def test_what_ran_out_is_pruned(engine: Engine, scene: Scene) -> None:
    job = scene.add()
    engine.delete(job.id)
    scene.clock.advance(DAY_MS)
    assert engine.prune() == 1
    assert resting(engine) == []


def test_finishing_jobs_empties_the_trash(engine: Engine, scene: Scene) -> None:
    engine.delete(scene.add().id)
    scene.clock.advance(DAY_MS)
    engine.cancel(scene.add().id)
    assert resting(engine) == []


@pytest.mark.parametrize(
    "remove",
    [
        lambda engine: engine.delete_all(Query()).done,
        lambda engine: [engine.delete(job.id) for job in engine.find(Query()).jobs],
    ],
    ids=["all", "one"],
)
def test_a_trash_of_no_time_keeps_nothing(scene: Scene, remove: Callable[[Engine], object]) -> None:
    engine = Engine(scene.store, Conf(trash=0))
    job = scene.add()
    assert remove(engine)
    assert (scene.is_gone(job), resting(engine)) == (True, [])


def test_purge_and_retention_remove_for_good(engine: Engine, scene: Scene) -> None:
    scene.completed()
    scene.add()
    assert engine.purge("default") == 1
    scene.clock.advance(8 * DAY_MS)
    assert engine.prune() == 1
    assert resting(engine) == []
