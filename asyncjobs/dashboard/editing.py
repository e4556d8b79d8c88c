"""Arguments of a job as text to edit, and a new job from the edited text."""

import json
from typing import Any, Final

from asyncjobs.arguments.decoding import decode_call
from asyncjobs.dashboard.payloads import REDACTED, handler_of, is_request, masked_call, pretty
from asyncjobs.domain.job import Job
from asyncjobs.errors import InvalidArguments
from asyncjobs.registry import is_internal

_MISSING: Final = object()


def is_editable(job: Job) -> bool:
    """Whether it has ended, and was made from a call of a handler that is known here."""
    handler = handler_of(job)
    is_ours = handler is not None and not is_internal(handler)
    return job.is_terminal and is_ours and not is_request(job) and _payload_of(job) is not None


def text_of(job: Job) -> str:
    """What is edited. Secrets are hidden in it, and stay what they are where they are left so."""
    payload = _payload_of(job)
    assert payload is not None
    return pretty(masked_call(job, payload))


def edited(job: Job, text: str) -> Job:
    """A new job in the place of this one, with the arguments in the text. Raises when they cannot be those of a job."""
    handler = handler_of(job)
    assert handler is not None
    call = decode_call(_restored_payload(job, _read(text)))
    same = handler.using(
        queue=job.queue, priority=job.priority, tags=job.tags, max_retries=job.max_retries, owner=job.owner
    )
    [new] = same.jobs_of([call])
    return new.replace(timeout_ms=job.timeout_ms, soft_timeout_ms=job.soft_timeout_ms, retry=job.retry)


def _payload_of(job: Job) -> dict[str, Any] | None:
    try:
        payload = json.loads(job.payload)
    except (ValueError, RecursionError):
        return None
    match payload:
        case {"args": list(), "kwargs": dict()} if len(payload) == 2:
            return dict(payload)
    return None


def _read(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidArguments(f"this is no JSON: {error}") from None
    except RecursionError:
        raise InvalidArguments("this is nested too deep") from None
    match value:
        case {"args": list(), "kwargs": dict()} if len(value) == 2:
            return dict(value)
    raise InvalidArguments('arguments are an object with "args", a list, and "kwargs", an object')


def _restored_payload(job: Job, value: dict[str, Any]) -> str:
    payload = _payload_of(job)
    assert payload is not None
    try:
        text = json.dumps(restored(value, masked_call(job, payload), payload))
    except RecursionError:
        raise InvalidArguments("this is nested too deep") from None
    if REDACTED in text and REDACTED not in job.payload:
        raise InvalidArguments(f"{REDACTED} stands for what the job has in this place, and it has nothing there")
    return text


def restored(value: Any, hidden: Any, original: Any) -> Any:
    """The value, with what was left as it is `hidden` as it was in the `original`."""
    if isinstance(value, str) and value == hidden:
        return original
    if isinstance(value, dict) and isinstance(hidden, dict):
        return {key: restored(item, hidden.get(key, _MISSING), original.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(hidden, list):
        beyond = len(value) - len(hidden)
        pairs = zip(value, [*hidden, *[_MISSING] * beyond], [*original, *[None] * beyond], strict=False)
        return [restored(*three) for three in pairs]
    return value
