"""What a run of a handler makes of its job."""

import traceback
from typing import Any, Final

from asyncjobs.arguments.encoding import encode_result
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError
from asyncjobs.domain.retry import RetryPolicy
from asyncjobs.errors import AsyncJobsError

HANDLER_ERROR: Final = "HANDLER_ERROR"
MAX_MESSAGE: Final = 1_000
MAX_TRACEBACK: Final = 10_000


def succeeded(job: Job, value: Any, *, now: int, max_result: int) -> Job:
    """The job completed with what its handler returned. Raises, as if the handler had, when that is no JSON."""
    return transitions.complete(job, encode_result(value, limit=max_result), now=now)


def failed(job: Job, error: Exception, policy: RetryPolicy, *, now: int, chance: float) -> Job:
    """The job as its retry policy says after `error`; `chance`, in [0, 1), spreads the delay."""
    allowed = policy.allows(type(error))
    delay = policy.delay(job.retry_count, chance) if allowed else None
    return transitions.fail(job, error_of(error), delay=delay, now=now)


def error_of(error: Exception) -> JobError:
    """An exception as text. Its end is what is kept of a long traceback: that is where it was raised."""
    return JobError(
        code=error.code if isinstance(error, AsyncJobsError) else HANDLER_ERROR,
        message=_message(error)[:MAX_MESSAGE],
        type=f"{type(error).__module__}.{type(error).__qualname__}",
        traceback=_storable("".join(traceback.format_exception(error)))[-MAX_TRACEBACK:],
    )


def _message(error: Exception) -> str:
    try:
        return _storable(str(error))
    except Exception:
        return "(this exception cannot be shown as text)"


def _storable(text: str) -> str:
    """Text that every store takes."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()
