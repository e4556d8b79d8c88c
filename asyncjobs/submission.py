"""From calls of a handler to jobs that can be stored."""

from collections.abc import Iterable, Iterator
from typing import Any

from asyncjobs.arguments.binding import Binding, Call
from asyncjobs.arguments.encoding import encode_call
from asyncjobs.domain.job import DEFAULTS, INDEX, Job, JobStatus
from asyncjobs.errors import InvalidArguments
from asyncjobs.ids import new_ids
from asyncjobs.options import Options

_ID = INDEX["id"]
_PAYLOAD = INDEX["payload"]
_UNIQUE_KEY = INDEX["unique_key"]


def new_jobs(
    name: str, binding: Binding, options: Options, calls: Iterable[Call[Any]], *, now: int, max_payload: int
) -> list[Job]:
    """A job for each call. One call that cannot be a job raises, and there are none."""
    calls = list(calls)
    row = _row(name, options, now)
    jobs = []
    for job_id, call in zip(new_ids(len(calls)), calls, strict=True):
        row[_ID] = job_id
        row[_PAYLOAD] = _payload(name, binding, call, max_payload)
        if options.unique is not None:
            row[_UNIQUE_KEY] = options.unique.key_of(name, call, binding)
        jobs.append(Job.of(row))
    return jobs


def new_job(name: str, options: Options, *, now: int, **fields: Any) -> Job:
    """A job that is made from something else than a call."""
    return Job.of(_row(name, options, now)).replace(id=new_ids(1)[0], **fields)


def _payload(name: str, binding: Binding, call: Call[Any], limit: int) -> str:
    try:
        binding.check(call)
        return encode_call(call, binding.names, limit=limit)
    except InvalidArguments as error:
        raise InvalidArguments(f"{name}: {error.message}") from None


def _row(name: str, options: Options, now: int) -> list[Any]:
    """The values all these jobs have in common, in the order of the fields."""
    row = list(DEFAULTS)
    for field, value in _common(name, options, now):
        row[INDEX[field]] = value
    return row


def _common(name: str, options: Options, now: int) -> Iterator[tuple[str, Any]]:
    yield from (("name", name), ("created_at", now), ("updated_at", now))
    for field in ("queue", "priority", "max_retries", "retry", "timeout_ms", "soft_timeout_ms", "tags", "owner"):
        yield field, getattr(options, field)
    due_at = None if options.due is None else options.due.at(now)
    if due_at is not None and due_at > now:
        yield from (("status", JobStatus.SCHEDULED), ("due_at", due_at))
    if options.unique is not None:
        yield from (("unique_while", options.unique.scope), ("unique_until", options.unique.until(now)))
