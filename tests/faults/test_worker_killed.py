"""Processes die: a child, a worker with all its children. What they ran is run again, soon, and nothing else is."""

import random
import time

import pytest

from asyncjobs.domain.transitions import LEASE_EXPIRED, WORKER_DIED
from tests.faults.checker import LEASE, Trial, either, percentile
from tests.worker import jobs
from tests.workers import Worker, until

pytestmark = pytest.mark.faults
KILLS = 20
EVERY = 0.7
STEPS = 7  # between two kills, in each of which jobs are submitted
ROUNDS = KILLS * STEPS


def kill_something(trial: Trial, workers: list[Worker], chance: random.Random) -> None:
    """A child, or a whole worker, which is replaced."""
    worker = chance.choice(workers)
    children = worker.children()
    if children and chance.random() < 0.5:
        trial.kill_child(chance.choice(children))
    else:
        trial.kill(worker)
        workers.remove(worker)
        workers.append(trial.start())


@either
def test_jobs_survive_that_children_and_workers_are_killed(either_trial: Trial, chance: random.Random) -> None:
    trial, submitted = either_trial, []
    workers = [trial.start(), trial.start()]
    until(lambda: all(worker.children() for worker in workers))
    began = time.monotonic()
    for number in range(ROUNDS):
        submitted += trial.submit_many(jobs.nap, [(0.02,)] * (1500 * (number + 1) // ROUNDS - 1500 * number // ROUNDS))
        submitted += trial.submit_many(jobs.nap, [(1.0,)] * (40 * (number + 1) // ROUNDS - 40 * number // ROUNDS))
        if number % STEPS == STEPS - 1:
            kill_something(trial, workers, chance)
        time.sleep(max(0, began + (number + 1) * EVERY / STEPS - time.monotonic()))
    ended = trial.survived(submitted)
    lapsed, died = (trial.rescues(ended, error.code) for error in (LEASE_EXPIRED, WORKER_DIED))
    print(f"{len(trial.repeats())} runs repeated; rescue p99 {percentile(lapsed, 0.99):.2f} s of {len(lapsed)}")
    assert len(ended) == 1540
    assert percentile(lapsed, 0.99) <= LEASE + 1
    assert percentile(died, 0.99) <= 1
