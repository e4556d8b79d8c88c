"""What the supervisor's keeper does for children, on a table as a child writes it."""

import json
from collections.abc import Callable, Iterator

import pytest

from asyncjobs.conf import get_conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import Change, Store
from asyncjobs.worker.duties import YOUNG_MS, Beating, about_worker
from asyncjobs.worker.held import Flag, Order, monotonic_ms
from asyncjobs.worker.liveness import complaints
from asyncjobs.worker.options import WorkerOptions
from asyncjobs.worker.process import ChildProcess

OPTIONS = WorkerOptions(lease=30_000, name="w1", queues=("default",))


@pytest.fixture(params=["memory", "sqlite", "postgres", "valkey"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def engine(live_store: Store) -> Engine:
    return Engine(live_store, get_conf())


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    """A child before its fork."""
    child = ChildProcess(8)
    yield child


def hold(engine: Engine, child: ChildProcess, slot: int, *, age: int = 10 * YOUNG_MS) -> Job:
    """A job of this child's, as both the store and the table know it."""
    [job] = engine.store.claim(["default"], worker=child.id, limit=1, lease=1_000)
    child.table.hold(slot, job, monotonic_ms() - age)
    child.table.write("count", slot + 1)
    return job


def submit(engine: Engine) -> Job:
    return engine.submit(Job(id=new_ids(1)[0], name="n", created_at=engine.store.now()))


def beat(engine: Engine, child: ChildProcess, obey: Callable[[str], None] = lambda order: None) -> Beating:
    duty = Beating(engine, OPTIONS, lambda: [child], about_worker(OPTIONS, "1.0"), obey)
    duty.perform()
    return duty


def until_of(engine: Engine, job: Job) -> int:
    until = engine.get(job.id).claimed_until
    assert until is not None
    return until


def test_a_beat_extends_the_leases_of_what_is_held(engine: Engine, child: ChildProcess) -> None:
    submit(engine)
    job = hold(engine, child, 0)
    beat(engine, child)
    assert until_of(engine, job) > until_of_claim(job) + 20_000
    assert child.table.flags(0) == 0


def until_of_claim(job: Job) -> int:
    assert job.claimed_until is not None
    return job.claimed_until


def test_a_lease_that_is_fresh_needs_no_beat(engine: Engine, child: ChildProcess) -> None:
    submit(engine)
    job = hold(engine, child, 0, age=0)
    beat(engine, child)
    assert until_of(engine, job) == job.claimed_until


def test_a_beat_brings_back_that_a_job_is_to_be_canceled_or_was_lost(engine: Engine, child: ChildProcess) -> None:
    submit(engine)
    submit(engine)
    canceled, lost = hold(engine, child, 0), hold(engine, child, 1)
    engine.cancel(canceled.id)
    assert engine.store.swap([Change(lost, transitions.rescue(lost, now=engine.store.now()))]) == [True]
    beat(engine, child)
    assert [child.table.flags(slot) for slot in (0, 1)] == [Flag.CANCEL, Flag.LOST]
    assert child.bell.silence()


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_of_two_runs_of_a_job_the_later_keeps_its_lease(
    engine: Engine, child: ChildProcess, first: int, second: int
) -> None:
    """A child may claim again what it lost."""
    submit(engine)
    lost = hold(engine, child, first)
    assert engine.store.swap([Change(lost, transitions.rescue(lost, now=engine.store.now()))]) == [True]
    again = hold(engine, child, second)
    child.table.write("count", 2)
    beat(engine, child)
    assert until_of(engine, again) > until_of_claim(again) + 20_000
    assert [child.table.flags(slot) for slot in (first, second)] == [Flag.LOST, 0]


def test_the_record_says_what_the_child_does(engine: Engine, child: ChildProcess) -> None:
    submit(engine)
    submit(engine)
    job, _ = hold(engine, child, 0), hold(engine, child, 1)
    child.table.start(0, monotonic_ms(), 0)
    child.table.write("claimed_at", monotonic_ms() - 2_000)
    beat(engine, child)
    [record] = engine.store.workers()
    about = json.loads(record.about)
    assert record.worker == child.id
    assert (about["name"], about["version"], about["queues"], about["state"]) == ("w1", "1.0", ["default"], "working")
    assert (about["jobs"], about["running"]) == ([job.id], 1)
    assert 2_000 <= about["claimed_ago"] < 60_000
    assert about.keys() >= {"host", "supervisor", "pid", "memory", "threads", "async_concurrency"}


def test_a_child_that_has_just_been_started_is_not_said_to_wait_for_jobs(engine: Engine, child: ChildProcess) -> None:
    """Its first heartbeat may come before it has done anything."""
    beat(engine, child)
    assert complaints(engine, name="w1") == []


def test_the_record_says_that_a_child_is_ending(engine: Engine, child: ChildProcess) -> None:
    child.table.write("order", Order.FINISH)
    beat(engine, child)
    [record] = engine.store.workers()
    assert json.loads(record.about)["state"] == "ending"


def test_the_record_says_that_a_child_is_quiet(engine: Engine, child: ChildProcess) -> None:
    child.hush(is_quiet=True)
    beat(engine, child)
    [record] = engine.store.workers()
    assert json.loads(record.about)["state"] == "quiet"


def test_an_order_is_passed_on_once_however_often_it_is_answered(engine: Engine, child: ChildProcess) -> None:
    orders: list[str] = []
    duty = beat(engine, child, orders.append)
    for order in ("quiet", "work"):
        engine.store.order(child.id, order)
        for _ in range(3):
            child.recorded_at = 0.0
            duty.perform()
    assert orders == ["quiet", "work"]


def test_an_idle_child_is_not_recorded_at_every_look(engine: Engine, child: ChildProcess) -> None:
    duty = beat(engine, child)
    [before] = engine.store.workers()
    child.table.write("order", Order.FINISH)
    duty.perform()
    assert engine.store.workers() == [before]
