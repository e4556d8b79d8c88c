"""The server is at its memory limit: what runs is recorded, and jobs are taken again as soon as there is room."""

import pytest

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import StoreOutOfMemory
from tests.faults.checker import Trial, client_of, statuses
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
ROOM = 512 * 1024
FILLING = "x" * 10_000


def fill_up(trial: Trial) -> None:
    """Until no job is taken any more. Nobody serves the queue of those that were."""
    client = client_of(trial)
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) + ROOM)
    with pytest.raises(StoreOutOfMemory):
        for _ in range(200):
            trial.submit(jobs.answers, FILLING, queue="parked")


def submitted_at_last(trial: Trial) -> Job | None:
    try:
        return trial.submit(jobs.nap, 0.01)
    except StoreOutOfMemory:
        return None


def test_what_runs_is_recorded_and_jobs_are_taken_again(trial: Trial) -> None:
    trial.start("--queues=default", processes=2, threads=4)
    running = trial.submit_many(jobs.nap, [(2.0,)] * 8)
    until(lambda: trial.running(*running))
    fill_up(trial)
    assert statuses(trial.ended(*running)) == {JobStatus.COMPLETED: 8}
    with pytest.raises(StoreOutOfMemory):
        trial.submit_many(jobs.answers, [(FILLING,)] * 20, queue="parked")
    trial.engine.purge("parked")
    after = until(lambda: submitted_at_last(trial), seconds=5)
    assert statuses(trial.survived([*running, after])) == {JobStatus.COMPLETED: 9}
    assert trial.starts_of([*running, after]) == {1}
