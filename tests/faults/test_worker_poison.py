"""Jobs that kill their process: each is tried three times, and only it is charged."""

import random
from itertools import compress
from operator import not_
from typing import Any

import pytest

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.domain.transitions import WORKER_DIED
from asyncjobs.registry import Handler
from tests.faults.checker import Trial, either, statuses
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
KINDS = ("kill", "exit", "segfault", "kill", "segfault")
GOOD = 200


def run_poison(trial: Trial, chance: random.Random, *, processes: int, threads: int) -> tuple[list[Job], list[Job]]:
    """The poisoned and the good ones, ended."""
    calls: list[tuple[Handler[..., Any], Any]] = [(jobs.poison, kind) for kind in KINDS]
    calls += [(jobs.nap, 0.01)] * GOOD
    chance.shuffle(calls)
    submitted = [handler.submit(argument) for handler, argument in calls]
    trial.start(processes=processes, threads=threads)
    ended = trial.survived(submitted)
    is_bad = [job.name == jobs.poison.name for job in ended]
    return list(compress(ended, is_bad)), list(compress(ended, map(not_, is_bad)))


def assert_tried_three_times(trial: Trial, poisoned: list[Job]) -> None:
    assert {(job.status, job.crashes, job.attempt) for job in poisoned} == {(JobStatus.FAILED, 3, 3)}
    assert {job.error.code for job in poisoned if job.error} == {WORKER_DIED.code}
    assert trial.starts_of(poisoned) == {3}
    assert len(poisoned) == len(KINDS)


@either
def test_a_good_job_in_another_process_is_never_charged(either_trial: Trial, chance: random.Random) -> None:
    poisoned, good = run_poison(either_trial, chance, processes=4, threads=1)
    assert_tried_three_times(either_trial, poisoned)
    assert {(job.status, job.attempt, job.crashes) for job in good} == {(JobStatus.COMPLETED, 1, 0)}
    assert len(good) == GOOD


def test_a_good_job_in_the_same_process_is_run_again(trial: Trial, chance: random.Random) -> None:
    poisoned, good = run_poison(trial, chance, processes=2, threads=2)
    assert_tried_three_times(trial, poisoned)
    assert statuses(good) == {JobStatus.COMPLETED: GOOD}


def test_a_job_that_lost_its_process_gets_its_turn_while_others_keep_coming(trial: Trial) -> None:
    worker = trial.start(processes=1, threads=2)
    unlucky, others = trial.submit(jobs.nap, 0.5), list[Job]()
    until(lambda: trial.running(unlucky))
    trial.kill_child(worker.children()[0])

    def has_ended() -> bool:
        if len(trial.site.effects("start")) > len(others) - 4:
            others.extend(trial.submit_many(jobs.nap, [(0.3,), (0.43,), (0.37,), (0.51,)]))
        return trial.stored(unlucky).is_terminal

    until(has_ended, seconds=8, every=0.02)
    assert trial.stored(unlucky).crashes == 1
    trial.survived([unlucky, *others])
