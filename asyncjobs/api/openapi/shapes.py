"""What schemas are put together from."""

from collections.abc import Iterable
from typing import Any, Final

from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.times import LATEST
from asyncjobs.rules import MAX_REASON

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "integer", "minimum": 0}
SECONDS: Final[Schema] = {"type": "number", "minimum": 0}
YES_OR_NO: Final[Schema] = {"type": "boolean"}
MOMENT: Final[Schema] = {"type": "string", "format": "date-time"}
ADDRESS: Final[Schema] = {"type": "string", "format": "uri"}
ID: Final[Schema] = {"type": "string", "format": "uuid"}
ANYTHING: Final[Schema] = {}
PRINTABLE: Final = r"^[^\x00-\x1f\x7f-\x9f]*$"
REASON: Final[Schema] = {"type": "string", "maxLength": MAX_REASON, "pattern": PRINTABLE}
_ISO_DURATION: Final = r"^P(\d{1,3}D|(\d{1,3}D)?T(\d{1,4}H(\d{1,6}M)?(\d{1,8}S)?|\d{1,6}M(\d{1,8}S)?|\d{1,8}S))$"
DURATION: Final[Schema] = {
    "description": f"Seconds, or an ISO 8601 duration such as PT10M; {LATEST.days} days at most.",
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": LATEST.total_seconds()},
        {"type": "string", "pattern": _ISO_DURATION},
        {"type": "null"},
    ],
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def noted(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def list_of(schema: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": schema, **more}


def record(description: str, properties: dict[str, Schema], *, optional: Iterable[str] = ()) -> Schema:
    """What we answer: all is there that is not optional, and clients must take what is added later."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "description": description, "properties": properties, "required": required}


def form(description: str, properties: dict[str, Schema], **more: Any) -> Schema:
    """What clients send: nothing beside it is taken."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": False,
        **more,
    }
