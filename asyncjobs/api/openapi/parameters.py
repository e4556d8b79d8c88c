"""What goes with a request beside its body: in its path, its query and its headers."""

from typing import Any, Final

from asyncjobs.api.filters import FILTERS, LONGEST, MOST
from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.openapi.shapes import ID, MOMENT, NUMBER, TEXT, ref
from asyncjobs.api.views.job import MOST_ENTRIES

_BOUNDED: Final[Schema] = {"type": "string", "maxLength": LONGEST}
_WHOLE: Final[Schema] = {**NUMBER, "maximum": 10**15 - 1}
_KEY: Final = r'^(?:[!#-\[\]-~]{1,255}|"(?:[ !#-\[\]-~]|\\["\\]){1,255}")$'

FILTER_SCHEMAS: Final[dict[str, tuple[Schema, str]]] = {
    "status": (ref("AsyncJobStatus"), "Only jobs in this status."),
    "name": (_BOUNDED, "Only jobs of this handler."),
    "queue": (_BOUNDED, "Only jobs of this queue."),
    "tag": (_BOUNDED, "Only jobs with this tag."),
    "owner": (_BOUNDED, "Only jobs of this user. Whose jobs others may not see, may name themselves alone."),
    "created_from": (MOMENT, "Only jobs that were submitted then, or later."),
    "created_to": (MOMENT, "Only jobs that were submitted before."),
    "cursor": (_BOUNDED, "Where the page begins, as the page before it says."),
    "limit": ({"type": "integer", "minimum": 1, "maximum": MOST}, "The most jobs of a page."),
}


def _parameter(place: str, name: str, schema: Schema, description: str, **more: Any) -> Schema:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, **required, "description": description, "schema": schema, **more}


def in_path(name: str, schema: Schema, description: str) -> Schema:
    return _parameter("path", name, schema, description)


def in_query(name: str, schema: Schema, description: str) -> Schema:
    return _parameter("query", name, schema, description)


def in_header(name: str, schema: Schema, description: str, **more: Any) -> Schema:
    return _parameter("header", name, schema, description, **more)


JOB: Final = in_path("job_id", ID, "The id of the job.")
QUEUE: Final = in_path("name", TEXT, "The name of the queue.")
HANDLER: Final = in_path("name", TEXT, "The name of the handler.")
LIST: Final = tuple(in_query(name, *FILTER_SCHEMAS[name]) for name in FILTERS)
LOG: Final = (
    in_query("after", _WHOLE, "Only lines with a number above this."),
    in_query("limit", _WHOLE, f"The most lines; there are no more than {MOST_ENTRIES} at a time."),
)
WAIT: Final = (
    in_query(
        "wait",
        {**NUMBER, "maximum": 999_999_999},
        "How many seconds to wait for the job to change; bounded by the site.",
    ),
    in_header("Prefer", TEXT, "As `wait`, as RFC 7240 has it.", example="wait=20"),
)
KNOWN: Final = in_header("If-None-Match", TEXT, "The ETag that the client has: 304 if the job is still like that.")
LAST_EVENT: Final = in_header("Last-Event-ID", TEXT, "The last event that the client knows: go on from there.")
KEY: Final = in_header(
    "Idempotency-Key",
    {"type": "string", "pattern": _KEY},
    "The same request with the same key, and from the same user, is carried out once, and gets the same answer.",
    example='"8e03978e-40d5-43dd-bc93-6894a57f9324"',
)
