"""Very many jobs fall due in the same second: the server stays at hand, and each runs once."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import redis

from asyncjobs.domain.job import Job, JobStatus
from tests.faults.checker import percentile
from tests.faults.conftest import OpenStore, OpenTrial
from tests.promptness import best_of
from tests.servers import RedisServer, valkey_binary
from tests.worker import jobs
from tests.workers import until

pytestmark = [pytest.mark.faults, pytest.mark.alone]
MANY = 50_000
PING_EVERY = 0.005
SLOWEST = 0.02


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """Without a log on disk, which is another thing to wait for."""
    server = RedisServer(valkey_binary())
    yield server
    server.stop()


def pings(server: RedisServer, happens: Callable[[], bool]) -> tuple[list[float], list[float]]:
    """How long each answer took until `happens`, and how late this process was woken before: the machine is busy."""
    answers, lags = [], []
    with redis.Redis.from_url(server.url) as client:
        while not happens():
            for _ in range(20):
                began = time.monotonic()
                time.sleep(PING_EVERY)
                woken = time.monotonic()
                client.ping()
                answers.append(time.monotonic() - woken)
                lags.append(woken - began - PING_EVERY)
    return answers, lags


def test_the_server_answers_while_very_many_jobs_fall_due(
    server: RedisServer, open_store: OpenStore, open_trial: OpenTrial
) -> None:
    trial = open_trial(open_store(server.port), redis=server.url)
    worker = trial.start(processes=2, threads=1)
    until(worker.children)
    submitted: list[Job] = []

    def slowest_answer() -> float:
        """Beyond what the machine's own delay explains."""
        due = datetime.now(UTC) + timedelta(seconds=10)
        submitted.extend(trial.submit_many(jobs.answers, [(1,)] * MANY, run_at=due))
        assert datetime.now(UTC) < due, "the machine is too slow to have them all fall due at once"
        until(lambda: datetime.now(UTC) > due - timedelta(seconds=0.2), seconds=15)
        answers, lags = pings(server, lambda: trial.count_ended() >= len(submitted))
        slowest, lag = percentile(answers, 0.99), percentile(lags, 0.99)
        print(f"{MANY} jobs; {len(answers)} PINGs, p99 {slowest:.4f} s; p99 of the machine's own delay {lag:.4f} s")
        return slowest - 2 * lag

    assert best_of(slowest_answer, enough=SLOWEST, rounds=3) <= SLOWEST
    ended = trial.survived(submitted)
    assert {(job.status, job.attempt, job.version) for job in ended} == {(JobStatus.COMPLETED, 1, 4)}
