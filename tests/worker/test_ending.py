"""Runs that end otherwise than by themselves: canceled, too long, or under a process that dies. And how workers end."""

import os
import signal
import time
from pathlib import Path

import pytest

from asyncjobs import retry
from asyncjobs.domain.job import Job, JobStatus
from tests.worker import jobs
from tests.worker.conftest import World, of_kinds
from tests.workers import until


@pytest.fixture(params=of_kinds("valkey", "sqlite", "postgres"))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def begun(world: World, *submitted: Job) -> None:
    until(lambda: all(world.running(job) for job in submitted))


@pytest.mark.parametrize("handler", [jobs.polite, jobs.async_nap], ids=["a thread is told", "a coroutine is canceled"])
def test_a_running_job_is_canceled_from_elsewhere(world: World, handler: jobs.Handler) -> None:
    world.site.start("--processes=1")
    job = handler.submit(30)
    begun(world, job)
    world.engine.cancel(job.id, reason="enough")
    [ended] = world.ended(job, seconds=10)
    assert (ended.status, ended.retry_count) == (JobStatus.CANCELED, 0)
    assert world.site.effects("end") == []


@pytest.mark.slow
def test_a_job_that_does_not_listen_is_killed_if_the_operator_wants_that(world: World) -> None:
    world.site.start("--processes=1", "--kill-on-cancel=0.5")
    job = jobs.stubborn.submit(30)
    begun(world, job)
    world.engine.cancel(job.id)
    [ended] = world.ended(job, seconds=10)
    assert (ended.status, ended.crashes) == (JobStatus.CANCELED, 0)
    world.ended(jobs.quick.submit())


@pytest.mark.parametrize("handler", [jobs.polite, jobs.async_nap], ids=["a thread is told", "a coroutine is canceled"])
def test_a_soft_timeout_ends_the_run_and_not_the_process(world: World, handler: jobs.Handler) -> None:
    world.site.start("--processes=1")
    job = world.submit(handler, 30, soft_timeout=0.3, max_retries=0)
    [ended] = world.ended(job, seconds=10)
    assert ended.error is not None
    assert (ended.status, ended.error.code, ended.crashes) == (JobStatus.FAILED, "TIMEOUT", 0)
    after = jobs.quick.submit()
    world.ended(after)
    pids = {effect.job_id: effect.pid for effect in world.site.effects("start")}
    assert pids[job.id] == pids[after.id]


def test_a_hard_timeout_kills_the_guilty_and_all_it_started(world: World) -> None:
    world.site.start("--processes=1", "--threads=2")
    innocent = jobs.nap.submit(1.5)
    guilty = world.submit(jobs.parent_of_another, 60, timeout=1, max_retries=0)
    [ended] = world.ended(guilty, seconds=10)
    assert ended.error is not None
    assert (ended.status, ended.error.code, ended.crashes) == (JobStatus.FAILED, "TIMEOUT", 0)
    [started] = [effect for effect in world.site.effects() if effect.word.startswith("started:")]
    until(lambda: not is_alive(int(started.word.partition(":")[2])))
    [other] = world.ended(innocent)
    assert (other.status, other.crashes, other.attempt) == (JobStatus.COMPLETED, 0, 1)


def test_a_hard_timeout_is_retried_as_the_handler_says(world: World) -> None:
    world.site.start("--processes=1")
    job = world.submit(jobs.stubborn, 60, timeout=0.2, max_retries=1, retry=retry.fixed(0.01))
    [ended] = world.ended(job, seconds=20)
    assert (ended.status, ended.attempt, world.starts(job)) == (JobStatus.FAILED, 2, 2)
    assert len(world.store.journal(job.id, "attempt")) == 2


@pytest.mark.parametrize("kind_of_death", ["kill", "exit", "segfault"])
def test_a_job_that_kills_its_process_is_a_dead_letter_after_three(world: World, kind_of_death: str) -> None:
    world.site.start("--processes=1")
    job, others = jobs.poison.submit(kind_of_death), [jobs.quick.submit(number) for number in range(20)]
    [ended] = world.ended(job)
    assert ended.error is not None
    assert (ended.status, ended.error.code, ended.crashes) == (JobStatus.FAILED, "WORKER_DIED", 3)
    assert world.starts(job) == 3
    assert {(other.status, other.attempt, other.crashes) for other in world.ended(*others)} == {
        (JobStatus.COMPLETED, 1, 0)
    }


def test_a_suspect_runs_alone(world: World) -> None:
    """With several threads nobody can say who killed the process: it is found out one by one."""
    world.site.start("--processes=1", "--threads=4")
    poison, innocent = jobs.poison.submit("kill"), [jobs.nap.submit(0.3) for _ in range(6)]
    [ended] = world.ended(poison)
    assert (ended.status, world.starts(poison)) == (JobStatus.FAILED, 3)
    assert {job.status for job in world.ended(*innocent)} == {JobStatus.COMPLETED}
    assert max(job.crashes for job in world.ended(*innocent)) <= 1


def test_the_jobs_of_a_dead_worker_are_taken_over(world: World) -> None:
    first = world.site.start("--processes=1", "--lease=1")
    job = jobs.nap.submit(1)
    begun(world, job)
    first.kill()
    world.site.start("--processes=1", "--lease=1")
    [ended] = world.ended(job)
    assert (ended.status, ended.lapses, world.starts(job)) == (JobStatus.COMPLETED, 1, 2)


@pytest.mark.slow
def test_a_lease_is_extended_while_the_job_runs(world: World) -> None:
    for _ in range(2):
        world.site.start("--processes=1", "--lease=1")
    job = jobs.nap.submit(3)
    [ended] = world.ended(job)
    assert (ended.status, ended.attempt, ended.lapses, world.starts(job)) == (JobStatus.COMPLETED, 1, 0, 1)


def test_the_first_signal_lets_what_runs_finish(world: World) -> None:
    worker = world.site.start("--processes=2")
    running = [jobs.nap.submit(1) for _ in range(2)]
    begun(world, *running)
    waiting = jobs.quick.submit()
    assert worker.stop() == 0, worker.said()
    assert {(job.status, job.attempt) for job in world.ended(*running)} == {(JobStatus.COMPLETED, 1)}
    assert world.stored(waiting).status == JobStatus.QUEUED


@pytest.mark.parametrize("handler", [jobs.stubborn, jobs.async_nap])
def test_what_outlasts_the_grace_is_handed_back(world: World, handler: jobs.Handler) -> None:
    worker = world.site.start("--processes=1", "--grace=0.3")
    job = handler.submit(60)
    begun(world, job)
    before = time.monotonic()
    assert worker.stop() == 0, worker.said()
    assert time.monotonic() - before < 8, "long before it would have ended"
    stored = world.stored(job)
    assert (stored.status, stored.attempt, stored.crashes) == (JobStatus.QUEUED, 0, 0)


def test_a_second_signal_does_not_wait(world: World) -> None:
    worker = world.site.start("--processes=1", "--grace=60")
    job = jobs.stubborn.submit(60)
    begun(world, job)
    worker.send(signal.SIGINT)
    until(lambda: "finishing" in worker.said())
    worker.send(signal.SIGINT)
    assert worker.wait(5) == 0, worker.said()
    assert (world.stored(job).status, world.stored(job).attempt) == (JobStatus.QUEUED, 0)


def test_no_process_outlives_its_supervisor(world: World) -> None:
    worker = world.site.start("--processes=2")
    until(lambda: len(worker.children()) == 2)
    children = worker.children()
    os.kill(worker.pid, signal.SIGKILL)
    until(lambda: not any(map(is_alive, children)))
