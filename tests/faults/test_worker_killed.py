"""Processes die: a child, a worker with all its children. What they ran is run again, soon, and nothing else is."""

import random
import time

import pytest

from asyncjobs.domain.job import Job
from asyncjobs.domain.transitions import LEASE_EXPIRED, WORKER_DIED
from tests.faults.checker import LEASE, Trial, either, percentile
from tests.promptness import best_of
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
    """One worker is never killed: others may be slow to start, and somebody has to be there to rescue in time."""
    trial, submitted = either_trial, list[Job]()
    unharmed, *workers = [trial.start() for _ in range(3)]
    until(lambda: all(worker.children() for worker in [unharmed, *workers]))

    def rescued_late_by() -> float:
        before = len(submitted)
        began = time.monotonic()
        for number in range(ROUNDS):
            submitted.extend(trial.submit_many(jobs.nap, [(0.02,)] * share_of(1500, number)))
            submitted.extend(trial.submit_many(jobs.nap, [(1.0,)] * share_of(40, number)))
            if number % STEPS == STEPS - 1:
                kill_something(trial, workers, chance)
            time.sleep(max(0, began + (number + 1) * EVERY / STEPS - time.monotonic()))
        ended = trial.survived(submitted)[before:]
        lapsed, died = (trial.rescues(ended, error.code) for error in (LEASE_EXPIRED, WORKER_DIED))
        print(f"{len(trial.repeats())} runs repeated; rescue p99 {percentile(lapsed, 0.99):.2f} s of {len(lapsed)}")
        assert len(ended) == 1540
        return max(percentile(lapsed, 0.99) - LEASE, percentile(died, 0.99))

    assert best_of(rescued_late_by, enough=1, rounds=3) <= 1


def share_of(total: int, number: int) -> int:
    """How many of them are submitted in this round."""
    return total * (number + 1) // ROUNDS - total * number // ROUNDS
