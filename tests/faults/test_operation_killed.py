"""The workers of an operation die, one after the other. It goes on where it was, and does nothing twice."""

from collections import Counter
from functools import partial

import pytest

from asyncjobs.actions import read_action
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.starting import submitted, tally_of
from asyncjobs.domain.job import Job, JobError, JobStatus
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import MAX_BATCH
from tests.faults.checker import Trial, either
from tests.workers import until

pytestmark = pytest.mark.faults
JOBS = 20_000
CHUNKS = 12  # between two kills
BOOM = JobError(code="BOOM", message="it broke")


def dead(trial: Trial) -> list[Job]:
    now = trial.store.now()
    jobs = [
        Job(id=job_id, name="n", status=JobStatus.FAILED, created_at=now, updated_at=now, completed_at=now, error=BOOM)
        for job_id in new_ids(JOBS)
    ]
    for start in range(0, JOBS, MAX_BATCH):
        trial.store.add(jobs[start : start + MAX_BATCH])
    return jobs


def has_written(trial: Trial, operation: Job, chunks: int) -> bool:
    return bool(trial.store.journal(operation.id, "chunk", after=chunks - 1, limit=1))


def killed_and_gone_on_with(trial: Trial, order: Order) -> Job:
    """The operation when it is over."""
    operation = submitted(trial.engine, order)
    for chunks in (CHUNKS, 2 * CHUNKS):
        worker = trial.start("--queues=asyncjobs")
        until(partial(has_written, trial, operation, chunks), every=0.001)
        trial.kill(worker)
        assert not trial.stored(operation).is_terminal
    trial.start("--queues=asyncjobs")
    return trial.ended(operation)[0]


@either
def test_an_operation_and_its_undo_survive_that_their_workers_are_killed(either_trial: Trial) -> None:
    trial, jobs = either_trial, dead(either_trial)
    until(lambda: trial.store.now() > jobs[-1].created_at)
    order = Order.of_search("status:failed", {}, deed="retry", frozen=trial.store.now(), by="7")
    operation = killed_and_gone_on_with(trial, order)
    assert tally_of(operation) == Counter(done=JOBS)
    assert operation.lapses == 2
    undo = Order(deed="retry", frozen=trial.store.now(), by="7", undoes=operation.id)
    assert tally_of(killed_and_gone_on_with(trial, undo)) == Counter(done=JOBS)
    for job in jobs:
        notes = [read_action(entry)["action"] for entry in trial.store.journal(job.id, "action")]
        assert notes == ["retry", "undo"]
    assert [job.replace(version=1, updated_at=job.created_at) for job in stored(trial, jobs)] == jobs
    assert trial.engine.check() == []


def stored(trial: Trial, jobs: list[Job]) -> list[Job]:
    found = [trial.store.get([job.id for job in jobs[start : start + 500]]) for start in range(0, JOBS, 500)]
    return [job for some in found for job in some if job is not None]
