"""What operations do to jobs: to all that were meant and to no others, once, however often they are interrupted."""

import string
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.core import signing

from asyncjobs import Engine
from asyncjobs.actions import OPERATION, read_action
from asyncjobs.api.webhooks import CALLBACK, delivery_of
from asyncjobs.conf import Conf
from asyncjobs.conf_api import WebhookConf
from asyncjobs.conf_dashboard import DashboardConf
from asyncjobs.dashboard.deeds import DEEDS
from asyncjobs.dashboard.operations import meeting, starting
from asyncjobs.dashboard.operations.carrying import carry_out
from asyncjobs.dashboard.operations.chunks import Chunks
from asyncjobs.dashboard.operations.orders import Order, read_order, signed
from asyncjobs.dashboard.operations.reports import Report
from asyncjobs.dashboard.operations.starting import carried_out, submitted, tally_of
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidArguments, LeaseLost, StoreError
from asyncjobs.stores.base import MAX_ENTRY
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.testing import memory_jobs, run_jobs
from tests.backends import Backend
from tests.scene import Scene

HOLD = DashboardConf().hold


@pytest.fixture
def engine(scene: Scene, backend: Backend) -> Engine:
    return Engine(scene.store, Conf(database=getattr(backend, "alias", "default")))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "SIZE", 3)


def order(scene: Scene, deed: str, typed: str = "", **more: Any) -> Order:
    """An order that is given a little after all that was done so far."""
    now = scene.clock.advance(10)
    return Order.of_search(typed, {}, deed=deed, frozen=now - 1, by="7").but(**more)


def operation_deed(operation: Job) -> str:
    order = Report(operation).order
    assert order is not None
    return order.deed


def undoing(scene: Scene, operation: Job) -> Order:
    return Order(deed=operation_deed(operation), frozen=scene.clock.advance(10) - 1, by="7", undoes=operation.id)


def notes(scene: Scene, job: Job) -> list[dict[str, Any]]:
    return [read_action(entry) for entry in scene.store.journal(job.id, "action")]


def begun(engine: Engine, scene: Scene, wanted: Order) -> Job:
    """An operation that a worker holds."""
    operation = submitted(engine, wanted)
    [held] = scene.claim("asyncjobs")
    assert held.id == operation.id
    return held


def interrupted_after(count: int) -> Callable[[Counter[str]], None]:
    """Lets an operation go on until something became of so many jobs."""

    def told(tally: Counter[str]) -> None:
        if tally.total() >= count:
            raise KeyboardInterrupt

    return told


def unheard(tally: Counter[str]) -> None:
    pass


def as_before(scene: Scene, *jobs: Job) -> bool:
    return all(scene.stored(job).replace(version=job.version, updated_at=job.updated_at) == job for job in jobs)


AFTER: dict[str, dict[JobStatus, JobStatus]] = {
    "retry": {JobStatus.FAILED: JobStatus.SCHEDULED, JobStatus.CANCELED: JobStatus.SCHEDULED},
    "run_now": {JobStatus.SCHEDULED: JobStatus.SCHEDULED},
    "cancel": dict.fromkeys((JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED), JobStatus.CANCELED),
}


@pytest.mark.parametrize("deed", AFTER)
def test_a_deed_is_done_to_all_it_can_be_done_to_and_undone(engine: Engine, scene: Scene, deed: str) -> None:
    jobs = scene.one_of_each()
    other = scene.add(queue="other")
    operation = carried_out(engine, order(scene, deed, "queue:default", reason="so be it"))
    changed = [job for status, job in jobs.items() if scene.stored(job).version != job.version]
    assert {job.status: scene.stored(job).status for job in changed} == AFTER[deed]
    note = {"action": deed, "by": "7", "reason": "so be it", "operation": operation.id}
    assert [notes(scene, job) for job in changed] == [[note]] * len(changed)
    assert scene.stored(other) == other
    assert operation.status == JobStatus.COMPLETED
    assert tally_of(operation)["done"] == len(changed) + (deed == "cancel")

    undone = carried_out(engine, undoing(scene, operation))
    assert tally_of(undone) == Counter(done=len(changed)) + Counter(started=int(deed == "cancel"))
    assert as_before(scene, *changed)
    assert tally_of(carried_out(engine, undoing(scene, operation)))["done"] == 0
    assert as_before(scene, *changed)


def test_what_is_to_run_is_held_back(engine: Engine, scene: Scene) -> None:
    failed = scene.failed()
    soon = scene.put(scene.delayed(100))
    later = scene.put(scene.delayed(60_000))
    carried_out(engine, order(scene, "retry"))
    carried_out(engine, order(scene, "run_now"))
    now = scene.clock()
    due = [scene.stored(job).due_at for job in (failed, soon, later)]
    assert due[0] == now - 10 + HOLD
    assert due[1:] == [soon.due_at, now + HOLD]


def test_deleted_jobs_rest_in_the_trash_and_come_back(engine: Engine, scene: Scene) -> None:
    jobs = scene.one_of_each()
    operation = carried_out(engine, order(scene, "delete"))
    assert [status for status, job in jobs.items() if not scene.is_gone(job)] == [JobStatus.IN_PROGRESS]
    assert tally_of(operation) == Counter(done=6)
    early = jobs.pop(JobStatus.QUEUED)
    engine.restore(early.id)
    undone = carried_out(engine, undoing(scene, operation))
    assert tally_of(undone) == Counter(done=5, started=1)
    assert as_before(scene, early, *jobs.values())
    assert [note["action"] for note in notes(scene, jobs[JobStatus.FAILED])] == ["delete", "undo"]


def test_what_others_deleted_again_stays_in_the_trash(engine: Engine, scene: Scene) -> None:
    again, once = scene.failed(), scene.failed()
    operation = carried_out(engine, order(scene, "delete"))
    engine.restore(again.id)
    engine.delete(again.id)
    assert tally_of(carried_out(engine, undoing(scene, operation))) == Counter(done=1, gone=1)
    assert [scene.is_gone(job) for job in (again, once)] == [True, False]


def test_purged_jobs_do_not_come_back(engine: Engine, scene: Scene) -> None:
    jobs = scene.one_of_each()
    operation = carried_out(engine, order(scene, "purge"))
    gone = {status for status, job in jobs.items() if scene.is_gone(job)}
    assert gone == {JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED}
    assert tally_of(carried_out(engine, undoing(scene, operation))) == Counter(gone=3)


def test_a_running_job_is_asked_to_stop_once(engine: Engine, scene: Scene) -> None:
    running = scene.started()
    asked = carried_out(engine, order(scene, "cancel"))
    again = carried_out(engine, order(scene, "cancel"))
    assert [tally_of(asked), tally_of(again)] == [Counter(done=1), Counter()]
    assert scene.stored(running).cancel_requested is not None
    assert len(notes(scene, running)) == 1


def test_a_job_that_stopped_when_it_was_asked_runs_again(engine: Engine, scene: Scene) -> None:
    running = scene.started()
    carried_out(engine, order(scene, "cancel"))
    stopped = scene.settle(transitions.cancel, scene.stored(running))
    assert tally_of(carried_out(engine, order(scene, "retry"))) == Counter(done=1)
    assert scene.stored(stopped).status == JobStatus.SCHEDULED


def test_what_comes_after_the_order_is_left_alone(engine: Engine, scene: Scene) -> None:
    meant, moved = scene.failed(), scene.failed()
    retry = order(scene, "retry")
    late = scene.failed()
    again = scene.settle(transitions.retry, moved)
    [run] = scene.claim()
    moved = scene.settle(transitions.cancel, run)
    operation = carried_out(engine, retry)
    assert tally_of(operation) == Counter(done=1)
    assert scene.stored(meant).status == JobStatus.SCHEDULED
    assert (scene.stored(late), scene.stored(moved)) == (late, moved)
    assert again.id == moved.id


def test_of_jobs_that_are_named_each_is_accounted_for(engine: Engine, scene: Scene) -> None:
    failed, moved, done, gone = scene.failed(), scene.failed(), scene.completed(), scene.failed()
    wanted = Order(
        deed="retry", frozen=scene.clock.advance(10) - 1, by="7", ids=(*(j.id for j in (failed, moved, done, gone)),)
    )
    scene.store.delete([gone])
    scene.settle(transitions.retry, moved)
    [run] = scene.claim()
    scene.settle(transitions.cancel, run)
    assert tally_of(carried_out(engine, wanted)) == Counter(done=1, moved=1, other=1, gone=1)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("deed", ["retry", "delete", "cancel"])
def test_an_interrupted_operation_is_gone_on_with_and_does_nothing_twice(
    engine: Engine, scene: Scene, deed: str
) -> None:
    make = scene.add if deed == "cancel" else scene.failed
    jobs = [make() for _ in range(10)]
    wanted = order(scene, deed)
    held = begun(engine, scene, wanted)
    for count in (3, 6):
        with pytest.raises(KeyboardInterrupt):
            carry_out(engine, held, wanted, interrupted_after(count))
        scene.clock.advance(10)
    assert carry_out(engine, held, wanted, unheard) == Counter(done=10)
    if deed != "delete":
        assert [len(notes(scene, job)) for job in jobs] == [1] * 10


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("written", [0, 1, 3])
def test_a_chunk_that_was_written_down_and_half_done_is_finished(
    engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    jobs = [scene.failed() for _ in range(5)]
    wanted = order(scene, "retry")
    held = begun(engine, scene, wanted)
    swap = scene.store.swap

    def dying(changes: Any) -> Any:
        if changes[0].old.id == held.id:
            return swap(changes)
        swap(changes[:written])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(scene.store, "swap", dying)
        with pytest.raises(KeyboardInterrupt):
            carry_out(engine, held, wanted, unheard)
    scene.clock.advance(10)
    assert carry_out(engine, held, wanted, unheard) == Counter(done=5)
    assert [len(notes(scene, job)) for job in jobs] == [1] * 5
    held = scene.settle(transitions.complete, held, "null")
    assert tally_of(carried_out(engine, undoing(scene, held))) == Counter(done=5)
    assert as_before(scene, *jobs)


def test_a_deletion_that_is_gone_on_with_leaves_alone_what_moved_on(engine: Engine, scene: Scene) -> None:
    claimed, restored, deleted = jobs = scene.add(), scene.failed(queue="other"), scene.failed(queue="other")
    wanted = order(scene, "delete").but(ids=tuple(job.id for job in jobs))
    held = begun(engine, scene, wanted)
    with pytest.raises(KeyboardInterrupt):
        carry_out(engine, held, wanted, interrupted_after(3))
    engine.restore(restored.id)
    engine.restore(claimed.id)
    [running] = scene.claim()
    assert carry_out(engine, held, wanted, unheard) == Counter(done=1, moved=2)
    assert scene.stored(claimed) == running
    assert [scene.is_gone(job) for job in (restored, deleted)] == [False, True]


def test_who_lost_the_operation_does_nothing_any_more(engine: Engine, scene: Scene) -> None:
    failed = scene.failed()
    wanted = order(scene, "retry")
    held = begun(engine, scene, wanted)
    scene.settle(transitions.release, held)
    with pytest.raises(LeaseLost):
        carry_out(engine, held, wanted, unheard)
    assert scene.stored(failed) == failed


def test_what_a_request_left_half_done_is_finished_by_a_worker(
    engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [scene.failed() for _ in range(3)]
    wanted = order(scene, "retry")

    def dying(*given: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(starting, "carry_out", dying)
        with pytest.raises(KeyboardInterrupt):
            carried_out(engine, wanted)
    assert scene.claim("asyncjobs") == []
    scene.elapse(engine.conf.lease + 1)
    [rescued] = engine.rescue()
    assert rescued.lapses == 1
    [held] = scene.claim("asyncjobs")
    assert carry_out(engine, held, wanted, unheard) == Counter(done=3)
    assert [len(notes(scene, job)) for job in jobs] == [1] * 3


def test_what_a_request_cannot_finish_is_handed_to_a_worker(
    engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.failed()

    def failing(*given: Any) -> Any:
        raise StoreError("the server is gone")

    monkeypatch.setattr(starting, "carry_out", failing)
    operation = carried_out(engine, order(scene, "retry"))
    assert not operation.is_terminal
    assert [job.id for job in scene.claim("asyncjobs")] == [operation.id]


def test_jobs_that_started_are_not_brought_back(engine: Engine, scene: Scene) -> None:
    started, waiting = scene.failed(), scene.failed()
    operation = carried_out(engine, order(scene, "retry"))
    scene.clock.advance(HOLD)
    [run] = scene.claim()
    undone = carried_out(engine, undoing(scene, operation))
    assert tally_of(undone) == Counter(done=1, started=1)
    back = waiting if run.id == started.id else started
    assert as_before(scene, back)
    assert scene.stored(run) == run


def test_an_undo_that_comes_late_reads_no_journals_of_jobs(
    engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [scene.failed() for _ in range(5)]
    operation = carried_out(engine, order(scene, "retry"))
    scene.clock.advance(HOLD)
    scene.claim(limit=5)
    journal, read = scene.store.journal, set()

    def reading(job_id: str, *given: Any, **more: Any) -> Any:
        read.add(job_id)
        return journal(job_id, *given, **more)

    monkeypatch.setattr(scene.store, "journal", reading)
    assert tally_of(carried_out(engine, undoing(scene, operation))) == Counter(started=5)
    assert read.isdisjoint(job.id for job in jobs)


def noise(length: int) -> str:
    """A text that cannot be packed into less."""
    return "".join(Random(7).choices(string.ascii_letters + string.digits, k=length))


def test_what_is_larger_than_an_entry_comes_back_too(engine: Engine, scene: Scene) -> None:
    large = scene.settle(transitions.complete, scene.started(), f'"{noise(3 * MAX_ENTRY)}"')
    small = scene.completed()
    operation = carried_out(engine, order(scene, "run_again"))
    sizes = [len(entry.text) for entry in scene.store.journal(operation.id, "chunk")]
    assert len(sizes) > 2
    assert max(sizes) <= MAX_ENTRY
    assert scene.stored(large).result is None
    assert tally_of(carried_out(engine, undoing(scene, operation))) == Counter(done=2)
    assert as_before(scene, large, small)


def test_a_chunk_that_was_not_written_to_its_end_is_written_anew(
    engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [scene.completed(), scene.settle(transitions.complete, scene.started(), f'"{noise(2 * MAX_ENTRY)}"')]
    wanted = order(scene, "run_again").but(ids=(jobs[0].id, scene.job().id, jobs[1].id))
    held = begun(engine, scene, wanted)
    swap, written = scene.store.swap, []

    def dying(changes: Any) -> Any:
        written.append(changes)
        if len(written) == 2:
            raise KeyboardInterrupt
        return swap(changes)

    with monkeypatch.context() as patch:
        patch.setattr(scene.store, "swap", dying)
        with pytest.raises(KeyboardInterrupt):
            carry_out(engine, held, wanted, unheard)
    assert Chunks(scene.store, held).last() is None
    assert carry_out(engine, held, wanted, interrupted_after(9)) == Counter(done=2, gone=1)
    assert carry_out(engine, held, wanted, unheard) == Counter(done=2, gone=1)
    held = scene.settle(transitions.complete, held, "null")
    assert tally_of(carried_out(engine, undoing(scene, held))) == Counter(done=2)
    assert as_before(scene, *jobs)


def test_chunks_are_found_from_the_last(engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "SIZE", 1)
    for _ in range(7):
        scene.add()
    operation = carried_out(engine, order(scene, "cancel"))
    numbered = list(Chunks(scene.store, operation).after(0))
    assert [number for number, _ in numbered] == list(range(1, 8))
    assert Chunks(scene.store, operation).last() == numbered[-1][1]


def test_an_operation_is_not_done_to_itself(engine: Engine, scene: Scene) -> None:
    wanted = Order.of_search("", {}, deed="cancel", frozen=scene.clock(), by="7")
    operation = carried_out(engine, wanted)
    assert operation.status == JobStatus.COMPLETED
    assert operation.cancel_requested is None


@pytest.mark.parametrize("deed", ["retry", "run_again", "run_now"])
def test_an_operation_never_runs_again(engine: Engine, scene: Scene, deed: str) -> None:
    stopped = scene.canceled(name=OPERATION)
    over, waiting = scene.completed(name=OPERATION), scene.put(scene.delayed(60_000, name=OPERATION))
    operations = [stopped, over, waiting]
    named = order(scene, deed).but(ids=tuple(job.id for job in operations))
    assert tally_of(carried_out(engine, named)) == Counter(final=3)
    assert [scene.stored(job) for job in operations] == operations


@pytest.mark.parametrize("deed", ["cancel", "delete"])
def test_operations_belong_to_nobodys_search(engine: Engine, scene: Scene, deed: str) -> None:
    waiting, other = scene.add(name=OPERATION), scene.add()
    assert tally_of(carried_out(engine, order(scene, deed))) == Counter(done=1)
    assert scene.stored(waiting) == waiting
    assert scene.is_gone(other) or scene.stored(other).status == JobStatus.CANCELED
    assert tally_of(carried_out(engine, order(scene, deed).but(ids=(waiting.id,)))) == Counter(done=1)


def test_an_operation_that_was_stopped_stays_so(engine: Engine, scene: Scene) -> None:
    waiting, other = scene.add(name=OPERATION), scene.add()
    stopped = carried_out(engine, order(scene, "cancel").but(ids=(waiting.id, other.id)))
    assert tally_of(carried_out(engine, undoing(scene, stopped))) == Counter(done=1, started=1)
    assert [scene.stored(job).status for job in (waiting, other)] == [JobStatus.CANCELED, JobStatus.QUEUED]


def test_a_worker_runs_an_order_and_no_other_text() -> None:
    with memory_jobs() as engine:
        scene = Scene(engine.store, engine.store.now)
        waiting = scene.put(scene.delayed(60_000))
        wanted = Order.of_search("status:scheduled", {}, deed="cancel", frozen=engine.store.now(), by="7")
        operation = submitted(engine, wanted)
        forged = operation.replace(id=scene.job().id, payload='{"args": ["no order"], "kwargs": {}}')
        engine.store.add([forged])
        run_jobs()
        assert engine.get(operation.id).status == JobStatus.COMPLETED
        assert engine.get(waiting.id).status == JobStatus.CANCELED
        refused = engine.get(forged.id)
        assert (refused.status, refused.retry_count) == (JobStatus.FAILED, 0)
        assert refused.error is not None
        assert "BadSignature" in refused.error.type


def test_an_order_is_read_as_it_was_meant() -> None:
    wanted = Order.of_search("name:operation x", {"queue": "a b"}, deed="retry", frozen=5, by="7").but(ids=("1",))
    assert read_order(signed(wanted)) == wanted
    with pytest.raises(signing.BadSignature):
        read_order(signed(wanted, salt="another"))


@pytest.mark.parametrize("typed", ["nmae:x", "status:brkoen", "created:soon", "x " * 40])
def test_a_search_that_is_not_understood_is_no_order(typed: str) -> None:
    with pytest.raises(InvalidArguments):
        Order.of_search(typed, {}, deed="delete", frozen=5, by="7")


def test_a_name_means_what_it_meant_when_the_order_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Order.of_search("name:echo", {}, deed="retry", frozen=5, by="7").but(names=("tests.echo",))
    assert wanted.search().query.name == "tests.echo"
    assert OPERATION not in DEEDS


def test_receivers_of_webhooks_are_told_of_what_ends_and_of_what_runs_again() -> None:
    with memory_jobs() as engine:
        scene = Scene(engine.store, engine.store.now)
        url, conf = "https://shop.example.org/told", WebhookConf()
        job = scene.put(scene.delayed(60_000, headers={CALLBACK: [url]}))
        delivery = scene.put(delivery_of(job, url, conf))
        cancel = Order.of_search("name:tests.echo", {}, deed="cancel", frozen=engine.store.now(), by="7")
        canceled = carried_out(engine, cancel)
        assert scene.stored(delivery).status == JobStatus.QUEUED
        [told] = scene.claim(conf.queue)
        scene.settle(transitions.complete, told, "null")
        carried_out(engine, Order(deed="cancel", frozen=engine.store.now(), by="7", undoes=canceled.id))
        assert scene.stored(job).status == JobStatus.SCHEDULED
        assert scene.stored(delivery).status == JobStatus.SCHEDULED


def test_without_a_hold_jobs_run_at_once_and_can_be_undone_until_they_start() -> None:
    store = MemoryStore()
    scene, engine = Scene(store, store.now), Engine(store, Conf(dashboard=DashboardConf(hold=0)))
    failed, later = scene.failed(), scene.put(scene.delayed(60_000))
    retried = carried_out(engine, Order(deed="retry", frozen=store.now(), by="7", ids=(failed.id,)))
    hurried = carried_out(engine, Order(deed="run_now", frozen=store.now(), by="7", ids=(later.id,)))
    assert [scene.stored(job).status for job in (failed, later)] == [JobStatus.QUEUED] * 2
    for operation in (retried, hurried):
        undo = Order(deed=operation_deed(operation), frozen=store.now(), by="7", undoes=operation.id)
        assert tally_of(carried_out(engine, undo)) == Counter(done=1)
    assert as_before(scene, failed, later)
