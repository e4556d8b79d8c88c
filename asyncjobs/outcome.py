"""What a run of a handler makes of its job."""

import json
import re
import traceback
from typing import Any, Final

from asyncjobs.arguments.encoding import encode_result
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError
from asyncjobs.domain.retry import RetryPolicy
from asyncjobs.errors import AsyncJobsError
from asyncjobs.stores.base import MAX_ENTRY, Entry

HANDLER_ERROR: Final = "HANDLER_ERROR"
MAX_MESSAGE: Final = 1_000
MAX_TRACEBACK: Final = 10_000
MAX_PARTS: Final = 500  # of a traceback that are looked at: frames, and texts of exceptions
MAX_TYPE: Final = 200  # characters of a type's name, and of a code

_SECRET: Final = re.compile(
    r"""(?ix)
    ( (?:password|passwd|secret|token|api[_-]?key|authorization|cookie|session(?:id)?|private[_-]?key|credential s?)
      \\*["']? [ \t]* [=:] [ \t]* (?:(?:bearer|basic|token|digest)[ \t]+)? )
    ( b?"(?:[^"\\\n]|\\.)*"? | b?'(?:[^'\\\n]|\\.)*'?  # to the quote, or the end of a line that was cut off
    | \\+"[^"\n]*"? | \\+'[^'\n]*'?                    # JSON within JSON
    | [^\s,;&)}\]]+ )
    | ( ://[^/\s:@]*: ) [^/\s@]+ (?=@)
    """
)


def succeeded(job: Job, value: Any, *, now: int, max_result: int) -> Job:
    """The job completed with what its handler returned. Raises, as if the handler had, when that is no JSON."""
    return transitions.complete(job, encode_result(value, limit=max_result), now=now)


def failed(job: Job, error: BaseException, policy: RetryPolicy, *, now: int, chance: float) -> Job:
    """The job as its retry policy says after `error`; `chance`, in [0, 1), spreads the delay."""
    allowed = policy.allows(type(error))
    delay = policy.delay(job.retry_count, chance) if allowed else None
    return transitions.fail(job, error_of(error), delay=delay, now=now)


def error_of(error: BaseException) -> JobError:
    """An exception as text. Its end is what is kept of a long traceback: that is where it was raised."""
    return JobError(
        code=_name(error.code) if isinstance(error, AsyncJobsError) else HANDLER_ERROR,
        message=_message(error)[:MAX_MESSAGE],
        type=_name(f"{type(error).__module__}.{type(error).__qualname__}"),
        traceback=_traceback(error)[-MAX_TRACEBACK:],
    )


def attempt_entry(job: Job, error: JobError, *, now: int) -> Entry:
    """What is kept of a run that ended badly; `job` is the one that ran."""
    about = {"attempt": job.attempt, "worker": job.worker, "started_at": job.started_at}
    fields = {"code": error.code, "message": error.message, "type": error.type, "traceback": error.traceback}
    while len((text := json.dumps(about | fields, ensure_ascii=False)).encode()) > MAX_ENTRY:
        longest = max(fields, key=lambda name: len(fields[name]))
        fields[longest] = fields[longest][len(fields[longest]) // 2 + 1 :]
    return Entry("attempt", now, text)


def _name(text: object) -> str:
    return storable(str(text)[:MAX_TYPE])[:MAX_TYPE]


def _message(error: BaseException) -> str:
    try:
        text = error.message if isinstance(error, AsyncJobsError) else str(error)  # the code is kept beside it
        return redacted(storable(text[: MAX_MESSAGE * 4]))
    except BaseException:  # this is code of the site's, and may do anything
        return "(this exception cannot be shown as text)"


def _traceback(error: BaseException) -> str:
    try:
        parts = traceback.format_exception(error, limit=-50)[-MAX_PARTS:]
        # Of each its beginning: without the word before it, a secret is not recognized.
        return redacted(storable("".join(part[: MAX_MESSAGE * 4] for part in parts)))
    except BaseException:
        return "(this traceback cannot be shown as text)"


def redacted(text: str) -> str:
    """The text without what looks like a secret: `token=…`, `"password": "…"`, the password in a URL."""
    return _SECRET.sub(lambda match: f"{match[1] or match[3]}[redacted]", text)


def storable(text: str) -> str:
    """Text that every store takes."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()
