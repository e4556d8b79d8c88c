"""The verbs on jobs and queues, on every store."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from asyncjobs import Engine, JobStatus
from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import PENDING, Job, JobError
from asyncjobs.errors import (
    InvalidJob,
    InvalidJobId,
    InvalidTransition,
    JobFailed,
    JobNotFound,
    QueueFull,
    ResultTimeout,
    StoreError,
    WrongStatus,
)
from asyncjobs.stores.base import MAX_BATCH, Change, Entry, Gone, Receipt, Repeated, Store
from asyncjobs.stores.memory import MemoryStore
from tests.backends import Backend
from tests.scene import BOOM, LEASE, Scene

UNSTARTED = sorted(PENDING)
FINISHED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED)


@pytest.fixture
def engine(store: Store, backend: Backend) -> Engine:
    return Engine(store, Conf(database=getattr(backend, "alias", "default"), queues={"small": 2}))


class Interference(MemoryStore):
    """Somebody else changes a job just before it is written, as often as told."""

    def __init__(self, *meddle: Callable[[Job], Job]) -> None:
        super().__init__()
        self.meddle = list(meddle)

    def _meddle(self, job: Job) -> None:
        if self.meddle:
            [stored] = self.get([job.id])
            assert stored is not None
            super().swap([Change(stored, self.meddle.pop(0)(stored))])

    def swap(self, changes: Any) -> list[bool]:
        self._meddle(changes[0].old)
        return super().swap(changes)

    def delete(self, jobs: Any, **rest: Any) -> list[bool]:
        self._meddle(jobs[0])
        return super().delete(jobs, **rest)


def touched(job: Job) -> Job:
    return job.replace(version=job.version + 1)


def started(job: Job) -> Job:
    return transitions.start(job, worker="w", until=job.created_at + LEASE, now=job.created_at)


def test_a_job_is_got_by_its_id_however_that_is_written(engine: Engine, scene: Scene) -> None:
    job = scene.add()
    assert engine.get(job.id) == engine.get(job.id.upper()) == engine.get("{" + job.id + "}") == job


def test_an_unknown_id_is_not_found(engine: Engine) -> None:
    for verb in (engine.get, engine.result, engine.cancel, engine.retry, engine.run_now, engine.delete):
        with pytest.raises(JobNotFound) as caught:
            verb("00000000-0000-4000-8000-000000000000")
        assert caught.value.job_id == "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("bad", ["", "7", "x" * 36, "../../etc", None, 7])
def test_what_is_no_guid_is_no_id(bad: Any) -> None:
    with pytest.raises(InvalidJobId):
        Engine(MemoryStore(), Conf()).get(bad)


def test_submitting_answers_what_is_stored(engine: Engine, scene: Scene) -> None:
    first, twin = scene.job(unique_key="k"), scene.job(unique_key="k")
    assert engine.submit(first) == first
    assert engine.submit(twin) == first
    assert engine.submit_many([]) == []


def test_a_full_queue_takes_no_more(engine: Engine, scene: Scene) -> None:
    engine.submit_many([scene.job(queue="small"), scene.job(queue="small")])
    with pytest.raises(QueueFull):
        engine.submit(scene.job(queue="small"))
    engine.submit_many([scene.job(queue="large") for _ in range(3)])
    assert [(counts.queue, counts.backlog) for counts in engine.counts()] == [("large", 3), ("small", 2)]


def test_of_many_jobs_each_thousand_is_all_or_none(engine: Engine, scene: Scene) -> None:
    jobs = [scene.job(queue="large") for _ in range(1_000)] + [scene.job(queue="small") for _ in range(3)]
    with pytest.raises(QueueFull) as caught:
        engine.submit_many(jobs)
    assert caught.value.__notes__ == ["the first 1000 of 1003 jobs were stored before"]
    assert [(counts.queue, counts.backlog) for counts in engine.counts()] == [("large", 1_000)]


@pytest.mark.parametrize("status", UNSTARTED)
def test_cancel_ends_a_job_that_has_not_started(engine: Engine, scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    canceled = engine.cancel(job.id, reason="not needed")
    assert canceled.status == JobStatus.CANCELED
    assert canceled.error == JobError(code="JOB_CANCELED", message="not needed")
    assert engine.get(job.id) == canceled


def test_cancel_asks_the_holder_of_a_running_job(engine: Engine, scene: Scene) -> None:
    job = scene.started()
    asked = engine.cancel(job.id)
    assert (asked.status, asked.cancel_requested) == (JobStatus.IN_PROGRESS, scene.clock())
    assert engine.store.beat("w1", {job.id: job.version}, lease=LEASE).cancels == [job.id]
    scene.clock.advance(5)
    assert engine.cancel(job.id).cancel_requested == asked.cancel_requested


def test_cancel_can_be_repeated(engine: Engine, scene: Scene) -> None:
    canceled = engine.cancel(scene.add().id)
    assert engine.cancel(canceled.id) == canceled


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED])
def test_what_ended_otherwise_cannot_be_canceled(engine: Engine, scene: Scene, status: JobStatus) -> None:
    with pytest.raises(InvalidTransition, match=status.name):
        engine.cancel(scene.in_status(status).id)


@pytest.mark.parametrize("status", FINISHED)
def test_retry_queues_a_finished_job(engine: Engine, scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert engine.retry(job.id).status == JobStatus.QUEUED
    assert [claimed.id for claimed in scene.claim()] == [job.id]
    with pytest.raises(InvalidTransition):
        engine.retry(job.id)


def test_run_now_does_not_wait(engine: Engine, scene: Scene) -> None:
    job = scene.in_status(JobStatus.SCHEDULED)
    assert engine.run_now(job.id).status == JobStatus.QUEUED
    assert [claimed.id for claimed in scene.claim()] == [job.id]
    with pytest.raises(InvalidTransition):
        engine.run_now(job.id)


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.SCHEDULED])
def test_reschedule_gives_a_job_another_time(engine: Engine, scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert engine.reschedule(job.id, timedelta(seconds=9)).due_at == scene.clock() + 9_000
    assert engine.reschedule(job.id, 7).due_at == scene.clock() + 7_000
    moment = datetime.fromtimestamp(scene.clock() / 1000 + 5, UTC)
    assert engine.reschedule(job.id, moment).due_at == scene.clock() + 5_000
    assert scene.claim() == []
    scene.clock.advance(5_000)
    assert [claimed.id for claimed in scene.claim()] == [job.id]


def test_what_is_due_before_the_year_1000_can_still_be_run(engine: Engine, scene: Scene) -> None:
    job = scene.add()
    when = datetime(500, 1, 1, tzinfo=UTC)
    assert engine.reschedule(job.id, when) == engine.get(job.id)
    assert [claimed.id for claimed in scene.claim()] == [job.id]


@pytest.mark.parametrize(
    "when",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=12))),
        timedelta.max,
        250_000_000_000,
        10**400,
        float("nan"),
    ],
    ids=lambda when: type(when).__name__,
)
def test_a_time_that_no_store_can_keep_is_refused(engine: Engine, scene: Scene, when: Any) -> None:
    job = scene.add()
    with pytest.raises(InvalidJob):
        engine.reschedule(job.id, when)
    assert engine.get(job.id) == job


@pytest.mark.parametrize("status", [*UNSTARTED, *FINISHED])
def test_delete_removes_a_job(engine: Engine, scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    engine.delete(job.id)
    assert scene.is_gone(job)


def test_a_running_job_is_not_deleted(engine: Engine, scene: Scene) -> None:
    job = scene.started()
    with pytest.raises(WrongStatus, match="is running; cancel it first"):
        engine.delete(job.id)
    assert scene.stored(job) == job


def test_a_verb_is_tried_again_when_others_were_faster() -> None:
    store = Interference(started)
    engine = Engine(store, Conf())
    [job] = store.add([Job(id=str(uuid4()), name="n", created_at=store.now())])
    asked = engine.cancel(job.id)
    assert (asked.status, asked.version) == (JobStatus.IN_PROGRESS, 2)
    assert asked.cancel_requested is not None


def test_a_note_is_added_to_a_job_in_any_status_and_changes_nothing_else(engine: Engine, scene: Scene) -> None:
    for status, job in scene.one_of_each().items():
        for text in ("seen", "mended"):
            engine.note(job.id, Entry("action", scene.clock(), text))
        assert [entry.text for entry in scene.store.journal(job.id, "action")] == ["seen", "mended"], status
        assert engine.get(job.id) == job


def test_a_note_is_tried_again_when_others_were_faster() -> None:
    store = Interference(started)
    [job] = store.add([Job(id=str(uuid4()), name="n", created_at=store.now())])
    Engine(store, Conf()).note(job.id, Entry("action", 5, "seen"))
    assert [entry.text for entry in store.journal(job.id, "action")] == ["seen"]


def test_there_is_no_note_on_a_job_that_is_not_there() -> None:
    with pytest.raises(JobNotFound):
        Engine(MemoryStore(), Conf()).note(str(uuid4()), Entry("action", 5, "seen"))


def test_a_delete_is_tried_again_and_then_refused() -> None:
    store = Interference(touched, started)
    engine = Engine(store, Conf())
    [job] = store.add([Job(id=str(uuid4()), name="n", created_at=store.now())])
    with pytest.raises(WrongStatus):
        engine.delete(job.id)


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_a_job_that_never_rests_is_given_up(verb: str) -> None:
    store = Interference(*[touched] * 1_000)
    [job] = store.add([Job(id=str(uuid4()), name="n", created_at=store.now())])
    with pytest.raises(StoreError, match="changed by others 20 times"):
        getattr(Engine(store, Conf()), verb)(job.id)


def test_a_result_is_what_the_handler_returned(engine: Engine, scene: Scene) -> None:
    job = scene.settle(transitions.complete, scene.started(), '{"total":{"$type":"decimal","value":"9.90"}}')
    assert str(engine.result(job.id)["total"]) == "9.90"
    nothing = scene.settle(transitions.complete, scene.started(), None)
    assert engine.result(nothing.id) is None


def test_a_job_without_result_says_why(engine: Engine, scene: Scene) -> None:
    failed, canceled = scene.failed(), engine.cancel(scene.add().id, reason="too late")
    with pytest.raises(JobFailed, match="is FAILED: BOOM: it broke") as caught:
        engine.result(failed.id)
    assert caught.value.job_id == failed.id
    with pytest.raises(JobFailed, match="is CANCELED: JOB_CANCELED: too late"):
        engine.result(canceled.id)


def test_an_unfinished_job_has_no_result_in_time(engine: Engine, scene: Scene) -> None:
    job = scene.add()
    for timeout in (0, 0.02):
        with pytest.raises(ResultTimeout, match=f"not finished after {timeout:g} s"):
            engine.result(job.id, timeout=timeout)


def test_a_result_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    engine, waits = Engine(store, Conf()), []
    [job] = store.add([Job(id=str(uuid4()), name="n", created_at=store.now())])

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 4:
            [held] = store.claim(["default"], worker="w", limit=1, lease=LEASE)
            store.swap([Change(held, transitions.complete(held, "7", now=store.now()))])

    monkeypatch.setattr("asyncjobs.verbs.time.sleep", sleep)
    assert engine.result(job.id, timeout=60) == 7
    assert waits == sorted(waits)
    assert 0 < waits[0] < waits[3] < 0.1


def test_async_fronts_do_the_same() -> None:
    store = MemoryStore()
    engine = Engine(store, Conf())
    [job] = store.add([Job(id=str(uuid4()), name="n", created_at=store.now())])

    async def verbs() -> None:
        assert await engine.aget(job.id) == job
        with pytest.raises(ResultTimeout):
            await engine.aresult(job.id, timeout=0.02)
        assert (await engine.acancel(job.id, reason="x")).status == JobStatus.CANCELED
        assert (await engine.aretry(job.id)).status == JobStatus.QUEUED
        [held] = store.claim(["default"], worker="w", limit=1, lease=LEASE)
        store.swap([Change(held, transitions.complete(held, "7", now=store.now()))])
        assert await engine.aresult(job.id) == 7

    asyncio.run(verbs())


def test_the_error_of_a_failed_job_is_kept(engine: Engine, scene: Scene) -> None:
    assert engine.get(scene.failed().id).error == BOOM


def receipt(engine: Engine, text: str = "first") -> Receipt:
    return Receipt("a1", "f", text, engine.store.now() + 1_000)


def test_a_request_with_a_receipt_is_taken_once(engine: Engine, scene: Scene) -> None:
    jobs = [scene.job(), scene.job()]
    assert engine.submit_many(jobs, receipt=receipt(engine)) == jobs
    with pytest.raises(Repeated) as caught:
        engine.submit_many([scene.job()], receipt=receipt(engine, text="second"))
    assert caught.value.receipt == receipt(engine)
    assert scene.counted() == {JobStatus.QUEUED: 2}


def test_a_receipt_without_jobs_is_kept(engine: Engine) -> None:
    assert engine.submit_many([], receipt=receipt(engine)) == []
    with pytest.raises(Repeated):
        engine.submit_many([], receipt=receipt(engine, text="second"))


def test_a_receipt_is_for_one_batch(engine: Engine, scene: Scene) -> None:
    jobs = [scene.job() for _ in range(MAX_BATCH + 1)]
    with pytest.raises(InvalidJob):
        engine.submit_many(jobs, receipt=receipt(engine))
    assert scene.counted() == {}


def test_a_refused_request_can_be_made_again(engine: Engine, scene: Scene) -> None:
    with pytest.raises(QueueFull):
        engine.submit_many([scene.job(queue="small") for _ in range(3)], receipt=receipt(engine))
    assert engine.submit_many([scene.job()], receipt=receipt(engine, text="second"))


def test_it_is_known_whose_a_deleted_job_was(engine: Engine, scene: Scene) -> None:
    job = scene.add(owner="ada")
    assert engine.gone(job.id) is None
    engine.delete(job.id)
    assert engine.gone(job.id.upper()) == engine.gone("{" + job.id + "}") == Gone("ada", scene.clock())
    with pytest.raises(InvalidJobId):
        engine.gone("7")
