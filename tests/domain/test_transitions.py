"""Every way a job may change, and none else."""

from collections.abc import Callable

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import FIELDS, Job, JobError, JobStatus, Progress
from asyncjobs.domain.past import Past
from asyncjobs.errors import AlreadyAssigned, InvalidTransition, RetryDelay, WrongStatus

NOW = 50_000
BOOM = JobError(code="BOOM", message="it broke")
READY = Job(id="8a6e0804-2bd0-4672-b79d-d97027f9071a", name="tests.echo", created_at=1_000, updated_at=1_000)
RUNNING = transitions.start(READY, worker="w1", until=20_000, now=10_000)
SCHEDULED = READY.replace(status=JobStatus.SCHEDULED, due_at=40_000)
ENDED = transitions.complete(RUNNING, "1", now=15_000)
FAILED = transitions.fail(RUNNING.replace(retry_count=3, crashes=2, lapses=1), BOOM, delay=None, now=15_000)

ALLOWED: dict[str, tuple[Callable[[Job], Job], set[JobStatus]]] = {
    "start": (lambda job: transitions.start(job, worker="w2", until=9, now=NOW), {JobStatus.QUEUED}),
    "complete": (lambda job: transitions.complete(job, "1", now=NOW), {JobStatus.IN_PROGRESS}),
    "fail": (lambda job: transitions.fail(job, BOOM, delay=5, now=NOW), {JobStatus.IN_PROGRESS}),
    "release": (lambda job: transitions.release(job, now=NOW), {JobStatus.IN_PROGRESS}),
    "snooze": (lambda job: transitions.snooze(job, 77_000, now=NOW), {JobStatus.IN_PROGRESS}),
    "rescue": (lambda job: transitions.rescue(job, now=NOW), {JobStatus.IN_PROGRESS}),
    "crash": (lambda job: transitions.crash(job, now=NOW), {JobStatus.IN_PROGRESS}),
    "request_cancel": (lambda job: transitions.request_cancel(job, now=NOW), {JobStatus.IN_PROGRESS}),
    "report": (lambda job: transitions.report(job, Progress(done=1), now=NOW), {JobStatus.IN_PROGRESS}),
    "cancel": (
        lambda job: transitions.cancel(job, now=NOW),
        {JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED, JobStatus.IN_PROGRESS},
    ),
    "retry": (lambda job: transitions.retry(job, now=NOW), {JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED}),
    "promote": (lambda job: transitions.promote(job, now=NOW), {JobStatus.SCHEDULED}),
    "run_now": (lambda job: transitions.run_now(job, now=NOW), {JobStatus.SCHEDULED}),
    "reschedule": (lambda job: transitions.reschedule(job, 9, now=NOW), {JobStatus.QUEUED, JobStatus.SCHEDULED}),
    "ready": (lambda job: transitions.ready(job, now=NOW), {JobStatus.WAITING}),
}
NOTES = {"request_cancel", "report"}


def differences(old: Job, new: Job) -> dict[str, object]:
    return {name: getattr(new, name) for name in FIELDS if getattr(new, name) != getattr(old, name)}


@pytest.mark.parametrize("status", JobStatus)
@pytest.mark.parametrize("name", ALLOWED)
def test_only_the_statuses_named_may_change_so(name: str, status: JobStatus) -> None:
    change, allowed = ALLOWED[name]
    job = READY.replace(status=status, due_at=40_000)
    if status not in allowed:
        with pytest.raises(InvalidTransition) as refusal:
            change(job)
        assert refusal.value.job_id == job.id
    else:
        assert change(job).version == job.version + (name not in NOTES)
        assert change(job).updated_at == NOW


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (JobStatus.IN_PROGRESS, AlreadyAssigned),
        (JobStatus.SCHEDULED, RetryDelay),
        (JobStatus.WAITING, WrongStatus),
        (JobStatus.COMPLETED, WrongStatus),
    ],
)
def test_a_job_that_cannot_start_says_why(status: JobStatus, error: type[InvalidTransition]) -> None:
    with pytest.raises(error):
        transitions.start(READY.replace(status=status), worker="w", until=9, now=NOW)


def test_starting_leases_the_job_and_counts_the_attempt() -> None:
    assert differences(READY, RUNNING) == {
        "status": JobStatus.IN_PROGRESS,
        "version": 2,
        "worker": "w1",
        "claimed_until": 20_000,
        "started_at": 10_000,
        "updated_at": 10_000,
        "attempt": 1,
    }


def test_completing_keeps_the_result_and_forgets_the_last_error() -> None:
    done = transitions.complete(RUNNING.replace(error=BOOM), '{"a": 1}', now=NOW)
    assert differences(RUNNING, done) == {
        "status": JobStatus.COMPLETED,
        "version": 3,
        "result": '{"a": 1}',
        "completed_at": NOW,
        "claimed_until": None,
        "updated_at": NOW,
    }


def test_a_failure_with_budget_left_is_scheduled_again() -> None:
    assert differences(RUNNING, transitions.fail(RUNNING, BOOM, delay=700, now=NOW)) == {
        "status": JobStatus.SCHEDULED,
        "version": 3,
        "error": BOOM,
        "retry_count": 1,
        "due_at": NOW + 700,
        "worker": None,
        "started_at": None,
        "claimed_until": None,
        "updated_at": NOW,
    }


@pytest.mark.parametrize(("retry_count", "delay"), [(0, None), (3, 700), (4, 700)])
def test_a_failure_without_a_delay_or_budget_is_final(retry_count: int, delay: int | None) -> None:
    failed = transitions.fail(RUNNING.replace(retry_count=retry_count), BOOM, delay=delay, now=NOW)
    assert (failed.status, failed.error, failed.retry_count) == (JobStatus.FAILED, BOOM, retry_count)
    assert (failed.completed_at, failed.claimed_until) == (NOW, None)


def test_a_budget_of_nothing_is_spent_at_once() -> None:
    failed = transitions.fail(RUNNING.replace(max_retries=0), BOOM, delay=5, now=NOW)
    assert failed.status == JobStatus.FAILED


def test_releasing_charges_nothing() -> None:
    assert differences(RUNNING, transitions.release(RUNNING, now=NOW)) == {
        "status": JobStatus.QUEUED,
        "version": 3,
        "due_at": NOW,
        "attempt": 0,
        "worker": None,
        "started_at": None,
        "claimed_until": None,
        "updated_at": NOW,
    }


def test_snoozing_charges_nothing() -> None:
    retried = RUNNING.replace(retry_count=2, crashes=1, lapses=1, error=BOOM)
    assert differences(retried, transitions.snooze(retried, 77_000, now=NOW)) == {
        "status": JobStatus.SCHEDULED,
        "version": 3,
        "due_at": 77_000,
        "attempt": 0,
        "worker": None,
        "started_at": None,
        "claimed_until": None,
        "updated_at": NOW,
    }


def test_snoozing_says_why_or_keeps_the_last_error() -> None:
    later = JobError(code="LATER", message="the other side is busy")
    assert transitions.snooze(RUNNING.replace(error=BOOM), 77_000, error=later, now=NOW).error == later
    assert transitions.snooze(RUNNING.replace(error=BOOM), 77_000, now=NOW).error == BOOM


def test_a_job_cannot_be_snoozed_into_the_past() -> None:
    assert transitions.snooze(RUNNING, NOW - 1, now=NOW).due_at == NOW


@pytest.mark.parametrize(
    ("take_back", "counter", "most", "code"),
    [
        (transitions.rescue, "lapses", transitions.MAX_LAPSES, "LEASE_EXPIRED"),
        (transitions.crash, "crashes", transitions.MAX_CRASHES, "WORKER_DIED"),
    ],
)
def test_a_job_taken_back_runs_again_until_it_happened_too_often(
    take_back: Callable[..., Job], counter: str, most: int, code: str
) -> None:
    again = take_back(RUNNING.replace(**{counter: most - 2}), now=NOW)
    assert (again.status, getattr(again, counter), again.worker, again.due_at) == (
        JobStatus.QUEUED,
        most - 1,
        None,
        NOW,
    )
    assert (again.attempt, again.retry_count) == (RUNNING.attempt, RUNNING.retry_count)
    last = take_back(RUNNING.replace(**{counter: most - 1}), now=NOW)
    assert (last.status, getattr(last, counter), last.completed_at) == (JobStatus.FAILED, most, NOW)
    assert last.error is not None
    assert last.error.code == code


@pytest.mark.parametrize(
    "end",
    [
        lambda job: transitions.fail(job, BOOM, delay=5, now=NOW),
        lambda job: transitions.fail(job, BOOM, delay=None, now=NOW),
        lambda job: transitions.snooze(job, 77_000, now=NOW),
        lambda job: transitions.snooze(job, 77_000, error=BOOM, now=NOW),
        lambda job: transitions.rescue(job, now=NOW),
        lambda job: transitions.crash(job, now=NOW),
    ],
)
def test_a_job_asked_to_stop_is_canceled_however_it_ends_badly(end: Callable[[Job], Job]) -> None:
    asked = transitions.request_cancel(RUNNING, now=NOW - 1)
    assert end(asked).status == JobStatus.CANCELED


def test_a_job_asked_to_stop_may_still_complete() -> None:
    asked = transitions.request_cancel(RUNNING, now=NOW - 1)
    assert transitions.complete(asked, "1", now=NOW).status == JobStatus.COMPLETED


def test_canceling_gives_the_reason_or_keeps_the_last_error() -> None:
    canceled = transitions.cancel(READY.replace(error=BOOM), now=NOW)
    assert (canceled.status, canceled.error, canceled.completed_at) == (JobStatus.CANCELED, BOOM, NOW)
    reasoned = transitions.cancel(READY.replace(error=BOOM), now=NOW, reason="not needed")
    assert reasoned.error == JobError(code="JOB_CANCELED", message="not needed")


def test_a_retry_by_hand_starts_with_a_new_budget_and_the_old_error() -> None:
    retried = transitions.retry(FAILED.replace(progress=Progress(done=1), cancel_requested=5), now=NOW)
    assert (retried.status, retried.due_at, retried.error) == (JobStatus.QUEUED, NOW, BOOM)
    assert (retried.retry_count, retried.crashes, retried.lapses) == (0, 0, 0)
    assert (retried.result, retried.completed_at, retried.progress, retried.cancel_requested) == (None,) * 4
    assert (retried.version, retried.attempt) == (FAILED.version + 1, FAILED.attempt)


def test_a_scheduled_job_is_promoted_when_due_and_not_before() -> None:
    with pytest.raises(RetryDelay):
        transitions.promote(SCHEDULED, now=39_999)
    promoted = transitions.promote(SCHEDULED, now=40_000)
    assert differences(SCHEDULED, promoted) == {"status": JobStatus.QUEUED, "version": 2, "updated_at": 40_000}


def test_a_scheduled_job_runs_now_when_told_so() -> None:
    ready = transitions.run_now(SCHEDULED, now=NOW)
    assert (ready.status, ready.due_at) == (JobStatus.QUEUED, NOW)


@pytest.mark.parametrize("job", [READY, SCHEDULED])
def test_a_pending_job_moves_to_another_time(job: Job) -> None:
    moved = transitions.reschedule(job, 77_000, now=NOW)
    assert (moved.status, moved.due_at, moved.version) == (JobStatus.SCHEDULED, 77_000, job.version + 1)


def test_a_waiting_job_gets_ready() -> None:
    ready = transitions.ready(READY.replace(status=JobStatus.WAITING), now=NOW)
    assert (ready.status, ready.due_at) == (JobStatus.QUEUED, NOW)


def test_notes_change_nothing_else() -> None:
    asked = transitions.request_cancel(RUNNING, now=NOW)
    assert differences(RUNNING, asked) == {"cancel_requested": NOW, "updated_at": NOW}
    told = transitions.report(RUNNING, Progress(done=1, total=2), now=NOW)
    assert differences(RUNNING, told) == {"progress": Progress(done=1, total=2), "updated_at": NOW}


def test_a_retry_may_be_held_back() -> None:
    held = transitions.retry(FAILED, now=NOW, hold=700)
    assert (held.status, held.due_at) == (JobStatus.SCHEDULED, NOW + 700)
    assert differences(transitions.retry(FAILED, now=NOW), held).keys() == {"status", "due_at"}


BY_HAND: dict[str, tuple[Job, Callable[[Job], Job]]] = {
    "retry": (FAILED, lambda job: transitions.retry(job, now=NOW)),
    "held retry": (FAILED, lambda job: transitions.retry(job, now=NOW, hold=700)),
    "run_now": (SCHEDULED, lambda job: transitions.run_now(job, now=NOW)),
    "reschedule": (SCHEDULED, lambda job: transitions.reschedule(job, NOW + 700, now=NOW)),
    "cancel": (READY, lambda job: transitions.cancel(job, now=NOW, reason="no need")),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_was_done_by_hand_can_be_undone(name: str) -> None:
    before, act = BY_HAND[name]
    after = act(before)
    undone = transitions.undo(after, Past.of(before, after), now=NOW + 5)
    assert differences(before, undone) == {"version": after.version + 1, "updated_at": NOW + 5}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_undone_cannot_be_undone_again(name: str) -> None:
    before, act = BY_HAND[name]
    after = act(before)
    past = Past.of(before, after)
    with pytest.raises(WrongStatus):
        transitions.undo(transitions.undo(after, past, now=NOW + 5), past, now=NOW + 6)


def test_a_held_retry_can_be_undone_until_it_starts() -> None:
    held = transitions.retry(FAILED, now=NOW, hold=700)
    past = Past.of(FAILED, held)
    due = transitions.promote(held, now=NOW + 700)
    assert differences(FAILED, transitions.undo(due, past, now=NOW + 701)).keys() == {"version", "updated_at"}
    started = transitions.start(due, worker="w1", until=99_000, now=NOW + 800)
    for later in (started, transitions.release(started, now=NOW + 900)):
        with pytest.raises(WrongStatus):
            transitions.undo(later, past, now=NOW + 901)


def test_what_somebody_else_did_instead_is_not_undone() -> None:
    mine, other = transitions.cancel(READY, now=NOW), transitions.cancel(READY, now=NOW + 1)
    with pytest.raises(WrongStatus):
        transitions.undo(other, Past.of(READY, mine), now=NOW + 2)


def test_what_somebody_else_did_since_is_not_undone() -> None:
    held = transitions.retry(FAILED, now=NOW, hold=700)
    for other in (
        transitions.cancel(held, now=NOW + 1),
        transitions.run_now(held, now=NOW + 1),
        transitions.reschedule(held, NOW + 9_000, now=NOW + 1),
    ):
        with pytest.raises(WrongStatus):
            transitions.undo(other, Past.of(FAILED, held), now=NOW + 2)
