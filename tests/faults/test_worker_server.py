"""The server dies, stands still, or its clock jumps: no healthy job is taken from its worker, and all work is done."""

import random
import signal
import time

import pytest

from asyncjobs.domain.job import Job, JobStatus
from tests.faults.checker import LEASE, Trial, client_of, statuses
from tests.servers import DurableServer
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
HOUR = 3600


def begin(trial: Trial, *, seconds: float, short: int = 300) -> list[Job]:
    """Long jobs that are running, and short ones that are about to."""
    long = trial.submit_many(jobs.nap, [(seconds,)] * 8)
    for _ in range(2):
        trial.start(processes=2, threads=4)
    until(lambda: trial.running(*long))
    return [*long, *trial.submit_many(jobs.nap, [(0.02,)] * short)]


def server_clock(trial: Trial) -> int:
    seconds: int = client_of(trial).time()[0]
    return seconds


def assert_each_ran_once(trial: Trial, submitted: list[Job]) -> None:
    ended = trial.survived(submitted)
    assert statuses(ended) == {JobStatus.COMPLETED: len(submitted)}
    assert trial.starts_of(submitted) == {1}


@pytest.mark.parametrize("seconds", [0.0, 0.45 * LEASE, 1.25 * LEASE], ids=lambda seconds: f"for {seconds:g} s")
def test_a_server_that_is_killed_and_restarted(
    trial: Trial, durable: DurableServer, chance: random.Random, seconds: float
) -> None:
    submitted = begin(trial, seconds=3 * (seconds + 1) + 2, short=600)
    for _ in range(3):
        time.sleep(chance.uniform(0.2, 0.8))
        durable.kill()
        time.sleep(seconds)
        durable.start()
    assert_each_ran_once(trial, submitted)


def test_a_server_that_stands_still(trial: Trial, durable: DurableServer) -> None:
    submitted = begin(trial, seconds=2.5 * LEASE + 3)
    durable.send(signal.SIGSTOP)
    time.sleep(2.5 * LEASE)
    durable.send(signal.SIGCONT)
    assert_each_ran_once(trial, submitted)


def test_a_clock_that_jumps(trial: Trial, durable: DurableServer) -> None:
    submitted = begin(trial, seconds=5 * LEASE)
    for ahead in (-HOUR, HOUR, 0, HOUR):
        durable.set_clock(ahead=ahead)
        until(lambda: server_clock(trial) == pytest.approx(time.time() + ahead, abs=5), seconds=2)  # noqa: B023
        submitted += trial.submit_many(jobs.nap, [(0.02,)] * 20)
        time.sleep(LEASE)
    assert_each_ran_once(trial, submitted)
