"""What projects use in their own tests: jobs in memory, submitted and run on the spot."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from asyncjobs import Engine, JobStatus, get_engine, job, retry
from asyncjobs.errors import JobFailed, UnknownHandler
from asyncjobs.outcome import MAX_MESSAGE, MAX_TRACEBACK, error_of
from asyncjobs.registry import lookup
from asyncjobs.testing import memory_jobs, run_jobs, submitted
from asyncjobs.worker.context import current_job_id


@job
def double(number: Decimal) -> Decimal:
    return 2 * number


@job
async def wait(text: str) -> str:
    return text


@job(retry=retry.fixed(60, never=(ZeroDivisionError,)), max_retries=1)
def divide(number: int, by: int) -> float:
    return number / by


@job(retry=retry.fixed(60), max_retries=1)
def fail(message: str) -> None:
    raise ValueError(message)


@job
def answer(kind: str) -> Any:
    return {"set": {1}, "long": "x" * 100_000}[kind]


@job(queue="other")
def spread(count: int) -> None:
    if count:
        spread.submit(count - 1)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with memory_jobs() as engine:
        yield engine


def test_jobs_of_the_block_are_its_own() -> None:
    before = get_engine()
    with memory_jobs() as engine:
        assert get_engine() is engine
        double.submit(Decimal(1))
        with memory_jobs():
            assert submitted() == []
        assert len(submitted()) == 1
    assert get_engine() is before


@memory_jobs()
def test_a_whole_test_can_have_jobs_of_its_own() -> None:
    double.submit(Decimal(1))
    assert len(submitted()) == 1


def test_so_can_an_async_test() -> None:
    @memory_jobs()
    async def whole_test() -> list[str]:
        await wait.asubmit("x")
        await sync_to_async(run_jobs)()
        return [job.name for job in submitted() if get_engine().result(job.id) == "x"]

    with memory_jobs():
        assert asyncio.run(whole_test()) == [wait.name]
        assert submitted() == []


def test_submitted_jobs_are_seen_in_order(engine: Engine) -> None:
    jobs = [double.submit(Decimal(number)) for number in range(60)]
    other = wait.submit_in(60, "x")
    engine.cancel(jobs[0].id)
    assert {job.id for job in submitted(double)} == {job.id for job in jobs}
    assert [job.id for job in submitted(wait)] == [other.id]
    assert len(submitted()) == 61


def test_jobs_are_run(engine: Engine) -> None:
    jobs = [double.submit(Decimal("1.5")), wait.submit("x")]
    assert [job.status for job in run_jobs()] == [JobStatus.COMPLETED] * 2
    assert [engine.result(job.id) for job in jobs] == [Decimal("3.0"), "x"]
    assert run_jobs() == []


def test_jobs_that_are_submitted_by_jobs_are_run_too(engine: Engine) -> None:
    spread.submit(3)
    assert len(run_jobs()) == 4


def test_no_more_jobs_are_run_than_told(engine: Engine) -> None:
    spread.submit(1_000)
    assert len(run_jobs(limit=5)) == 5


def test_only_these_queues_are_run(engine: Engine) -> None:
    spread.submit(0)
    double.submit(Decimal(1))
    assert [job.queue for job in run_jobs(queues=["other"])] == ["other"]


def test_scheduled_jobs_wait_for_their_time(engine: Engine) -> None:
    later = double.submit_in(timedelta(hours=1), Decimal(1))
    assert run_jobs() == []
    engine.run_now(later.id)
    assert len(run_jobs()) == 1


def test_a_failure_is_retried_and_then_final(engine: Engine) -> None:
    stored = fail.submit("it broke")
    [retried] = run_jobs()
    assert (retried.status, retried.retry_count) == (JobStatus.SCHEDULED, 1)
    assert retried.due_at is not None
    assert 59_000 < retried.due_at - engine.store.now() <= 60_000
    engine.run_now(stored.id)
    [failed] = run_jobs()
    assert failed.status == JobStatus.FAILED
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == ("HANDLER_ERROR", "it broke")
    assert failed.error.type == "builtins.ValueError"
    assert failed.error.traceback.endswith("ValueError: it broke\n")
    with pytest.raises(JobFailed):
        engine.result(stored.id)


def test_a_job_that_failed_is_not_tried_again_by_chance(engine: Engine) -> None:
    again = fail.using(retry=retry.exponential(1), max_retries=5)
    again.submit_many(again.call("x") for _ in range(300))
    assert [job.attempt for job in run_jobs()] == [1] * 300


def test_an_exception_may_be_final_at_once(engine: Engine) -> None:
    divide.submit(1, 0)
    assert [job.status for job in run_jobs()] == [JobStatus.FAILED]


def test_the_jobs_own_policy_comes_before_the_handlers(engine: Engine) -> None:
    fail.using(retry=retry.none()).submit("x")
    assert [job.status for job in run_jobs()] == [JobStatus.FAILED]


@pytest.mark.parametrize(("kind", "code"), [("set", "INVALID_RESULT"), ("long", "PAYLOAD_TOO_LARGE")])
def test_a_result_that_cannot_be_stored_fails_the_job(engine: Engine, kind: str, code: str) -> None:
    answer.using(max_retries=0).submit(kind)
    [failed] = run_jobs()
    assert failed.error is not None
    assert (failed.status, failed.error.code) == (JobStatus.FAILED, code)


def test_a_job_without_handler_is_an_error_of_the_test(engine: Engine) -> None:
    stored = double.submit(Decimal(1))
    engine.submit(stored.replace(id="00000000-0000-4000-8000-000000000000", name="gone"))
    with pytest.raises(UnknownHandler):
        run_jobs()
    with pytest.raises(UnknownHandler):
        lookup("gone")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_every_exception_becomes_text_that_can_be_stored() -> None:
    assert error_of(Unprintable()).message == "(this exception cannot be shown as text)"
    assert error_of(ValueError("a\0b\ud800")).message == "a\\0b\\ud800"
    long = error_of(ValueError("x" * 100_000))
    assert len(long.message) == MAX_MESSAGE
    assert MAX_MESSAGE < len(long.traceback) <= MAX_TRACEBACK
    assert error_of(JobFailed("no")).code == "JOB_FAILED"


def test_a_run_leaves_its_context_to_nobody(engine: Engine) -> None:
    wait.submit("async")
    double.submit(Decimal(2))
    run_jobs()
    assert current_job_id() == ""
