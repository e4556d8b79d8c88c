"""The job as a value."""

from dataclasses import FrozenInstanceError

import pytest

from asyncjobs.domain.job import DEFAULTS, FIELDS, INDEX, TERMINAL, Job, JobStatus, values_of

JOB = Job(id="8a6e0804-2bd0-4672-b79d-d97027f9071a", name="tests.echo", created_at=1_000)


def test_a_job_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        JOB.status = JobStatus.FAILED  # type: ignore[misc]


def test_replace_changes_what_it_names_and_leaves_the_original() -> None:
    changed = JOB.replace(queue="mail", version=2)
    assert (changed.queue, changed.version, changed.id) == ("mail", 2, JOB.id)
    assert (JOB.queue, JOB.version) == ("default", 1)
    assert JOB.replace() == JOB


def test_replace_knows_the_fields() -> None:
    with pytest.raises(KeyError):
        JOB.replace(colour="red")


def test_a_job_is_the_sum_of_its_values() -> None:
    assert Job.of(values_of(JOB)) == JOB
    assert len(values_of(JOB)) == len(FIELDS) == len(DEFAULTS)
    assert values_of(JOB)[INDEX["name"]] == "tests.echo"


def test_a_job_is_not_made_of_too_few_values() -> None:
    with pytest.raises((TypeError, ValueError)):
        Job.of(values_of(JOB)[:-1])


@pytest.mark.parametrize("status", JobStatus)
def test_what_ended_is_terminal(status: JobStatus) -> None:
    assert JOB.replace(status=status).is_terminal == (status in TERMINAL) == (status >= JobStatus.COMPLETED)


def test_a_job_waits_since_it_was_made_or_became_due() -> None:
    assert JOB.ready_at == 1_000
    assert JOB.replace(due_at=2_000).ready_at == 2_000


SCORES = {
    JobStatus.QUEUED: 2_000,
    JobStatus.WAITING: 1_000,
    JobStatus.SCHEDULED: 2_000,
    JobStatus.IN_PROGRESS: 3_000,
    JobStatus.COMPLETED: 4_000,
    JobStatus.FAILED: 4_000,
    JobStatus.CANCELED: 4_000,
}


@pytest.mark.parametrize("status", JobStatus)
def test_every_place_is_ordered_by_the_time_that_matters_there(status: JobStatus) -> None:
    assert JOB.replace(status=status, due_at=2_000, claimed_until=3_000, completed_at=4_000).score == SCORES[status]


PENDING = {JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED}


@pytest.mark.parametrize("status", JobStatus)
def test_a_unique_key_is_held_as_long_as_agreed(status: JobStatus) -> None:
    job = JOB.replace(status=status, unique_key="k")
    assert job.replace(unique_while="pending").holds_unique_key(5) == (status in PENDING)
    assert job.replace(unique_while="running").holds_unique_key(5) == (status in PENDING | {JobStatus.IN_PROGRESS})
    for now, held in ((9, True), (10, False), (11, False)):
        assert job.replace(unique_while="ttl", unique_until=10).holds_unique_key(now) == held


def test_a_job_without_a_key_holds_none() -> None:
    assert not JOB.holds_unique_key(5)
    assert not JOB.replace(unique_key="k", unique_while="ttl").holds_unique_key(5)
