"""A worker runs jobs of every kind, and records what became of each. Real processes, on every store."""

import json

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Entry
from tests.worker import jobs
from tests.worker.conftest import World
from tests.workers import until

BURST = ("--burst", "--processes=1")


def entries(world: World, job_id: str) -> list[dict[str, object]]:
    return [json.loads(entry.text) for entry in world.store.journal(job_id, "attempt")]


def test_a_burst_runs_what_is_there_and_ends(world: World) -> None:
    submitted = jobs.quick.submit_many(jobs.quick.call(number) for number in range(50))
    worker = world.site.start(*BURST)
    assert worker.wait() == 0, worker.said()
    done = world.ended(*submitted)
    assert [job.result for job in done] == [str(number) for number in range(50)]
    assert {job.attempt for job in done} == {1}
    assert len(world.site.effects("start")) == 50


def test_every_end_is_recorded(world: World) -> None:
    completed, coroutine = jobs.answers.submit({"a": [1, None, "ü"]}), jobs.async_nap.submit(0.01)
    failed, unfit, quit_ = jobs.boom.submit("no\x1b[2Jway"), jobs.unfit_result.submit(), jobs.quits.submit()
    world.site.start("--processes=2", "--threads=2")
    ended = world.ended(completed, coroutine, failed, quit_)
    assert [job.status for job in ended] == [
        JobStatus.COMPLETED,
        JobStatus.COMPLETED,
        JobStatus.FAILED,
        JobStatus.FAILED,
    ]
    assert json.loads(ended[0].result or "") == {"a": [1, None, "ü"]}
    assert ended[2].error is not None
    assert ended[2].error.type == "builtins.ValueError"
    assert "boom" in ended[2].error.traceback
    assert ended[3].error is not None
    assert ended[3].error.type == "builtins.SystemExit"
    stored = until(lambda: (job := world.stored(unfit)).error and job)
    assert (stored.status, stored.error.code) == (JobStatus.SCHEDULED, "INVALID_RESULT")


def test_a_flaky_job_is_retried_and_every_failure_kept(world: World) -> None:
    job = jobs.flaky.submit(2)
    world.site.start("--processes=1")
    [done] = world.ended(job)
    assert (done.status, done.retry_count, done.attempt) == (JobStatus.COMPLETED, 2, 3)
    assert [entry["attempt"] for entry in entries(world, job.id)] == [1, 2]
    assert {entry["code"] for entry in entries(world, job.id)} == {"HANDLER_ERROR"}
    assert all("try again" in str(entry["traceback"]) for entry in entries(world, job.id))


def test_progress_and_log_lines_are_kept(world: World) -> None:
    job = jobs.chatty.submit(1_000)
    world.site.start(*BURST).wait()
    [done] = world.ended(job)
    assert done.progress is not None
    assert (done.progress.done, done.progress.total, done.progress.message) == (1_000, 1_000, "counting")
    lines: list[Entry] = world.store.journal(job.id, "log", limit=1_000)
    assert lines[-1].text == "line 999"
    assert [line.text for line in lines] == [f"line {number}" for number in range(1_000 - len(lines), 1_000)]


def test_a_snoozed_job_is_charged_nothing(world: World) -> None:
    job = jobs.snoozes.submit(2)
    world.site.start("--processes=1")
    [done] = world.ended(job)
    assert (done.status, done.attempt, done.retry_count) == (JobStatus.COMPLETED, 1, 0)
    assert world.starts(job) == 3


def test_a_job_whose_handler_nobody_knows_is_parked(world: World) -> None:
    known, unknown = jobs.quick.submit(), world.engine.submit(jobs.quick.submit().replace(id=GUID, name="no.such"))
    world.site.start("--processes=1")
    world.ended(known)
    parked = until(lambda: (job := world.stored(unknown)).status == JobStatus.SCHEDULED and job)
    assert (parked.attempt, parked.retry_count, parked.error.code) == (0, 0, "UNKNOWN_HANDLER")
    assert parked.due_at > world.store.now()


def test_queues_are_served_in_their_order_and_no_others(world: World) -> None:
    for queue in ("b1", "a", "other", "b2", "not-b"):
        jobs.quick.using(queue=queue).submit()
    world.site.start(*BURST, "--queues=a,b*", "--exclude=b2").wait()
    left = {counts.queue for counts in world.engine.counts() if counts.by_status.get(JobStatus.QUEUED)}
    assert left == {"other", "b2", "not-b"}
    order = [world.engine.get(effect.job_id).queue for effect in world.site.effects("start")]
    assert order == ["a", "b1"]


def test_a_delayed_job_runs_when_it_is_due(world: World) -> None:
    world.site.start("--processes=1")
    world.ended(jobs.quick.submit())
    job = jobs.quick.submit_in(0.3)
    [done] = world.ended(job, seconds=10)
    assert done.started_at is not None
    assert job.due_at is not None
    assert done.started_at >= job.due_at


def test_a_job_that_comes_while_the_worker_is_idle_is_picked_up(world: World) -> None:
    world.site.start("--processes=2")
    world.ended(jobs.quick.submit())
    for _ in range(5):
        [done] = world.ended(jobs.quick.submit(), seconds=3)
        assert done.status == JobStatus.COMPLETED


def test_a_child_is_replaced_after_so_many_jobs(world: World) -> None:
    worker = world.site.start("--processes=1", "--max-jobs=4")
    world.ended(*jobs.quick.submit_many(jobs.quick.call(number) for number in range(10)))
    assert len({effect.pid for effect in world.site.effects("start")}) >= 3
    assert worker.stop() == 0, worker.said()


def test_one_long_job_holds_back_no_short_one(world: World) -> None:
    world.site.start("--processes=2")
    world.ended(*jobs.quick.submit_many(jobs.quick.call(number) for number in range(200)))
    before = len(world.site.effects("end"))
    calls = [jobs.quick.call(number) for number in range(200)]
    short = [*jobs.quick.submit_many(calls[:50])]
    long = jobs.nap.submit(2)
    short += jobs.quick.submit_many(calls[50:])
    world.ended(*short)
    assert not world.stored(long).is_terminal
    assert len(world.site.effects("end")) >= before + 200


GUID = "4f2c0c3e-7a61-4b0c-9d5c-0c6f9f4f8a11"
