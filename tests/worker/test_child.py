"""A child of a worker, in a thread of the test, on every store: what it claims is run, settled, or given back. Once."""

import asyncio
import random
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest
from django.db import connections

from asyncjobs import retry
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.errors import UnknownHandler
from asyncjobs.ids import new_ids
from asyncjobs.registry import lookup
from asyncjobs.signals import job_completed, lease_lost
from asyncjobs.stores.base import Change, Store
from asyncjobs.worker.child import PARK_MS, _parked
from asyncjobs.worker.context import JobContext
from asyncjobs.worker.held import Flag, Order
from asyncjobs.worker.runner import Run, Runner
from tests.backends import KINDS
from tests.stores.faulty import Fault
from tests.worker import acts
from tests.worker.hands import Hire, hiring
from tests.workers import until

QUEUED, SCHEDULED = JobStatus.QUEUED, JobStatus.SCHEDULED
COMPLETED, FAILED, CANCELED = JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED
TALK = ("claim", "exchange", "swap", "held")
ALL_TALK = (*TALK, "now", "wait", "counts")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def engine(live_store: Store) -> Iterator[Engine]:
    engine = Engine(live_store, get_conf())
    before = exchange_engine(engine)
    yield engine
    exchange_engine(before)


@pytest.fixture
def hire(engine: Engine) -> Iterator[Hire]:
    acts.gates.clear()
    acts.ran.clear()
    with hiring(engine.store) as hire:
        yield hire
        for gate in acts.gates.values():
            gate.is_open.set()


def say(count: int, **options: Any) -> list[Job]:
    handler = acts.says.using(**options)
    return handler.submit_many(handler.call(f"word {number}") for number in range(count))


def suspect(engine: Engine, handler: Any, word: str) -> Job:
    """A job under which a process has died before."""
    elsewhere = handler.using(queue="elsewhere").submit(word)
    return engine.submit(elsewhere.replace(id=new_ids(1)[0], queue="default", crashes=1))


def test_a_burst_runs_what_is_there_and_ends(hire: Hire) -> None:
    jobs = say(30) + acts.says_async.submit_many(acts.says_async.call(f"async {number}") for number in range(30))
    hand = hire(burst=True)
    hand.child.run()
    assert {hand.now(job).status for job in jobs} == {COMPLETED}
    assert sorted(acts.ran) == sorted([f"word {n}" for n in range(30)] + [f"async {n}" for n in range(30)])
    assert list(hand.table.held()) == []
    assert (hand.table.read("count"), hand.table.read("has_drained")) == (0, 1)


def test_a_burst_finds_queues_by_pattern(hire: Hire) -> None:
    wanted, other = say(1, queue="mail.in") + say(1, queue="mail.out"), say(1, queue="sms")
    hand = hire(burst=True, queues=("mail.*",))
    hand.child.run()
    assert {hand.now(job).status for job in wanted} == {COMPLETED}
    assert hand.now(other[0]).status == QUEUED


@pytest.mark.parametrize("most", [1, 4])
def test_a_child_ends_after_so_many_jobs(hire: Hire, most: int) -> None:
    jobs = say(10)
    hand = hire(max_jobs=most)
    hand.child.run()
    assert len(acts.ran) == most
    assert sorted(hand.now(job).status for job in jobs) == [QUEUED] * (10 - most) + [COMPLETED] * most


def test_a_failed_job_runs_again_and_every_failure_is_kept_once(hire: Hire) -> None:
    job = acts.fails.submit("again")
    hand = hire()
    hand.start()
    failed = hand.becomes(job, FAILED)
    assert (failed.attempt, failed.retry_count, acts.ran) == (2, 1, ["again", "again"])
    assert len(hand.store.journal(job.id, "attempt")) == 2


def test_notes_are_kept_with_the_end(hire: Hire) -> None:
    job = acts.reports.submit("half")
    hand = hire(burst=True)
    hand.child.run()
    done = hand.now(job)
    assert done.progress is not None
    assert (done.progress.done, done.progress.total, done.progress.message) == (1, 2, "half")
    assert [line.text for line in hand.store.journal(job.id, "log")] == ["half"]


def test_a_snoozed_job_is_charged_nothing(hire: Hire) -> None:
    job = acts.snoozes.submit()
    hand = hire(burst=True)
    hand.child.run()
    snoozed = hand.now(job)
    assert (snoozed.status, snoozed.attempt, snoozed.retry_count) == (SCHEDULED, 0, 0)
    assert snoozed.due_at is not None
    assert snoozed.due_at > hand.store.now() + 30_000


@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.AFTER], ids=lambda fault: fault.name)
def test_what_was_leased_in_an_answer_that_never_came_is_run_once(hire: Hire, fault: Fault) -> None:
    jobs = say(3)
    hand = hire(burst=True, faults=[fault], of=("claim", "exchange"))
    hand.child.run()
    assert {(job.status, job.attempt) for job in map(hand.now, jobs)} == {(COMPLETED, 1)}
    assert sorted(acts.ran) == ["word 0", "word 1", "word 2"]


@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.AFTER], ids=lambda fault: fault.name)
def test_an_end_whose_answer_was_lost_counts_once(hire: Hire, fault: Fault) -> None:
    told: list[Job] = []
    job_completed.connect(listener := lambda job, **facts: told.append(job))
    [job], failing = say(1), acts.breaks.submit()
    hand = hire(burst=True, faults=[Fault.NONE, *[fault] * 4], of=("claim", "exchange", "swap"))
    hand.child.run()
    job_completed.disconnect(listener)
    assert [hand.now(job).status, hand.now(failing).status] == [COMPLETED, FAILED]
    assert acts.ran == ["word 0"]
    assert [one.id for one in told] == [job.id]
    assert len(hand.store.journal(failing.id, "attempt")) == 1
    assert sorted((minute.status, minute.count) for minute in hand.store.series(5)) == [(COMPLETED, 1), (FAILED, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_lost_each_job_runs_once_and_ends_once(hire: Hire, seed: int) -> None:
    choose = random.Random(seed)
    jobs = say(20) + acts.says_async.submit_many(acts.says_async.call(f"async {number}") for number in range(10))
    faults = choose.choices(list(Fault), weights=[2, 1, 1], k=60)
    hand = hire(burst=True, threads=2, faults=faults, of=TALK)
    hand.child.run()
    assert {(job.status, job.attempt) for job in map(hand.now, jobs)} == {(COMPLETED, 1)}
    assert sorted(acts.ran) == sorted({*acts.ran})
    assert len(acts.ran) == 30


def test_a_store_that_was_away_is_come_back_to(hire: Hire) -> None:
    jobs = say(5)
    hand = hire(burst=True, faults=[Fault.BEFORE] * 12, of=ALL_TALK)
    hand.child.run()
    assert {hand.now(job).status for job in jobs} == {COMPLETED}


def test_a_run_goes_on_while_the_store_is_away_and_is_recorded_then(hire: Hire) -> None:
    is_back = [True]
    away = iter(lambda: Fault.NONE if is_back else Fault.BEFORE, None)
    job = acts.stops.submit("long")
    hand = hire(faults=away, of=ALL_TALK)
    hand.start()
    acts.gates["long"].await_begin()
    is_back.clear()
    acts.gates["long"].is_open.set()
    until(lambda: [held.has_ended for held in hand.table.held()] == [True])
    assert hand.now(job).status == JobStatus.IN_PROGRESS
    is_back.append(True)
    assert hand.becomes(job, COMPLETED).attempt == 1


@pytest.fixture
def refusing(kind: str, engine: Engine) -> Iterator[Job]:
    """A job whose end this database refuses."""
    make, drop = REFUSALS[kind]
    with connections[kind].cursor() as cursor:
        cursor.execute(make)
    yield acts.reports.submit("refuse me")
    with connections[kind].cursor() as cursor:
        cursor.execute(drop)


CONSTRAINT = (
    "ALTER TABLE asyncjobs_job ADD CONSTRAINT refuse CHECK (result NOT LIKE '%refuse me%')",
    "ALTER TABLE asyncjobs_job DROP CONSTRAINT refuse",
)
REFUSALS = {
    "sqlite": (
        "CREATE TRIGGER refuse BEFORE UPDATE ON asyncjobs_job WHEN NEW.result LIKE '%refuse me%' "
        "BEGIN SELECT RAISE(ABORT, 'refused'); END",
        "DROP TRIGGER refuse",
    ),
    "postgres": CONSTRAINT,
    "mariadb": CONSTRAINT,
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_change_that_the_store_refuses_fails_its_job_and_keeps_back_no_other(refusing: Job, hire: Hire) -> None:
    others = say(5)
    hand = hire(burst=True)
    hand.child.run()
    assert {hand.now(job).status for job in others} == {COMPLETED}
    failed = hand.now(refusing)
    assert failed.error is not None
    assert (failed.status, failed.error.code) == (FAILED, "JOB_STORE_ERROR")
    assert "could not be stored" in failed.error.message


def test_a_suspect_runs_alone(engine: Engine, hire: Hire) -> None:
    job = suspect(engine, acts.stops, "suspect")
    hand = hire(threads=3)
    hand.start()
    acts.gates["suspect"].await_begin()
    others = say(5)
    assert hand.child._crew.wanted() == 0
    acts.gates["suspect"].is_open.set()
    for one in (job, *others):
        hand.becomes(one, COMPLETED)
    assert acts.ran[0] == "suspect"


def test_a_suspect_that_waits_for_a_long_run_is_put_off_and_charged_nothing(engine: Engine, hire: Hire) -> None:
    hand = hire(threads=2)
    acts.stops.submit("long")
    hand.start()
    acts.gates["long"].await_begin()
    job = suspect(engine, acts.says, "suspect")
    put_off = hand.becomes(job, SCHEDULED)
    assert (put_off.attempt, put_off.crashes, put_off.retry_count) == (0, 1, 0)
    assert "suspect" not in acts.ran
    acts.gates["long"].is_open.set()
    engine.run_now(job.id)
    hand.becomes(job, COMPLETED)


def test_a_suspect_is_not_put_off_for_ever_by_a_child_that_is_always_busy(engine: Engine, hire: Hire) -> None:
    job = suspect(engine, acts.says, "suspect")
    hand = hire(threads=2)
    naps = acts.naps.submit_many(acts.naps.call(0.02) for _ in range(300))
    hand.start()
    hand.becomes(job, COMPLETED)
    assert any(not hand.now(nap).is_terminal for nap in naps)


def test_a_job_canceled_before_it_was_started_is_not_run(engine: Engine, hire: Hire) -> None:
    [job] = say(1)

    def faults() -> Iterator[Fault]:
        yield Fault.AFTER  # claimed, and nobody knows
        engine.cancel(job.id)
        yield Fault.NONE

    hand = hire(burst=True, faults=faults(), of=("claim", "held"))
    hand.child.run()
    assert hand.now(job).status == CANCELED
    assert acts.ran == []


@pytest.mark.parametrize("kind", ["memory"])
@pytest.mark.parametrize("flag", [Flag.CANCEL, Flag.LOST], ids=["canceled", "lost"])
@pytest.mark.parametrize("handler", [acts.says, acts.says_async])
def test_a_run_that_is_to_end_before_it_begins_calls_no_handler(
    hire: Hire, engine: Engine, flag: Flag, handler: Any
) -> None:
    handler.submit("word")
    [job] = engine.store.claim(["default"], worker="w", limit=1, lease=1_000)
    run = Run(job, lookup(job.name))
    runner = Runner(
        engine.store,
        engine.conf,
        now=engine.store.now,
        new_context=lambda run: JobContext(run.job, flags=lambda: flag),
    )
    copy_context().run(lambda: asyncio.run(runner.arun(run)) if run.is_async else runner.run(run))
    assert acts.ran == []
    assert (run.change and run.change.new.status) == (CANCELED if flag == Flag.CANCEL else None)


def test_a_job_that_nobody_can_run_is_parked_and_keeps_back_no_other(
    engine: Engine, hire: Hire, caplog: pytest.LogCaptureFixture
) -> None:
    [known] = say(1)
    unknown = engine.submit(Job(id=new_ids(1)[0], name="no.such", created_at=engine.store.now()))
    hand = hire(burst=True)
    hand.child.run()
    parked = hand.now(unknown)
    assert parked.error is not None
    assert (parked.status, parked.attempt, parked.error.code) == (SCHEDULED, 0, "UNKNOWN_HANDLER")
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert said.startswith("no.such failed and will run again: UNKNOWN_HANDLER: no handler is registered as 'no.such'")
    assert hand.now(known).status == COMPLETED


@pytest.mark.parametrize(
    ("age", "wait"), [(0, PARK_MS[0]), (9_000, PARK_MS[0]), (100_000, 50_000), (86_400_000, PARK_MS[1])]
)
def test_a_job_that_nobody_can_run_is_looked_at_ever_more_rarely(age: int, wait: int) -> None:
    job = Job(id=new_ids(1)[0], name="no.such", status=JobStatus.IN_PROGRESS, created_at=1_000, attempt=1)
    parked = _parked(job, UnknownHandler("no"), now=1_000 + age)
    assert parked.due_at == 1_000 + age + wait


def lose(engine: Engine, job: Job) -> Job:
    """The job as it is when somebody else holds it."""
    held = engine.get(job.id)
    taken = held.replace(version=held.version + 1, worker="somebody else")
    assert engine.store.swap([Change(held, taken)]) == [True]
    return taken


@pytest.mark.parametrize("handler", [acts.stops, acts.stops_async], ids=["thread", "coroutine"])
def test_a_run_whose_lease_is_lost_ends_and_writes_nothing(engine: Engine, hire: Hire, handler: Any) -> None:
    told: list[Job] = []
    lease_lost.connect(listener := lambda job, **facts: told.append(job))
    job = handler.submit("long")
    hand = hire()
    hand.start()
    acts.gates["long"].await_begin()
    taken = lose(engine, job)
    hand.flag(job, Flag.LOST)
    hand.order(Order.FINISH)
    hand.ended()
    lease_lost.disconnect(listener)
    assert (hand.now(job).version, hand.now(job).worker) == (taken.version, "somebody else")
    assert [one.id for one in told] == [job.id]


@pytest.mark.parametrize("handler", [acts.stops, acts.stops_async], ids=["thread", "coroutine"])
def test_a_run_that_is_canceled_ends_canceled(engine: Engine, hire: Hire, handler: Any) -> None:
    job = handler.submit("long")
    hand = hire()
    hand.start()
    acts.gates["long"].await_begin()
    engine.cancel(job.id)
    hand.flag(job, Flag.CANCEL)
    assert hand.becomes(job, CANCELED).retry_count == 0


def test_a_lease_found_lost_only_at_the_end_writes_nothing(engine: Engine, hire: Hire) -> None:
    job = acts.stops.submit("long")
    hand = hire()
    hand.start()
    acts.gates["long"].await_begin()
    taken = lose(engine, job)
    acts.gates["long"].is_open.set()
    hand.order(Order.FINISH)
    hand.ended()
    assert (hand.now(job).version, hand.now(job).worker) == (taken.version, "somebody else")


@pytest.mark.parametrize("handler", [acts.stops, acts.stops_async], ids=["thread", "coroutine"])
def test_a_child_may_claim_again_what_it_lost_while_the_first_run_goes_on(
    engine: Engine, hire: Hire, handler: Any
) -> None:
    job = handler.submit("long")
    hand = hire(threads=2)
    hand.start()
    acts.gates["long"].await_begin()
    held = engine.get(job.id)
    assert engine.store.swap([Change(held, transitions.rescue(held, now=engine.store.now()))]) == [True]
    acts.gates["long"].await_begin()
    assert [held.id for held in hand.table.held()] == [job.id] * 2
    acts.gates["long"].is_open.set()
    assert hand.becomes(job, COMPLETED).lapses == 1
    hand.order(Order.FINISH)
    hand.ended()
    assert acts.ran == ["long", "long"]


def test_what_waits_behind_a_long_run_is_handed_back_uncharged(hire: Hire) -> None:
    hand = hire()
    for _ in range(200):
        hand.child._crew._threads._pace.ran(0.0001)  # it has learned that runs are short
    long = acts.stops.using(priority=10).submit("long")
    behind = say(20)
    hand.start()
    acts.gates["long"].await_begin()
    waiting = [hand.becomes(job, QUEUED) for job in behind]
    assert any(job.version > 1 for job in waiting)
    assert {job.attempt for job in waiting} == {0}
    acts.gates["long"].is_open.set()
    for job in (long, *behind):
        assert hand.becomes(job, COMPLETED).attempt == 1


def test_a_blocked_thread_does_not_hold_up_coroutines(hire: Hire) -> None:
    acts.stops.submit("long")
    hand = hire()
    hand.start()
    acts.gates["long"].await_begin()
    for job in acts.says_async.submit_many(acts.says_async.call(f"async {number}") for number in range(10)):
        hand.becomes(job, COMPLETED)


@pytest.mark.slow
def test_what_is_left_is_handed_back_when_the_child_must_leave(hire: Hire) -> None:
    job = acts.deaf.submit("deaf")
    hand = hire()
    hand.start()
    acts.gates["deaf"].await_begin()
    hand.order(Order.LEAVE)
    hand.ended()
    released = hand.now(job)
    assert (released.status, released.attempt) == (QUEUED, 0)
    acts.gates["deaf"].is_open.set()


def test_a_child_that_is_to_finish_claims_no_more(hire: Hire) -> None:
    job = acts.stops.submit("long")
    hand = hire()
    hand.start()
    acts.gates["long"].await_begin()
    hand.order(Order.FINISH)
    hand.has_heard()
    [later] = say(1)
    acts.gates["long"].is_open.set()
    hand.ended()
    assert (hand.now(job).status, hand.now(later).status) == (COMPLETED, QUEUED)


def test_retries_follow_the_policy_of_the_submission(hire: Hire) -> None:
    job = acts.fails.using(retry=retry.none()).submit("once")
    hand = hire(burst=True)
    hand.child.run()
    assert (hand.now(job).status, acts.ran) == (FAILED, ["once"])
