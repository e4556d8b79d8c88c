"""Workers are told to end, and handlers take long: nothing is charged, nothing runs twice, and the guilty alone die."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from asyncjobs.domain.job import JobStatus
from asyncjobs.domain.transitions import LEASE_EXPIRED
from asyncjobs.registry import Handler
from tests.faults.checker import LEASE, Trial, client_of, either, gone, statuses
from tests.worker import jobs
from tests.workers import Effect, Worker, until

pytestmark = pytest.mark.faults
GRACE = 2.0


@either
def test_rolling_restarts_charge_nothing(either_trial: Trial) -> None:
    trial, submitted, slowest = either_trial, [], 0.0
    workers = [trial.start(f"--grace={GRACE}") for _ in range(2)]
    until(lambda: all(worker.children() for worker in workers))
    for _ in range(5):
        submitted += trial.submit_many(jobs.nap, [(0.05,)] * 200)
        for worker in list(workers):
            workers.append(trial.start(f"--grace={GRACE}"))
            until(workers[-1].children)
            began = time.monotonic()
            assert worker.stop() == 0, worker.said()
            slowest = max(slowest, time.monotonic() - began)
            workers.remove(worker)
    ended = trial.survived(submitted)
    print(f"the slowest worker ended in {slowest:.2f} s")
    assert slowest <= GRACE + 1
    assert {(job.status, job.attempt) for job in ended} == {(JobStatus.COMPLETED, 1)}
    assert trial.starts_of(ended) == {1}


def test_a_handler_that_hogs_the_interpreter_keeps_its_lease(trial: Trial) -> None:
    for _ in range(2):
        trial.start(processes=1, threads=1)
    job = trial.submit(jobs.hog, 3 * LEASE)
    deadlines = set()

    def ends() -> bool:
        stored = trial.stored(job)
        deadlines.add(stored.claimed_until)
        return stored.is_terminal

    until(ends)
    ended = trial.survived([job])
    assert statuses(ended) == {JobStatus.COMPLETED: 1}
    assert trial.starts_of(ended) == {1}
    assert len(deadlines - {None}) >= 3 * 2


@pytest.mark.parametrize("handler", [jobs.stubborn, jobs.parent_of_another], ids=["alone", "with a process of its own"])
def test_a_run_past_its_timeout_is_killed_with_all_it_started(trial: Trial, handler: Handler[..., Any]) -> None:
    trial.start(processes=1, threads=2)
    beside = trial.submit(jobs.nap, 3.0)
    until(lambda: trial.running(beside))
    guilty = trial.submit(handler, 30.0, timeout=1, max_retries=0)
    start: Effect = until(lambda: next((it for it in trial.site.effects("start") if it.job_id == guilty.id), None))
    until(lambda: gone(start.pid))
    assert time.monotonic() - start.at == pytest.approx(1, abs=0.5)
    next_one = trial.submit(jobs.quick)
    until(lambda: trial.running(next_one), seconds=1)
    killed, innocent, _ = trial.survived([guilty, beside, next_one])
    assert (killed.status, killed.error and killed.error.code, killed.crashes) == (JobStatus.FAILED, "TIMEOUT", 0)
    assert (innocent.status, innocent.attempt, innocent.crashes) == (JobStatus.COMPLETED, 1, 0)
    started = [effect.word for effect in trial.site.effects() if effect.word.startswith("started:")]
    assert len(started) == (handler is jobs.parent_of_another)
    assert all(gone(int(word.partition(":")[2])) for word in started)


@either
def test_the_jobs_of_a_dead_worker_come_back_within_a_lease(either_trial: Trial) -> None:
    assert_taken_over(either_trial, either_trial.kill)


def test_children_die_with_their_supervisor(trial: Trial) -> None:
    def kill_supervisor(worker: Worker) -> None:
        children = worker.children()
        trial.killed |= dict.fromkeys([worker.pid, *children], time.monotonic())
        worker.send(signal.SIGKILL)
        until(lambda: all(map(gone, children)), seconds=1)

    assert_taken_over(trial, kill_supervisor)


def assert_taken_over(trial: Trial, kill: Callable[[Worker], None]) -> None:
    """Another worker runs what this one ran."""
    doomed = trial.start()
    lost = trial.submit_many(jobs.nap, [(LEASE,)] * 4)
    until(lambda: trial.running(*lost))
    other = trial.start()
    until(other.children)
    kill(doomed)
    ended = trial.survived(lost)
    delays = trial.rescues(ended, LEASE_EXPIRED.code)
    print(f"rescued within {max(delays):.2f} s")
    assert len(delays) == 4
    assert max(delays) <= LEASE + 1
    assert {(job.status, job.attempt, job.lapses, job.crashes) for job in ended} == {(JobStatus.COMPLETED, 2, 1, 0)}


def test_idle_workers_look_at_the_clock_of_leases_often_enough(trial: Trial) -> None:
    """Or the next look finds it unwatched, and nobody is rescued for one lease more."""
    trial.start(processes=1)

    def grace() -> Any:
        return client_of(trial).hget("ae:clock", "grace")

    until(grace)
    time.sleep(LEASE)
    first = grace()
    time.sleep(2 * LEASE)
    assert grace() == first
