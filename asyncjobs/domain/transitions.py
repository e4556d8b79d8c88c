"""The state machine: every way a job may change, as pure functions `(job, …, now) -> Job`."""

from typing import Any

from asyncjobs.domain.faults import fault_of
from asyncjobs.domain.job import PENDING, TERMINAL, Job, JobError, JobStatus, Progress
from asyncjobs.domain.past import Past
from asyncjobs.errors import AlreadyAssigned, InvalidTransition, RetryDelay, WrongStatus

MAX_CRASHES = 3
MAX_LAPSES = 5
LEASE_EXPIRED = JobError(code="LEASE_EXPIRED", message="the lease ran out")
WORKER_DIED = JobError(code="WORKER_DIED", message="worker died")


def start(job: Job, *, worker: str, until: int, now: int) -> Job:
    """QUEUED → IN_PROGRESS: leased to `worker` until `until`."""
    if job.status == JobStatus.IN_PROGRESS:
        raise AlreadyAssigned(f"job {job.id} is held by worker {job.worker}", job_id=job.id)
    if job.status == JobStatus.SCHEDULED:
        raise RetryDelay(f"job {job.id} is not due yet", job_id=job.id)
    if job.status != JobStatus.QUEUED:
        raise WrongStatus(f"job {job.id} is {job.status.name}, not QUEUED", job_id=job.id)
    return _move(
        job,
        now,
        status=JobStatus.IN_PROGRESS,
        worker=worker,
        claimed_until=until,
        started_at=now,
        attempt=job.attempt + 1,
    )


def complete(job: Job, result: str | None, *, now: int) -> Job:
    """IN_PROGRESS → COMPLETED with its result."""
    _require(job, JobStatus.IN_PROGRESS)
    return _finish(job, JobStatus.COMPLETED, now, result=result, error=None)


def fail(job: Job, error: JobError, *, delay: int | None, now: int) -> Job:
    """IN_PROGRESS → SCHEDULED after `delay`, or FAILED when that is None or the retry budget is spent."""
    _require(job, JobStatus.IN_PROGRESS)
    if job.cancel_requested is not None:
        return cancel(job, now=now)
    if delay is None or job.retry_count >= job.max_retries:
        return _die(job, now, error)
    return _back(job, now, status=JobStatus.SCHEDULED, due_at=now + delay, error=error, retry_count=job.retry_count + 1)


def release(job: Job, *, now: int) -> Job:
    """IN_PROGRESS → QUEUED: handed back unfinished, nothing charged."""
    _require(job, JobStatus.IN_PROGRESS)
    return _back(job, now, status=JobStatus.QUEUED, due_at=now, attempt=job.attempt - 1)


def snooze(job: Job, due_at: int, *, error: JobError | None = None, now: int) -> Job:
    """IN_PROGRESS → SCHEDULED until `due_at`: handed back by its holder, nothing charged. No error keeps the last."""
    _require(job, JobStatus.IN_PROGRESS)
    if job.cancel_requested is not None:
        return cancel(job, now=now)
    return _back(
        job,
        now,
        status=JobStatus.SCHEDULED,
        due_at=max(due_at, now),
        attempt=job.attempt - 1,
        error=error or job.error,
    )


def rescue(job: Job, *, now: int, max_lapses: int = MAX_LAPSES) -> Job:
    """IN_PROGRESS → QUEUED after its lease ran out, or FAILED when that happened too often."""
    _require(job, JobStatus.IN_PROGRESS)
    lapsed = job.replace(lapses=job.lapses + 1)
    return _take_back(lapsed, now, last=lapsed.lapses >= max_lapses, error=LEASE_EXPIRED)


def crash(job: Job, *, now: int, max_crashes: int = MAX_CRASHES) -> Job:
    """IN_PROGRESS → QUEUED after its process died, or FAILED when that happened too often."""
    _require(job, JobStatus.IN_PROGRESS)
    crashed = job.replace(crashes=job.crashes + 1)
    return _take_back(crashed, now, last=crashed.crashes >= max_crashes, error=WORKER_DIED)


def cancel(job: Job, *, now: int, reason: str = "") -> Job:
    """Any unfinished status → CANCELED. Only the holder may do this to a running job; others `request_cancel`."""
    _require(job, *PENDING, JobStatus.IN_PROGRESS)
    error = JobError(code="JOB_CANCELED", message=reason) if reason else job.error
    return _finish(job, JobStatus.CANCELED, now, error=error)


def retry(job: Job, *, now: int, hold: int = 0) -> Job:
    """Finished → QUEUED, by hand: a new budget, the last error kept until the next outcome.

    With a hold → SCHEDULED for so many milliseconds, in which it can be undone.
    """
    _require(job, *TERMINAL)
    return _back(
        job,
        now,
        status=JobStatus.SCHEDULED if hold else JobStatus.QUEUED,
        due_at=now + hold,
        result=None,
        fault=None,
        completed_at=None,
        retry_count=0,
        crashes=0,
        lapses=0,
        progress=None,
        cancel_requested=None,
    )


def promote(job: Job, *, now: int) -> Job:
    """SCHEDULED → QUEUED, once due."""
    _require(job, JobStatus.SCHEDULED)
    if job.due_at is None or job.due_at > now:
        raise RetryDelay(f"job {job.id} is not due yet", job_id=job.id)
    return _move(job, now, status=JobStatus.QUEUED)


def run_now(job: Job, *, now: int) -> Job:
    """SCHEDULED → QUEUED, without waiting for its time."""
    _require(job, JobStatus.SCHEDULED)
    return _move(job, now, status=JobStatus.QUEUED, due_at=now)


def reschedule(job: Job, due_at: int, *, now: int) -> Job:
    """QUEUED or SCHEDULED → SCHEDULED for another time."""
    _require(job, JobStatus.QUEUED, JobStatus.SCHEDULED)
    return _move(job, now, status=JobStatus.SCHEDULED, due_at=due_at)


def ready(job: Job, *, now: int) -> Job:
    """WAITING → QUEUED: what it waited for is done."""
    _require(job, JobStatus.WAITING)
    return _move(job, now, status=JobStatus.QUEUED, due_at=now)


def undo(job: Job, past: Past, *, now: int) -> Job:
    """Back to what it was before something was done to it by hand, if all that came of that is that it fell due."""
    is_that = (job.version, job.status, job.updated_at) == (past.version, past.status, past.at)
    promoted = (past.version + 1, JobStatus.QUEUED, past.due_at) if past.status == JobStatus.SCHEDULED else None
    if not is_that and (job.version, job.status, job.due_at) != promoted:
        raise WrongStatus(f"job {job.id} has moved on, to version {job.version}", job_id=job.id)
    return _move(job, now, **past.was)


def request_cancel(job: Job, *, now: int) -> Job:
    """Asks the holder of a running job to stop. The version stays: the holder's lease must survive being asked."""
    _require(job, JobStatus.IN_PROGRESS)
    return job.replace(cancel_requested=now, updated_at=now)


def report(job: Job, progress: Progress, *, now: int) -> Job:
    """Notes how far a running job is. The version stays."""
    _require(job, JobStatus.IN_PROGRESS)
    return job.replace(progress=progress, updated_at=now)


def _require(job: Job, *statuses: JobStatus) -> None:
    if job.status in statuses:
        return
    wanted = " or ".join(status.name for status in sorted(statuses))
    raise InvalidTransition(f"job {job.id} is {job.status.name}, not {wanted}", job_id=job.id)


def _move(job: Job, now: int, **changes: Any) -> Job:
    return job.replace(version=job.version + 1, updated_at=now, **changes)


def _finish(job: Job, status: JobStatus, now: int, **changes: Any) -> Job:
    return job.replace(
        version=job.version + 1, status=status, completed_at=now, updated_at=now, claimed_until=None, **changes
    )


def _die(job: Job, now: int, error: JobError) -> Job:
    return _finish(job, JobStatus.FAILED, now, error=error, fault=fault_of(job.name, error))


def _back(job: Job, now: int, **changes: Any) -> Job:
    return _move(job, now, worker=None, claimed_until=None, started_at=None, **changes)


def _take_back(job: Job, now: int, *, last: bool, error: JobError) -> Job:
    if job.cancel_requested is not None:
        return cancel(job, now=now)
    if last:
        return _die(job, now, error)
    return _back(job, now, status=JobStatus.QUEUED, due_at=now)
