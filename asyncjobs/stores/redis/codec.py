"""Between a `Job` and its hash, whose fields and formats are those of the system we mirror.

The seventeen fields of that system are always present, "" meaning null; ours only when they are not the default.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import DEFAULTS, INDEX, Job, JobError, JobStatus, Progress
from asyncjobs.domain.retry import RetryPolicy
from asyncjobs.errors import DeserializationError
from asyncjobs.stores.tags import read_tags

logger = logging.getLogger("asyncjobs.stores.redis")

SEPARATOR: Final = "\0"  # between the parts of a hash read as one string; JSON text and names have none


@lru_cache(maxsize=4096)
def _second_text(second: int) -> str:
    return (
        datetime.fromtimestamp(second, UTC).isoformat().removesuffix("+00:00")
    )  # %Y of strftime has no zeros in front


def time_text(ms: int) -> str:
    """.NET's round-trip format: 7 fractional digits and the offset."""
    second, rest = divmod(ms, 1000)
    return f"{_second_text(second)}.{rest:03d}0000+00:00"


@lru_cache(maxsize=4096)
def read_time(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round(moment.timestamp()) * 1000 if not moment.microsecond else round(moment.timestamp() * 1000)


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _error_text(error: JobError) -> str:
    optional = {"Type": error.type, "Traceback": error.traceback}
    return _json_text({"Code": error.code, "Message": error.message} | {k: v for k, v in optional.items() if v})


def _read_error(text: str) -> JobError:
    return JobError(**{name.lower(): value for name, value in json.loads(text).items()})


def _query_text(params: Sequence[tuple[str, Sequence[str | None]]]) -> str:
    return _json_text([{"Key": key, "Value": list(values)} for key, values in params])


def _read_query(text: str) -> list[tuple[str, list[str | None]]]:
    return [(pair["Key"], pair["Value"]) for pair in json.loads(text)]


def _plain(value: Any) -> str:
    return str(value)


_STATUSES: Final = {str(int(status)): status for status in JobStatus}


def _policy_text(policy: RetryPolicy) -> str:
    return _json_text(policy.to_json())


def _read_policy(text: str) -> RetryPolicy:
    return RetryPolicy.from_json(json.loads(text))


def _progress_text(progress: Progress) -> str:
    return _json_text(asdict(progress))


def _read_progress(text: str) -> Progress:
    return Progress(**json.loads(text))


class Field(NamedTuple):
    """How one attribute of a job stands in the hash."""

    name: str
    attribute: str
    write: Callable[[Any], str | int] = _plain
    read: Callable[[str], Any] | None = None  # None: as it stands
    always: bool = True
    own: bool = False  # differs from job to job, where the others are mostly shared by a batch


_TIME: Final = (time_text, read_time)
_JSON: Final = (_json_text, json.loads)

FIELDS: Final = (
    Field("Status", "status", int, _STATUSES.__getitem__),
    Field("WorkerId", "worker"),
    Field("StartedAt", "started_at", *_TIME),
    Field("CompletedAt", "completed_at", *_TIME),
    Field("LastUpdatedAt", "updated_at", *_TIME),
    Field("Result", "result", own=True),
    Field("Error", "error", _error_text, _read_error, own=True),
    Field("RetryCount", "retry_count", int, int),
    Field("MaxRetries", "max_retries", int, int),
    Field("RetryDelayUntil", "due_at", *_TIME),
    Field("CreatedAt", "created_at", *_TIME),
    Field("Id", "id", own=True),
    Field("Name", "name"),
    Field("Headers", "headers", *_JSON, own=True),
    Field("RouteParams", "route_params", *_JSON, own=True),
    Field("QueryParams", "query_params", _query_text, _read_query, own=True),
    Field("Payload", "payload", own=True),
    Field("Version", "version", int, int, always=False),
    Field("Queue", "queue", always=False),
    Field("Priority", "priority", int, int, always=False),
    Field("Attempt", "attempt", int, int, always=False),
    Field("Crashes", "crashes", int, int, always=False),
    Field("Lapses", "lapses", int, int, always=False),
    Field("ClaimedUntil", "claimed_until", *_TIME, always=False),
    Field("TimeoutMs", "timeout_ms", int, int, always=False),
    Field("SoftTimeoutMs", "soft_timeout_ms", int, int, always=False),
    Field("Retry", "retry", _policy_text, _read_policy, always=False),
    Field("UniqueKey", "unique_key", always=False, own=True),
    Field("UniqueWhile", "unique_while", always=False),
    Field("UniqueUntil", "unique_until", *_TIME, always=False),
    Field("WorkflowId", "workflow_id", always=False),
    Field("Owner", "owner", always=False),
    Field("Tags", "tags", _json_text, read_tags, always=False),
    Field("Progress", "progress", _progress_text, _read_progress, always=False, own=True),
    Field("CancelRequested", "cancel_requested", *_TIME, always=False),
    Field("Fault", "fault", always=False),
)
BY_ATTRIBUTE: Final = {field.attribute: field for field in FIELDS}
_READERS: Final = {field.name: (INDEX[field.attribute], field.read) for field in FIELDS}


def write(field: Field, value: Any) -> str | int | None:
    """The text of this value; None when the field is not to be there."""
    if not field.always and value == DEFAULTS[INDEX[field.attribute]]:
        return None
    return "" if value is None else field.write(value)


def read(stored: bytes) -> Job:
    """The job in this answer of a script: names and values by turns. Fields of other releases are passed over."""
    values, reader_of = list(DEFAULTS), _READERS.get
    try:
        pairs = iter(stored.decode().split(SEPARATOR))
        for name, text in zip(pairs, pairs, strict=True):
            if text and (reader := reader_of(name)):
                position, read_text = reader
                values[position] = read_text(text) if read_text else text
        return Job.of(values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(stored, error) from error


def read_all(stored: Sequence[bytes]) -> list[Job]:
    """Those of these jobs that can be read. One that cannot, perhaps a later release's, must not hold up the others."""
    try:
        return [read(text) for text in stored]
    except DeserializationError:
        return [job for text in stored if (job := read_if_possible(text)) is not None]


def read_if_possible(stored: bytes) -> Job | None:
    try:
        return read(stored) if stored else None
    except DeserializationError as error:
        logger.error("%s", error, extra={"job_id": error.job_id})
        return None


def _unreadable(stored: bytes, error: Exception) -> DeserializationError:
    parts = stored.decode(errors="replace").split(SEPARATOR)
    fields: Mapping[str, str] = dict(zip(parts[::2], parts[1::2], strict=False))
    job_id = fields.get("Id", "?")
    return DeserializationError(f"job {job_id} cannot be read: {error}", job_id=job_id)
