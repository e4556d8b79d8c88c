"""Between a `Job` and its row. What has a shape is JSON text; NULL is None, and no tags."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from asyncjobs.domain.job import FIELDS, INDEX, Job, JobError, JobStatus, Progress, values_of
from asyncjobs.domain.retry import RetryPolicy
from asyncjobs.errors import DeserializationError
from asyncjobs.stores.tags import read_tags

logger = logging.getLogger("asyncjobs.stores.orm")

COLUMNS: Final = ", ".join(FIELDS)
JOB_COLUMNS: Final = ", ".join(f"job.{name}" for name in FIELDS)
STORED: Final = (*FIELDS, "position", "unique_held")
TEXTS: Final = frozenset(
    {"id", "name", "queue", "worker", "owner", "workflow_id", "unique_key", "unique_held", "unique_while", "payload"}
    | {"result", "error", "headers", "route_params", "query_params", "retry", "tags", "progress", "fault"}
)  # all others are whole numbers

_STATUSES: Final = {int(status): status for status in JobStatus}
_STATUS: Final = INDEX["status"]
_TAGS: Final = INDEX["tags"]

json_text = json.JSONEncoder(separators=(",", ":")).encode


def _read_query_params(text: str) -> list[tuple[str, list[str | None]]]:
    return [(key, values) for key, values in json.loads(text)]


def tags_of(text: str | None) -> tuple[str, ...] | None:
    """The tags in this column, None if they cannot be read."""
    try:
        return () if text is None else tuple(dict.fromkeys(read_tags(text)))
    except (TypeError, ValueError):
        return None


_WRITERS: Final[dict[str, Callable[[Any], str]]] = {
    "headers": json_text,
    "route_params": json_text,
    "query_params": json_text,
    "error": lambda error: json_text(asdict(error)),
    "retry": lambda policy: json_text(policy.to_json()),
    "tags": json_text,
    "progress": lambda progress: json_text(asdict(progress)),
}
_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "headers": json.loads,
    "route_params": json.loads,
    "query_params": _read_query_params,
    "error": lambda text: JobError(**json.loads(text)),
    "retry": lambda text: RetryPolicy.from_json(json.loads(text)),
    "tags": read_tags,
    "progress": lambda text: Progress(**json.loads(text)),
}
_SHAPED: Final = tuple((INDEX[name], write) for name, write in _WRITERS.items())
_READ: Final = tuple((INDEX[name], read) for name, read in _READERS.items())


def score_of(columns: Mapping[str, str]) -> str:
    """`Job.score` as SQL over these columns or expressions, by field."""
    return (
        "CASE {status} WHEN 100 THEN COALESCE({due_at}, {created_at}) WHEN 150 THEN {created_at}"
        " WHEN 200 THEN {due_at} WHEN 300 THEN {claimed_until} ELSE {completed_at} END"
    ).format_map(columns)


def postgres_type(name: str) -> str:
    """How PostgreSQL is to read this column out of JSON."""
    return f"{name} {'text' if name in TEXTS else 'bigint'}"


def written(name: str, value: Any) -> Any:
    """This field's value as its column holds it."""
    if name == "status":
        return int(value)
    if name not in _WRITERS or value is None or value == ():
        return None if value == () else value
    return _WRITERS[name](value)


def row_of(job: Job, now: int) -> list[Any]:
    """The job as stored, in the order of STORED."""
    values = list(values_of(job))
    values[_STATUS] = int(values[_STATUS])
    values[_TAGS] = values[_TAGS] or None
    for index, write in _SHAPED:
        if values[index] is not None:
            values[index] = write(values[index])
    values.append(job.score)
    values.append(job.unique_key if job.holds_unique_key(now) else None)
    return values


def job_of(row: Sequence[Any]) -> Job:
    """The job in these columns, in the order of FIELDS."""
    values = list(row)
    try:
        values[_STATUS] = _STATUSES[values[_STATUS]]
        for index, read in _READ:
            if values[index] is not None:
                values[index] = read(values[index])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DeserializationError(f"job {row[0]} cannot be read: {error!r}", job_id=str(row[0])) from error
    if values[_TAGS] is None:
        values[_TAGS] = ()
    return Job.of(values)


def readable(rows: Iterable[Sequence[Any]]) -> list[tuple[Job, Any]]:
    """The jobs in these rows, each with the column behind its own.

    One that cannot be read, perhaps a later release's, must not hold up the others.
    """
    found: list[tuple[Job, Any]] = []
    for row in rows:
        try:
            found.append((job_of(row[:_WIDTH]), row[-1]))
        except DeserializationError as error:
            logger.error("%s", error, extra={"job_id": error.job_id})
    return found


_WIDTH: Final = len(FIELDS)
