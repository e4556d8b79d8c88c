"""A job's end is told, once it has come, and whatever happens to the telling, nothing happens to the job."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from asyncjobs import signals
from asyncjobs.api.webhooks import again, delivery_of, ring
from asyncjobs.api.webhooks.delivering import DELIVERED, JOB_GONE
from asyncjobs.conf import Conf, get_conf
from asyncjobs.current import exchange_engine, get_engine
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.jobs import BENCH_QUEUE
from asyncjobs.registry import Handler
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.testing import run_jobs
from asyncjobs.worker.child import declared_queues
from tests.api.hooks.jobs import with_callback
from tests.api.receiver import Handler as Request
from tests.api.receiver import Receiver, status
from tests.clock import Clock
from tests.stores.faulty import Fault, FaultyStore
from tests.worker import acts
from tests.worker.hands import Hire, hiring

WEBHOOKS = ["webhooks"]


@pytest.fixture
def engine(receiver: Receiver, clock: Clock) -> Iterator[Engine]:
    """Of a site whose webhooks go to the receiver."""
    with override_settings(ASYNCJOBS=receiver.settings):
        engine = Engine(MemoryStore(clock=clock), get_conf())
        before = exchange_engine(engine)
        yield engine
        exchange_engine(before)


@pytest.fixture
def hire(engine: Engine) -> Iterator[Hire]:
    with hiring(engine.store) as hire:
        yield hire


def ended(receiver: Receiver, handler: Handler[..., Any] = acts.says, *args: Any) -> tuple[Job, Job]:
    """A job that has ended, and its delivery, about to run. Nobody has rung."""
    job, delivery = with_callback(handler, *(args or ("word",)), url=receiver.url)
    while not get_engine().get(job.id).is_terminal:
        run_jobs(queues=["default"])
    return get_engine().get(job.id), get_engine().run_now(delivery.id)


def after_delivery(delivery: Job) -> Job:
    run_jobs(queues=WEBHOOKS)
    return get_engine().get(delivery.id)


def test_the_end_of_a_job_is_told_and_signed(engine: Engine, receiver: Receiver) -> None:
    job, delivery = ended(receiver)
    done = after_delivery(delivery)
    [received] = receiver.received
    assert received.path == "/told?token=canary"
    assert received.is_signed
    assert (received.told["type"], received.told["data"]["id"]) == ("job.completed", job.id)
    assert (done.status, done.result) == (JobStatus.COMPLETED, f'"{DELIVERED}"')


def test_a_failure_for_good_and_a_cancel_are_told(engine: Engine, receiver: Receiver) -> None:
    _, failed = ended(receiver, acts.fails)
    job, canceled = with_callback(acts.says, "word", url=receiver.url)
    engine.cancel(job.id)
    engine.run_now(canceled.id)
    run_jobs(queues=WEBHOOKS)
    assert {received.told["type"] for received in receiver.received} == {"job.failed", "job.canceled"}
    assert after_delivery(failed).status == after_delivery(canceled).status == JobStatus.COMPLETED


@pytest.mark.parametrize(("age", "delay"), [(0, 1_000), (80_000, 10_000), (3_600_000, 60_000)])
def test_the_older_an_unfinished_job_is_the_later_it_is_looked_at_again(
    engine: Engine, receiver: Receiver, clock: Clock, age: int, delay: int
) -> None:
    _, delivery = with_callback(acts.says, "word", url=receiver.url)
    clock.advance(age)
    engine.run_now(delivery.id)
    waiting = after_delivery(delivery)
    assert (waiting.status, waiting.due_at) == (JobStatus.SCHEDULED, clock() + delay)
    assert (waiting.attempt, waiting.retry_count) == (0, 0)
    assert receiver.received == []


@pytest.mark.parametrize(("ahead", "delay"), [(90_000, 90_000), (86_400_000, 600_000)])
def test_a_job_that_is_not_due_is_not_looked_at_all_the_time(
    engine: Engine, receiver: Receiver, clock: Clock, ahead: int, delay: int
) -> None:
    job, delivery = with_callback(acts.says, "word", url=receiver.url)
    engine.reschedule(job.id, ahead / 1000)
    engine.run_now(delivery.id)
    assert after_delivery(delivery).due_at == clock() + delay


def test_a_job_that_is_gone_is_not_told_of(engine: Engine, receiver: Receiver) -> None:
    job, delivery = ended(receiver)
    engine.delete(job.id)
    done = after_delivery(delivery)
    assert (done.status, done.result) == (JobStatus.COMPLETED, f'"{JOB_GONE}"')
    assert receiver.received == []


def test_a_failed_delivery_is_tried_again_with_the_same_message(engine: Engine, receiver: Receiver) -> None:
    receiver.answers += [status(500), status(307, Location=receiver.url)]
    _, delivery = ended(receiver)
    done = after_delivery(delivery)
    assert (done.status, done.retry_count) == (JobStatus.COMPLETED, 2)
    assert len({(received.headers["webhook-id"], received.body) for received in receiver.received}) == 1
    assert [received.is_signed for received in receiver.received] == [True] * 3
    texts = [entry.text for entry in engine.store.journal(delivery.id, "attempt")]
    assert "answered 500" in texts[0]
    assert "answered 307" in texts[1]


def test_a_receiver_that_is_gone_for_good_is_not_asked_again(engine: Engine, receiver: Receiver) -> None:
    receiver.answers.append(status(410))
    _, delivery = ended(receiver)
    done = after_delivery(delivery)
    assert done.error is not None
    assert (done.status, done.retry_count, done.error.code) == (JobStatus.FAILED, 0, "WEBHOOK_REFUSED")
    assert len(receiver.received) == 1


@pytest.mark.parametrize("webhooks", [{}, {"HOSTS": ["elsewhere.example.com"]}], ids=["off", "elsewhere"])
def test_a_host_that_is_no_longer_allowed_is_told_nothing(
    engine: Engine, receiver: Receiver, webhooks: dict[str, Any]
) -> None:
    _, delivery = ended(receiver)
    secrets = receiver.settings["API"]["WEBHOOKS"]["SECRETS"]
    with override_settings(ASYNCJOBS={"API": {"WEBHOOKS": {"SECRETS": secrets, **webhooks}}}):
        exchange_engine(engine)
        done = after_delivery(delivery)
    assert done.error is not None
    assert (done.status, done.retry_count, done.error.code) == (JobStatus.FAILED, 0, "WEBHOOK_REFUSED")
    assert "canary" not in str(done.error)
    assert receiver.received == []


def test_a_receiver_that_is_down_never_touches_the_job(
    engine: Engine, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    job, delivery = ended(receiver)
    receiver.answers += [status(500)] * 3
    with caplog.at_level(logging.DEBUG):
        done = after_delivery(delivery)
    assert (done.status, done.retry_count) == (JobStatus.FAILED, 2)
    assert engine.get(job.id) == job
    texts = [entry.text for entry in engine.store.journal(delivery.id, "attempt")]
    assert len(texts) == 3
    assert "canary" not in f"{texts} {done.error} {caplog.text}"


def test_the_delivery_of_the_package_reaches_nothing_of_ours(engine: Engine, receiver: Receiver) -> None:
    settings = receiver.settings
    settings["API"]["WEBHOOKS"]["HOSTS"] = ["127.0.0.10"]
    with override_settings(ASYNCJOBS=settings):
        exchange_engine(engine)
        job = acts.says.submit("word")
        run_jobs(queues=["default"])
        delivery = engine.submit(delivery_of(job, "https://127.0.0.10/told", get_conf().api.webhooks))
        engine.run_now(delivery.id)
        failed = after_delivery(delivery)
    assert failed.error is not None
    assert (failed.status, failed.error.code) == (JobStatus.SCHEDULED, "WEBHOOK_FAILED")
    assert "127.0.0.10 is not at a public address" in failed.error.message


def test_a_job_that_is_retried_while_its_end_is_told_is_told_of_again(
    engine: Engine, receiver: Receiver, clock: Clock
) -> None:
    job, delivery = ended(receiver)

    def answer(handler: Request) -> None:
        clock.advance(1)
        engine.retry(job.id)
        status(200)(handler)

    receiver.answers.append(answer)
    assert after_delivery(delivery).status == JobStatus.SCHEDULED
    run_jobs(queues=["default"])
    engine.run_now(delivery.id)
    assert after_delivery(delivery).status == JobStatus.COMPLETED
    assert len({received.headers["webhook-id"] for received in receiver.received}) == 2


def test_a_job_that_is_retried_by_hand_is_told_of_again(engine: Engine, receiver: Receiver, clock: Clock) -> None:
    job, delivery = ended(receiver)
    after_delivery(delivery)
    clock.advance(1)
    again(engine, job)
    assert run_jobs(queues=WEBHOOKS) == []  # before the job is retried, it would be told what is known
    engine.retry(job.id)
    clock.advance(1_000)
    assert after_delivery(delivery).status == JobStatus.SCHEDULED
    run_jobs(queues=["default"])
    clock.advance(60_000)
    assert after_delivery(delivery).status == JobStatus.COMPLETED
    assert len({received.headers["webhook-id"] for received in receiver.received}) == 2


def test_a_delivery_that_goes_on_or_was_stopped_by_hand_is_left_alone(engine: Engine, receiver: Receiver) -> None:
    job, delivery = ended(receiver)
    again(engine, job)
    assert engine.get(delivery.id) == delivery
    canceled = engine.cancel(delivery.id)
    again(engine, job)
    ring(job)
    assert engine.get(delivery.id) == canceled
    engine.delete(delivery.id)
    again(engine, job)
    ring(job)
    assert engine.store.get([delivery.id]) == [None]


def test_a_job_without_a_callback_has_no_delivery(engine: Engine, receiver: Receiver) -> None:
    job = acts.says.submit("word")
    [done] = run_jobs()
    deaf = Engine(FaultyStore(engine.store, [Fault.BEFORE] * 9), get_conf())  # type: ignore[arg-type]
    exchange_engine(deaf)
    again(deaf, job)
    ring(done)


@pytest.mark.parametrize(
    ("handler", "end"), [(acts.says, JobStatus.COMPLETED), (acts.breaks, JobStatus.FAILED)], ids=["completed", "failed"]
)
def test_the_end_of_a_run_has_the_delivery_run_at_once(
    engine: Engine, receiver: Receiver, hire: Hire, handler: Handler[..., Any], end: JobStatus
) -> None:
    job, delivery = with_callback(handler, *(("word",) if handler is acts.says else ()), url=receiver.url)
    hire(burst=True).child.run()
    assert engine.get(job.id).status == end
    assert engine.get(delivery.id).status == JobStatus.QUEUED


def test_a_failure_that_is_tried_again_rings_for_nobody(engine: Engine, receiver: Receiver) -> None:
    job, delivery = with_callback(acts.fails, "word", url=receiver.url)
    signals.tell(signals.job_failed, None, job=job, error=None)
    assert engine.get(delivery.id) == delivery


def test_the_end_of_a_run_after_a_retry_by_hand_rings_for_the_delivery_that_ended(
    engine: Engine, receiver: Receiver, clock: Clock
) -> None:
    job, delivery = ended(receiver)
    after_delivery(delivery)
    clock.advance(1)
    engine.retry(job.id)
    [done] = run_jobs(queues=["default"])
    ring(done)
    assert after_delivery(delivery).status == JobStatus.COMPLETED
    assert len(receiver.received) == 2


def test_an_end_that_was_told_is_not_told_twice(engine: Engine, receiver: Receiver, clock: Clock) -> None:
    job, delivery = ended(receiver)
    clock.advance(1)
    told = after_delivery(delivery)
    ring(job)
    assert engine.get(delivery.id) == told


def test_what_goes_wrong_while_ringing_is_logged(
    engine: Engine, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    job, _ = ended(receiver)
    exchange_engine(Engine(FaultyStore(engine.store, [Fault.BEFORE]), get_conf()))  # type: ignore[arg-type]
    ring(job)
    [record] = [record for record in caplog.records if record.name == "asyncjobs.webhooks"]
    assert (record.levelname, record.__dict__["job_id"]) == ("WARNING", job.id)
    assert "canary" not in caplog.text


def listened() -> list[bool]:
    ends = (signals.job_completed, signals.job_failed, signals.job_canceled)
    return [signal.has_listeners() for signal in ends]


def test_nobody_listens_while_webhooks_are_off(receiver: Receiver) -> None:
    assert listened() == [False] * 3
    with override_settings(ASYNCJOBS=receiver.settings):
        assert listened() == [True] * 3
        with override_settings(ASYNCJOBS={"API": {"WEBHOOKS": {"HOSTS": 5}}}):
            assert listened() == [False] * 3
    assert listened() == [False] * 3


def test_workers_know_the_queue_of_webhooks_while_these_are_on(engine: Engine) -> None:
    off = declared_queues(Engine(engine.store, Conf()))
    assert declared_queues(engine) - off == {"webhooks"}
    assert BENCH_QUEUE not in off
