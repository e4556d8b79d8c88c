"""What clients may submit: a schema for each handler that they are offered, with its arguments."""

import inspect
import re
from binascii import crc32
from collections.abc import Iterable
from typing import Any, Final

from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.openapi.shapes import ADDRESS, DURATION, PRINTABLE, TEXT, form, list_of, noted, or_null, ref
from asyncjobs.api.schemas import schema_of
from asyncjobs.api.signatures import Places, places_of
from asyncjobs.api.views.submit import MOST_AT_ONCE
from asyncjobs.api.webhooks.callbacks import MAX_URL
from asyncjobs.registry import Handler
from asyncjobs.rules import MAX_KEY, MAX_PRIORITY, MAX_TAG, MAX_TAGS

NAME: Final = "AsyncJobSubmission"
BATCH: Final = "AsyncJobBatch"


OPTIONS: Final[dict[str, Schema]] = {
    "queue": noted(
        {"type": ["string", "null"], "pattern": r"^[\w.\-@+]{1,64}$"},
        "A queue that is there already; by default the handler's own.",
    ),
    "priority": {"type": ["integer", "null"], "minimum": -MAX_PRIORITY, "maximum": MAX_PRIORITY},
    "delay": DURATION,
    "run_at": noted(or_null({"type": "string", "format": "date-time"}), "When to run; not together with a delay."),
    "unique_key": noted(
        or_null({"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": PRINTABLE}),
        "Of jobs that are not done, a client has one of a key: another is answered with that one.",
    ),
    "tags": {
        "type": ["array", "null"],
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_TAG, "pattern": PRINTABLE},
        "maxItems": MAX_TAGS,
    },
    "callback_url": noted(
        or_null({**ADDRESS, "pattern": "^https://", "maxLength": MAX_URL}),
        "Where to tell how the job ended: at a host that the site allows.",
    ),
}


def submissions(handlers: Iterable[Handler[..., Any]]) -> dict[str, Schema]:
    """The components of submissions: of those of each of these handlers, of all of them, and of many at once."""
    batch = form(
        "Submissions: all of them are stored, or none.",
        {"jobs": list_of(ref(NAME), minItems=1, maxItems=MOST_AT_ONCE)},
        required=["jobs"],
    )
    return {BATCH: batch, **_single(handlers)}


def _single(handlers: Iterable[Handler[..., Any]]) -> dict[str, Schema]:
    components = {_component(handler.name): handler for handler in handlers}
    if not components:
        return {NAME: _of_none()}
    mapping = {handler.name: ref(name)["$ref"] for name, handler in components.items()}
    any_of_them: Schema = {
        "description": "A job to be run. Which arguments it takes depends on the handler that it names.",
        "oneOf": [ref(name) for name in components],
        "discriminator": {"propertyName": "name", "mapping": mapping},
    }
    return {NAME: any_of_them, **{name: _of(handler) for name, handler in components.items()}}


def _of(handler: Handler[..., Any]) -> Schema:
    arguments = {name: part for name, part in schema_of(handler).items() if name != "$schema"}
    given = _given(arguments, places_of(handler.function))
    nothing = [] if "required" in arguments or "kwargs" not in given else [{"not": {"anyOf": _one_of(given)}}]
    refused = set() if handler.options.unique is None else {"unique_key"}
    options = {name: schema for name, schema in OPTIONS.items() if name not in refused}
    return form(
        inspect.cleandoc(handler.__doc__ or "").partition("\n")[0],
        {"name": {"type": "string", "const": handler.name}, **given, **options},
        required=["name"],
        oneOf=_one_of(given) + nothing,
        **_ONE_TIME,
    )


def _given(arguments: Schema, places: Places) -> dict[str, Schema]:
    """The ways to give the arguments. What is no object has no names; what needs a name cannot be given by position."""
    if arguments.get("type", "object") != "object":
        return {"payload": arguments}
    given = {
        "kwargs": noted(arguments, "The arguments by name."),
        "payload": noted(arguments, "The arguments: another name for `kwargs`."),
    }
    by_position = set(arguments.get("required", ())) <= set(places.names)
    return given | ({"args": _args(arguments, places)} if by_position else {})


def _args(arguments: Schema, places: Places) -> Schema:
    properties, names = arguments.get("properties", {}), places.names
    rest = properties.get(places.rest, {}).get("items", {})
    bounds = {
        "prefixItems": [properties.get(name, {}) for name in names],
        "minItems": max((names.index(name) + 1 for name in arguments.get("required", ())), default=0),
    }
    most = {} if places.rest else {"maxItems": len(names)}
    listed = list_of(rest, **{name: bound for name, bound in bounds.items() if bound}, **most)
    said = ", ".join(filter(None, [*names, places.rest]))
    return noted(listed, f"The arguments by position: {said or 'there are none'}.")


def _one_of(names: Iterable[str]) -> list[Schema]:
    return [{"required": [name]} for name in names]


def _of_none() -> Schema:
    """Where there is nothing to be submitted."""
    return form(
        "A job to be run. No handler is offered here.",
        {"name": TEXT, "kwargs": {"type": "object"}, "payload": {}, "args": list_of({}), **OPTIONS},
        required=["name"],
    )


def _component(name: str) -> str:
    """The component of the handler of this name. Names of components take fewer characters."""
    fit = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
    return f"{NAME}.{fit}" if fit == name else f"{NAME}.{fit}-{crc32(name.encode()):08x}"


_ONE_TIME: Final[Schema] = {"not": {"required": ["delay", "run_at"]}}
