"""JSON Schema 2020-12, which OpenAPI 3.1 has, in the dialect of OpenAPI 3.0."""

from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]

_SCHEMAS: Final = ("items", "additionalProperties", "not")  # keywords with a schema
_LISTS: Final = ("anyOf", "oneOf", "allOf")  # with a list of schemas
_UNKNOWN: Final = ("$schema", "prefixItems", "examples")
_NULL: Final[Schema] = {"type": "null"}


def with_old_schemas(described: Any) -> Any:
    """A description with all schemas in it in the older dialect. What is in examples is no schema."""
    if isinstance(described, list):
        return [with_old_schemas(part) for part in described]
    if not isinstance(described, Mapping):
        return described
    return {name: _translated(name, part) for name, part in described.items()}


def old_schema(schema: Any) -> Any:
    """The same schema, as far as the older dialect has words for it."""
    if not isinstance(schema, Mapping):
        return schema
    made = {name: _inner(name, part) for name, part in schema.items() if name not in _UNKNOWN}
    made |= _bounds(made)
    if "const" in made:
        made["allOf"] = [{"enum": [made.pop("const")]}]  # an enum of its own would be made a component with a name
    if _NULL in schema.get("anyOf", ()):
        made["anyOf"] = [part for part, old in zip(made["anyOf"], schema["anyOf"], strict=True) if old != _NULL]
        made["nullable"] = True
    return _of_one_type(made)


def _translated(name: str, part: Any) -> Any:
    if name in ("example", "examples"):
        return part
    return old_schema(part) if name == "schema" else with_old_schemas(part)


def _inner(name: str, part: Any) -> Any:
    if name == "properties":
        return {key: old_schema(value) for key, value in part.items()}
    if name in _LISTS:
        return [old_schema(member) for member in part]
    return old_schema(part) if name in _SCHEMAS else part


def _bounds(schema: Schema) -> Schema:
    """Exclusive ones were said beside the bound."""
    made: Schema = {}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if exclusive in schema:
            made |= {bound: schema[exclusive], exclusive: True}
    return made


def _of_one_type(schema: Schema) -> Schema:
    """There were no lists of types, and no type of null."""
    types = schema.get("type")
    if types == "null":
        return {**schema, "type": "string", "nullable": True, "enum": [None]}
    if not isinstance(types, list):
        return schema
    rest = {name: value for name, value in schema.items() if name != "type"}
    kinds = [kind for kind in types if kind != "null"]
    nullable = {"nullable": True} if "null" in types else {}
    if len(kinds) == 1:
        return {"type": kinds[0], **rest, **nullable}
    return {**rest, "anyOf": [{"type": kind, **nullable} for kind in kinds]}
