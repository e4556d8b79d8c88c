"""Very many jobs fall due in the same second: the server stays at hand, and each runs once."""

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
import redis

from asyncjobs.domain.job import JobStatus
from tests.faults.checker import Trial, percentile
from tests.servers import DurableServer
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
MANY = 50_000
PING_EVERY = 0.005


class Pinger(threading.Thread):
    """Asks again and again whether the server is there, and takes the time."""

    def __init__(self, server: DurableServer) -> None:
        super().__init__()
        self._client = redis.Redis.from_url(server.url)
        self._is_over = threading.Event()
        self.seconds: list[float] = []

    def run(self) -> None:
        while not self._is_over.wait(PING_EVERY):
            began = time.monotonic()
            self._client.ping()
            self.seconds.append(time.monotonic() - began)
        self._client.close()

    def stop(self) -> None:
        self._is_over.set()
        self.join()


def test_the_server_answers_while_very_many_jobs_fall_due(trial: Trial, durable: DurableServer) -> None:
    due = datetime.now(UTC) + timedelta(seconds=10)
    submitted = trial.submit_many(jobs.answers, [(1,)] * MANY, run_at=due)
    trial.start(processes=2, threads=1)
    assert datetime.now(UTC) < due, "the machine is too slow to have them all fall due at once"
    until(lambda: datetime.now(UTC) > due - timedelta(seconds=0.2))
    pinger = Pinger(durable)
    pinger.start()
    until(lambda: trial.count_ended() >= MANY, every=0.05)
    pinger.stop()
    print(f"{MANY} jobs; PING p50 {percentile(pinger.seconds, 0.5):.4f} s, p99 {percentile(pinger.seconds, 0.99):.4f} s")
    assert percentile(pinger.seconds, 0.99) <= 0.02
    ended = trial.survived(submitted)
    assert {(job.status, job.attempt, job.version) for job in ended} == {(JobStatus.COMPLETED, 1, 4)}
