"""What happened to a job, in order, with the time between."""

import json
from typing import Any

from asyncjobs.actions import action_entry
from asyncjobs.dashboard.attempts import Attempt, read_attempt
from asyncjobs.dashboard.timeline import timeline
from asyncjobs.domain.job import Job, JobError, JobStatus
from asyncjobs.stores.base import Entry

OTHER = "0b7e1a52-3d0c-4f38-8f5c-0d4a8c6b9a11"


def a_job(status: JobStatus = JobStatus.COMPLETED, **fields: Any) -> Job:
    usual: dict[str, Any] = {"id": "1", "name": "send", "created_at": 1_000}
    return Job(status=status, **usual | fields)


def bad(number: int, started_at: int | None, ended_at: int) -> Attempt:
    return Attempt(number, number, "w1", started_at, ended_at, "HANDLER_ERROR", "builtins.ValueError", "boom")


def told(*args: Any) -> list[tuple[str, int, int | None]]:
    return [(moment.text, moment.at, moment.after) for moment in timeline(*args)]


def test_a_job_that_went_well_was_submitted_started_and_completed() -> None:
    done = a_job(started_at=1_500, completed_at=4_000, attempt=1, worker="w1")
    assert told(done, [], [], {}) == [
        ("submitted", 1_000, None),
        ("attempt 1 started", 1_500, 500),
        ("completed", 4_000, 2_500),
    ]


def test_attempts_that_ended_badly_come_with_their_retries() -> None:
    job = a_job(JobStatus.SCHEDULED, due_at=90_000, retry_count=2, attempt=2)
    attempts = [bad(1, 2_000, 3_000), bad(2, 10_000, 11_000)]
    assert told(job, attempts, [], {}) == [
        ("submitted", 1_000, None),
        ("attempt 1 started", 2_000, 1_000),
        ("attempt 1 ended badly", 3_000, 1_000),
        ("attempt 2 started", 10_000, 7_000),
        ("attempt 2 ended badly", 11_000, 1_000),
        ("due", 90_000, 79_000),
    ]


def test_the_last_attempt_of_a_dead_job_is_told_once() -> None:
    dead = a_job(JobStatus.FAILED, started_at=2_000, completed_at=3_000, attempt=1)
    texts = [text for text, *_ in told(dead, [bad(1, 2_000, 3_000)], [], {})]
    assert texts == ["submitted", "attempt 1 started", "attempt 1 ended badly", "failed for good"]


def test_clocks_that_disagree_make_no_time_negative() -> None:
    done = a_job(created_at=9_000, started_at=7_500, completed_at=3_000, attempt=1)
    moments = timeline(done, [], [], {})
    assert [moment.text for moment in moments] == ["submitted", "attempt 1 started", "completed"]
    assert [moment.after for moment in moments] == [None, 0, 0]
    assert [moment.is_odd for moment in moments] == [False, True, True]


def test_clocks_may_differ_by_a_little() -> None:
    done = a_job(started_at=700, completed_at=600, attempt=1)
    assert not any(moment.is_odd for moment in timeline(done, [], [], {}))


def test_what_people_did_comes_before_what_came_of_it() -> None:
    canceled = a_job(JobStatus.CANCELED, completed_at=5_000, error=JobError(code="JOB_CANCELED", message="not needed"))
    entry = action_entry("cancel", by="7", now=5_000, reason="not needed")
    _, did, ended = timeline(canceled, [], [entry], {"7": "ana"})
    assert (did.text, did.note) == ("ana canceled it", "not needed")
    assert ended.text == "canceled"


def test_a_job_that_took_the_place_of_another_says_of_which() -> None:
    entry = action_entry("edit", by="7", now=1_000, job=OTHER)
    submitted, did = timeline(a_job(JobStatus.QUEUED), [], [entry], {})
    assert submitted.text == "submitted"
    assert (did.text, did.job_id) == ("user 7 edited the arguments of another job", OTHER)


def test_an_action_written_in_another_way_is_told_as_it_is() -> None:
    entries = [
        Entry("action", 2_000, "nonsense"),
        Entry("action", 3_000, '{"action": ["x"], "by": {}, "reason": 5, "job": "../.."}'),
        Entry("action", 4_000, "[" * 8_000),
    ]
    moments = timeline(a_job(JobStatus.QUEUED), [], entries, {})
    assert [moment.text for moment in moments[1:3]] == ["somebody: nonsense", "user {}: ['x']"]
    assert {moment.job_id for moment in moments} == {""}


def test_a_stop_that_nobody_signed_is_told_too() -> None:
    job = a_job(JobStatus.IN_PROGRESS, started_at=2_000, attempt=1, cancel_requested=3_000)
    assert told(job, [], [], {})[-1] == ("asked to stop", 3_000, 1_000)


def test_an_attempt_written_in_another_way_is_a_message() -> None:
    odd = Entry("attempt", 5_000, "no JSON", 3)
    assert read_attempt(odd) == Attempt(3, None, "", None, 5_000, message="no JSON")


def test_an_attempt_with_odd_facts_is_readable() -> None:
    text = json.dumps({"attempt": "two", "started_at": -5, "worker": 7, "message": None, "traceback": ["x"]})
    attempt = read_attempt(Entry("attempt", 5_000, text, 1))
    assert (attempt.attempt, attempt.started_at, attempt.worker, attempt.message) == (None, None, "7", "")
    assert attempt.ran is None
