"""Requests and answers as they look: made by the code that makes real ones, of a job that never was."""

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from asyncjobs.api.bodies import entry_body, job_body, with_result
from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.problems import KINDS, Fault, Problem, handle
from asyncjobs.api.webhooks.message import message_of
from asyncjobs.domain.job import Job, JobStatus, Progress
from asyncjobs.stores.base import Entry

PLACE: Final = "https://example.com/api/jobs/"
MOST: Final = 20  # handlers with an example
MORNING: Final = 1_800_000_000_000  # ms since 1970

_FAULT: Final = Fault("#/kwargs/pages", "invalid", "A valid integer is required.")
_QUEUED: Final = Job(
    id="0190a6c2-7b1e-4f3a-9c58-2d6f0e8b4a17",
    name="reports.write",
    created_at=MORNING,
    tags=("monthly",),
)
_RUNNING: Final = _QUEUED.replace(
    status=JobStatus.IN_PROGRESS, attempt=1, started_at=MORNING + 40, progress=Progress(done=3, total=12)
)
_DONE: Final = _RUNNING.replace(
    status=JobStatus.COMPLETED, completed_at=MORNING + 2_500, progress=None, result='{"pages": 12}'
)


def _body(job: Job) -> dict[str, Any]:
    return job_body(job, lambda job_id, part: f"{PLACE}{job_id}/{part}")


QUEUED: Final = _body(_QUEUED)
RUNNING: Final = _body(_RUNNING)
CANCELED: Final = _body(_QUEUED.replace(status=JobStatus.CANCELED, completed_at=MORNING + 900))
DONE: Final = with_result(_DONE, _body(_DONE))
RESULT: Final = DONE["result"]
PAGE: Final = {"jobs": [QUEUED, _body(_DONE)], "next": f"{PLACE}?status=queued&cursor=MTgw"}
BATCH: Final = {"jobs": [QUEUED]}
LOG: Final = {"entries": [entry_body(Entry("log", MORNING + 60, "page 1", number=1))], "next": None}
EVENTS: Final = f"id: 3-00000000.0\nevent: status\ndata: {json.dumps(RUNNING)}\n\n"
EVENT: Final = json.loads(message_of(_DONE).body)


def problem(code: str) -> Any:
    """A problem of this kind."""
    faults = (_FAULT,) if code == "invalid" else ()
    request: Any = SimpleNamespace(path="/api/jobs/", headers={})
    answered = handle(Problem(code, f"{KINDS[code].title}.", faults=faults), {"request": request})
    return answered.data if answered is not None else None


def requests(components: Mapping[str, Schema]) -> dict[str, dict[str, Any]]:
    """What may be sent where one of these components is asked for: a job for each handler that is offered."""
    jobs = [_submission(schema) for name, schema in components.items() if name.startswith("AsyncJobSubmission.")]
    return {
        "AsyncJobSubmission": {job["name"]: job for job in jobs[:MOST]},
        "AsyncJobBatch": {"batch": {"jobs": jobs[:1]}} if jobs else {},
        "AsyncJobReason": {"reason": {"reason": "ordered twice"}},
        "AsyncJobQueuePauseForm": {"maintenance": {"reason": "maintenance", "for": "PT30M"}},
    }


def _submission(schema: Schema) -> Any:
    given = schema["properties"]
    how = "kwargs" if "kwargs" in given else "payload"
    return {"name": given["name"]["const"], how: value_of(given[how])}


def value_of(schema: Schema) -> Any:
    """A value that fits, unless it takes a pattern or the like to fit."""
    for said in ("const", "default"):
        if said in schema:
            return schema[said]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return value_of(schema["anyOf"][0])
    kinds = schema.get("type", "string")
    return _SAMPLES[kinds if isinstance(kinds, str) else kinds[0]](schema)


def _object(schema: Schema) -> dict[str, Any]:
    """With what must be there."""
    return {name: value_of(schema["properties"].get(name, {})) for name in schema.get("required", ())}


def _array(schema: Schema) -> list[Any]:
    return [value_of(schema.get("items", {}))] * schema.get("minItems", 1)


def _text(schema: Schema) -> str:
    return _TEXTS.get(schema.get("format", ""), "text")


_TEXTS: Final = {
    "date": "2027-01-15",
    "date-time": "2027-01-15T08:00:00Z",
    "time": "08:00:00",
    "duration": "PT10M",
    "uuid": _QUEUED.id,
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
_SAMPLES: Final[Mapping[str, Callable[[Schema], Any]]] = {
    "object": _object,
    "array": _array,
    "string": _text,
    "integer": lambda schema: schema.get("minimum", 1),
    "number": lambda schema: schema.get("minimum", 1.5),
    "boolean": lambda schema: True,
    "null": lambda schema: None,
}
