"""Signals: each is sent once it is true, with its arguments and its sender, and no receiver can do harm.

Those of processes are in `tests/worker/test_command.py`.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.dispatch import Signal

from asyncjobs import signals
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Change
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.worker.duties import Rescuing, about_worker
from asyncjobs.worker.held import Flag, Order
from asyncjobs.worker.options import WorkerOptions
from tests.clock import Clock
from tests.test_docs import table
from tests.worker import acts
from tests.worker.hands import Hire, hiring

Heard = list[tuple[str, Any, dict[str, Any]]]
EVERY = {name: value for name, value in vars(signals).items() if isinstance(value, Signal)}


@contextmanager
def listening(*names: str) -> Iterator[Heard]:
    """What is heard of these signals, or of all: name, sender, arguments."""
    heard: Heard = []
    receivers = []
    for name, signal in EVERY.items():

        def hear(sender: Any, *, name: str = name, **facts: Any) -> None:
            heard.append((name, sender, {key: value for key, value in facts.items() if key != "signal"}))

        if name in names or not names:
            signal.connect(hear, weak=False)
            receivers.append((signal, hear))
    try:
        yield heard
    finally:
        for signal, receiver in receivers:
            signal.disconnect(receiver)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine(MemoryStore(), get_conf())
    before = exchange_engine(engine)
    acts.gates.clear()
    acts.ran.clear()
    yield engine
    exchange_engine(before)


@pytest.fixture
def hire(engine: Engine) -> Iterator[Hire]:
    with hiring(engine.store) as hire:
        yield hire
        for gate in acts.gates.values():
            gate.is_open.set()


def names_of(heard: Heard) -> list[str]:
    return [name for name, _, _ in heard]


def test_a_job_that_completes_is_told_of_three_times(hire: Hire) -> None:
    with listening() as heard:
        submitted = acts.says.submit("word")
        hand = hire(burst=True)
        hand.child.run()
    assert names_of(heard) == ["job_submitted", "job_started", "job_completed"]
    assert [sender for _, sender, _ in heard] == [None, acts.says, acts.says]
    assert heard[0][2] == {"job": submitted}
    assert heard[1][2].keys() == {"job"}
    assert heard[1][2]["job"].status == JobStatus.IN_PROGRESS
    assert heard[2][2].keys() == {"job", "seconds"}
    assert heard[2][2]["job"] == hand.now(submitted)
    assert 0 <= heard[2][2]["seconds"] < 20


def test_a_failure_is_told_of_each_time(hire: Hire) -> None:
    with listening("job_failed") as heard:
        job = acts.fails.submit("again")
        hand = hire()
        hand.start()
        hand.becomes(job, JobStatus.FAILED)
        hand.order(Order.FINISH)
        hand.ended()
    assert [facts["job"].status for _, _, facts in heard] == [JobStatus.SCHEDULED, JobStatus.FAILED]
    assert {facts["error"].message for _, _, facts in heard} == {"again"}
    assert {sender for _, sender, _ in heard} == {acts.fails}


@pytest.mark.parametrize("handler", [acts.stops, acts.stops_async], ids=["thread", "coroutine"])
def test_a_canceled_run_is_told_of(engine: Engine, hire: Hire, handler: Any) -> None:
    with listening("job_canceled", "job_failed", "job_completed") as heard:
        job = handler.submit("long")
        hand = hire()
        hand.start()
        acts.gates["long"].await_begin()
        engine.cancel(job.id)
        hand.flag(job, Flag.CANCEL)
        hand.becomes(job, JobStatus.CANCELED)
        hand.order(Order.FINISH)
        hand.ended()
    [(name, sender, facts)] = heard
    assert (name, sender, list(facts)) == ("job_canceled", handler, ["job"])
    assert (facts["job"].id, facts["job"].status) == (job.id, JobStatus.CANCELED)


def test_a_job_canceled_before_it_started_is_not_told_of(engine: Engine) -> None:
    with listening("job_canceled") as heard:
        engine.cancel(acts.says.submit("word").id)
    assert heard == []


def test_a_job_that_is_handed_back_or_snoozed_is_told_of(hire: Hire) -> None:
    with listening("job_released") as heard:
        snoozed, released = acts.snoozes.submit(), acts.stops.submit("long")
        hand = hire(threads=2)
        hand.start()
        acts.gates["long"].await_begin()
        hand.becomes(snoozed, JobStatus.SCHEDULED)
        hand.order(Order.LEAVE)
        hand.ended()
    assert {sender: facts["job"].status for _, sender, facts in heard} == {
        acts.snoozes: JobStatus.SCHEDULED,
        acts.stops: JobStatus.QUEUED,
    }
    assert {facts["job"].id for _, _, facts in heard} == {snoozed.id, released.id}


def test_a_lost_lease_is_told_of_as_the_holder_knew_it(engine: Engine, hire: Hire) -> None:
    with listening("lease_lost", "job_completed") as heard:
        job = acts.stops.submit("long")
        hand = hire()
        hand.start()
        acts.gates["long"].await_begin()
        held = hand.now(job)
        engine.store.swap([Change(held, held.replace(version=held.version + 1, worker="somebody else"))])
        acts.gates["long"].is_open.set()
        hand.order(Order.FINISH)
        hand.ended()
    [(name, sender, facts)] = heard
    assert (name, sender) == ("lease_lost", acts.stops)
    assert (facts["job"].id, facts["job"].version) == (job.id, held.version)


def test_a_rescue_is_told_of(clock: Clock) -> None:
    engine = Engine(MemoryStore(clock=clock), get_conf())
    before = exchange_engine(engine)
    acts.says.submit("word")
    options = WorkerOptions(lease=1_000)
    [job] = engine.store.claim(["default"], worker="w", limit=1, lease=1_000)
    for _ in range(4):
        clock.advance(300)
        engine.store.lapsed(1, lease=1_000)
    with listening() as heard:
        clock.advance(300)
        Rescuing(engine, options).perform()
    exchange_engine(before)
    [(name, sender, facts)] = heard
    assert (name, sender, facts) == ("job_rescued", acts.says, {"job": engine.get(job.id)})


@pytest.mark.parametrize("name", ["job_started", "job_completed"])
def test_a_receiver_that_raises_is_logged_and_changes_nothing(
    hire: Hire, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    def raises(**facts: Any) -> None:
        raise RuntimeError("from a receiver")

    EVERY[name].connect(raises)
    with listening(name) as heard, caplog.at_level(logging.ERROR, "asyncjobs.signals"):
        job = acts.says.submit("word")
        hand = hire(burst=True)
        hand.child.run()
    EVERY[name].disconnect(raises)
    assert hand.now(job).status == JobStatus.COMPLETED
    assert names_of(heard) == [name]
    [record] = [record for record in caplog.records if record.name == "asyncjobs.signals"]
    assert "from a receiver" in caplog.text
    assert "raises" in record.getMessage()


def test_one_can_listen_to_one_handler(hire: Hire) -> None:
    heard: list[Job] = []
    signals.job_completed.connect(listener := lambda job, **facts: heard.append(job), sender=acts.says)
    job, _ = acts.says.submit("word"), acts.says_async.submit("other")
    hand = hire(burst=True)
    hand.child.run()
    signals.job_completed.disconnect(listener, sender=acts.says)
    assert [one.id for one in heard] == [job.id]


def test_every_signal_is_documented() -> None:
    assert {row[0] for row in table("reference/signals.md", "signal")[1:]} == EVERY.keys()


def test_records_of_workers_have_the_name_that_signals_tell() -> None:
    assert about_worker(WorkerOptions(name="alpha"), "1")["name"] == "alpha"
