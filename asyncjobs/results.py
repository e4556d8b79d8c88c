"""The result of a job, and how to wait for it."""

import time
from collections.abc import Iterator
from typing import Any, Final

from asyncjobs.arguments.decoding import decode_result
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import JobFailed

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5


def pauses(timeout: float) -> Iterator[float]:
    """Growing waits between looks. There is a look before each, so the last one, at the end, is zero."""
    end = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while (left := end - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    yield 0


def result_of(job: Job) -> Any:
    """What the handler of a finished job returned."""
    if job.status == JobStatus.COMPLETED:
        return decode_result(job.result)
    why = f": {job.error.code}: {job.error.message}" if job.error else ""
    raise JobFailed(f"job {job.id} is {job.status.name}{why}", job_id=job.id)
