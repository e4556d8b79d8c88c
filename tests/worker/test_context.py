"""What a handler can ask about its run, and say of it."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from asyncjobs import Interrupted, job_context
from asyncjobs.domain.job import Job, Progress
from asyncjobs.errors import InvalidJob
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import JOURNAL_LIMITS, MAX_ENTRY
from asyncjobs.worker import context as contexts
from asyncjobs.worker.context import MAX_COUNT, MAX_LINE, MAX_MESSAGE, JobContext, current_job_id
from asyncjobs.worker.held import Flag

JOB = Job(id=new_ids(1)[0], name="n", version=5, attempt=2)


def context(**options: Any) -> JobContext:
    return JobContext(JOB, **options)


def progress_of(context: JobContext) -> Progress:
    progress = context.noted_on(JOB).progress
    assert progress is not None
    return progress


def test_it_names_the_run() -> None:
    run = context()
    assert (run.attempt, run.fence, run.idempotency_key) == (2, 5, JOB.id)


def test_the_fence_grows_with_every_holder_and_the_key_stays() -> None:
    later = JobContext(JOB.replace(version=8))
    assert later.fence > context().fence
    assert later.idempotency_key == context().idempotency_key


def test_the_last_progress_is_noted_on_the_job() -> None:
    run = context()
    assert run.noted_on(JOB) is JOB
    run.progress(1, 10)
    run.progress(2, 10, "counting")
    assert progress_of(run) == Progress(done=2, total=10, message="counting")


def test_progress_needs_no_total() -> None:
    run = context()
    run.progress(0)
    assert progress_of(run) == Progress(done=0)


@pytest.mark.parametrize("number", [-1, 1.5, True, "3", MAX_COUNT + 1, float("nan"), None])
def test_progress_is_counted_in_whole_numbers(number: Any) -> None:
    run = context()
    with pytest.raises(InvalidJob, match="whole numbers"):
        run.progress(number)
    if number is not None:
        with pytest.raises(InvalidJob, match="whole numbers"):
            run.progress(1, number)
    assert run.noted_on(JOB) is JOB


def test_the_largest_progress_is_taken() -> None:
    run = context()
    run.progress(MAX_COUNT, MAX_COUNT)
    assert progress_of(run).done == MAX_COUNT


def test_a_message_is_bounded_and_storable() -> None:
    run = context()
    run.progress(1, message="é\0\ud800" + "x" * 10_000)
    message = progress_of(run).message
    assert message.startswith("é\\0\\ud800x")
    assert len(message) == MAX_MESSAGE


def test_a_message_need_not_be_text() -> None:
    run = context()
    run.progress(1, message=ValueError("odd"))  # type: ignore[arg-type]  # what people pass
    assert progress_of(run).message == "odd"


def test_lines_are_kept_with_the_time() -> None:
    run = context(now=lambda: 77)
    run.log("one")
    run.log({"two": 2})
    assert [(line.kind, line.at, line.text) for line in run.take_lines()] == [
        ("log", 77, "one"),
        ("log", 77, "{'two': 2}"),
    ]
    assert run.take_lines() == ()


@pytest.mark.parametrize("char", ["x", "é", "€", "😀", "\0", "\ud800", "\n"])
def test_a_line_is_bounded_and_storable_whatever_it_contains(char: str) -> None:
    run = context()
    run.log(char * 100_000)
    [line] = run.take_lines()
    assert len(line.text) <= MAX_LINE
    assert len(line.text.encode()) <= MAX_ENTRY
    assert "\0" not in line.text


def test_of_very_many_lines_the_last_are_kept() -> None:
    run = context()
    for number in range(2_000):
        run.log(number)
    lines = run.take_lines()
    assert len(lines) == JOURNAL_LIMITS["log"]
    assert lines[-1].text == "1999"


def test_whoever_stores_notes_is_told_of_each() -> None:
    told: list[JobContext] = []
    run = context(noted=told.append)
    run.log("line")
    run.progress(1)
    assert told == [run, run]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [(Flag.CANCEL, "canceled"), (Flag.LOST, "lost"), (Flag.LOST | Flag.CANCEL, "lost")],
)
def test_a_run_ends_at_its_next_look_for_the_reason_there_is(flags: Flag, reason: str) -> None:
    flagged = [Flag(0)]
    run = context(flags=lambda: flagged[0])
    run.check_cancelled()
    assert not run.reason()
    flagged[0] = flags
    assert run.cancel_requested
    for look in (run.check_cancelled, lambda: run.progress(1)):
        with pytest.raises(Interrupted) as ended:
            look()
        assert ended.value.reason == reason


@pytest.mark.parametrize("reason", ["left", "timeout"])
def test_a_run_ends_when_it_is_ended_from_outside(reason: Any) -> None:
    run = context()
    run.ended_by = reason
    with pytest.raises(Interrupted) as ended:
        run.check_cancelled()
    assert ended.value.reason == reason


def test_a_soft_end_is_no_end_before_its_time() -> None:
    run = JobContext(JOB.replace(soft_timeout_ms=60_000))
    run.check_cancelled()
    assert not run.cancel_requested


def test_a_run_ends_at_its_soft_end() -> None:
    run = JobContext(JOB.replace(soft_timeout_ms=1))
    with pytest.raises(Interrupted) as ended:
        while True:
            run.check_cancelled()
    assert ended.value.reason == "timeout"


def test_somebodys_wish_to_cancel_goes_before_the_soft_end() -> None:
    run = JobContext(JOB.replace(soft_timeout_ms=1), flags=lambda: Flag.CANCEL)
    while run.reason() is None:
        pass
    assert run.reason() == "canceled"


def test_progress_is_noted_even_when_it_ends_the_run() -> None:
    run = context(flags=lambda: Flag.CANCEL)
    with pytest.raises(Interrupted):
        run.progress(3)
    assert progress_of(run).done == 3


def test_except_exception_lets_the_end_through() -> None:
    with pytest.raises(Interrupted):
        try:
            context(flags=lambda: Flag.CANCEL).check_cancelled()
        except Exception:
            pytest.fail("caught")


def test_snooze_ends_the_run_and_says_for_how_long() -> None:
    with pytest.raises(Interrupted) as ended:
        context().snooze(1.5)
    assert (ended.value.reason, ended.value.delay) == ("snoozed", 1_500)


@pytest.mark.parametrize("delay", [-1, float("nan"), "soon", None])
def test_a_snooze_needs_a_delay(delay: Any) -> None:
    with pytest.raises(InvalidJob):
        context().snooze(delay)


def test_outside_of_a_run_there_is_a_context_that_leads_nowhere() -> None:
    run = job_context()
    run.progress(1, 2, "x")
    run.log("line")
    run.check_cancelled()
    assert not run.is_canceled
    assert run.attempt == 0
    assert current_job_id() == ""
    assert job_context().job.id != run.job.id


def within(run: JobContext, look: Any) -> Any:
    """What `look` answers, called as the handler of that run would."""

    def enter_and_look() -> Any:
        contexts.enter(run)
        return look()

    return contextvars.Context().run(enter_and_look)


def test_within_a_run_its_context_is_found_however_deep() -> None:
    run = context()
    assert within(run, lambda: (lambda: job_context())()) is run
    assert within(run, current_job_id) == JOB.id


def test_coroutines_of_a_run_find_its_context_and_others_do_not() -> None:
    first, second = context(), JobContext(JOB.replace(id=new_ids(1)[0]))

    async def deep() -> JobContext:
        await asyncio.sleep(0)
        return await asyncio.create_task(look())

    async def look() -> JobContext:
        return job_context()

    async def of(run: JobContext) -> JobContext:
        contexts.enter(run)
        return await deep()

    async def both() -> list[JobContext]:
        return list(await asyncio.gather(of(first), of(second)))

    assert asyncio.run(both()) == [first, second]
    assert asyncio.run(asyncio.wait_for(within_thread(first), 20)) is first


async def within_thread(run: JobContext) -> JobContext:
    contexts.enter(run)
    return await asyncio.to_thread(job_context)


def test_a_thread_of_the_handlers_own_is_outside_of_the_run() -> None:
    found: list[str] = []

    def look() -> None:
        thread = threading.Thread(target=lambda: found.append(current_job_id()))
        thread.start()
        thread.join(20)

    within(context(), look)
    assert found == [""]
