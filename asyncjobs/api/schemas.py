"""What a handler takes, as JSON Schema: for people, and for programs that make forms or clients of it.

Where nothing is known of a field, the schema says nothing of it: {} fits any value.
"""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import (
    MaxLengthValidator,
    MaxValueValidator,
    MinLengthValidator,
    MinValueValidator,
    RegexValidator,
)
from rest_framework import ISO_8601, serializers
from rest_framework.fields import empty
from rest_framework.settings import api_settings

from asyncjobs.api.arguments import serializer_of
from asyncjobs.api.fields import AnyOf
from asyncjobs.api.patterns import pattern_of
from asyncjobs.api.signatures import Signature
from asyncjobs.registry import Handler

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DEEPEST: Final = 8  # serializers within serializers; one that contains itself never ends


def schema_of(handler: Handler[..., Any]) -> Schema:
    """The schema of the handler's arguments by name. Never fails, whatever the site's serializer does."""
    try:
        serializer = serializer_of(handler)()
    except Exception:  # of a class of the site's, which may need a request
        return {"$schema": DIALECT}
    return {"$schema": DIALECT, **schema_of_field(serializer)}


def schema_of_field(field: Any, depth: int = 0) -> Schema:
    """What this field takes. One of the site's may be any code: if it fails, nothing is known of it."""
    try:
        kind = next((describe for of, describe in _KINDS if isinstance(field, of)), None)
        if kind is None or depth > DEEPEST:
            return _noted(field, {})
        return _noted(field, _nullable(field, _bounded(field, kind(field, depth))))
    except Exception:  # whatever it is, the other fields are there
        return {}


def _of_type(name: str, **more: str) -> Callable[[Any, int], Schema]:
    return lambda field, depth: {"type": name, **more}


def _text(field: Any, depth: int) -> Schema:
    return {"type": "string"} if field.allow_blank else {"type": "string", "minLength": 1}


def _formatted(name: str) -> Callable[[Any, int], Schema]:
    return lambda field, depth: {**_text(field, depth), "format": name}


def _address(field: Any, depth: int) -> Schema:
    form = {"ipv4": "ipv4", "ipv6": "ipv6"}.get(field.protocol.lower())
    return {"type": "string", "format": form} if form else {"type": "string"}


def _moment(name: str, setting: str) -> Callable[[Any, int], Schema]:
    """In ISO 8601, unless the site has it otherwise."""

    def schema(field: Any, depth: int) -> Schema:
        forms = getattr(field, "input_formats", getattr(api_settings, setting))
        return {"type": "string", "format": name} if ISO_8601 in forms else {"type": "string"}

    return schema


def _choice(field: Any, depth: int) -> Schema:
    blank = [""] if getattr(field, "allow_blank", False) else []
    return {"enum": list(dict.fromkeys([*map(_plain, field.choices), *blank]))}


def _choices(field: Any, depth: int) -> Schema:
    return _listed(field, {"enum": list(map(_plain, field.choices))})


def _list(field: Any, depth: int) -> Schema:
    return _listed(field, schema_of_field(field.child, depth + 1))


def _related(field: Any, depth: int) -> Schema:
    return _listed(field, {})


def _listed(field: Any, items: Schema) -> Schema:
    least = {} if field.allow_empty else {"minItems": 1}
    bounds = {"minItems": getattr(field, "min_length", None), "maxItems": getattr(field, "max_length", None)}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return {"type": "array", "items": items, **least, **given}


def _mapping(field: Any, depth: int) -> Schema:
    least = {} if field.allow_empty else {"minProperties": 1}
    return {"type": "object", "additionalProperties": schema_of_field(field.child, depth + 1), **least}


def _any_of(field: Any, depth: int) -> Schema:
    return {"anyOf": [schema_of_field(member, depth + 1) for member in field.members]}


def _object(field: Any, depth: int) -> Schema:
    inner = {name: own for name, own in field.fields.items() if not own.read_only and not _is_hidden(own)}
    schema: Schema = {
        "type": "object",
        "properties": {name: schema_of_field(own, depth + 1) for name, own in inner.items()},
    }
    required = [name for name, own in inner.items() if own.required]
    return schema | ({"required": required} if required else {})


def _signature(field: Any, depth: int) -> Schema:
    schema = _object(field, depth)
    for name, own in schema["properties"].items():
        own |= _default(field.defaults.get(name, empty))
    others = False if field.others is None else schema_of_field(field.others.child, depth + 1)
    return schema | {"additionalProperties": others}


def _bounded(field: Any, schema: Schema) -> Schema:
    """With the bounds that its validators set: of several, the narrowest."""
    for validator in getattr(field, "validators", ()):
        if type(validator) is RegexValidator:
            schema |= pattern_of(validator)
            continue
        for kind in _types(schema):
            name = _BOUNDS.get((type(validator), kind))
            limit = _number(validator.limit_value) if name else None
            if name and limit is not None:
                narrowest = max if name.startswith("min") else min
                schema[name] = narrowest(limit, schema.get(name, limit))
    return schema


def _nullable(field: Any, schema: Schema) -> Schema:
    if not field.allow_null:
        return schema
    if "enum" in schema:
        schema["enum"] = list(dict.fromkeys([*schema["enum"], None]))
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if "type" in schema:
        schema["type"] = [*_types(schema), "null"]
    return schema


def _noted(field: Any, schema: Schema) -> Schema:
    """With what is said of it, and what it is when it is left out."""
    said = {"description": str(field.help_text)} if getattr(field, "help_text", None) else {}
    return {**schema, **said, **_default(getattr(field, "default", empty))}


def _default(value: Any) -> Schema:
    """As it would be given; left out when that is not known."""
    if value is empty or callable(value):
        return {}
    try:
        return {"default": json.loads(json.dumps(value, cls=DjangoJSONEncoder, allow_nan=False))}
    except (TypeError, ValueError, RecursionError):
        return {}


def _types(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not isfinite(value):
        return None
    return int(value) if value == int(value) else float(value)


def _plain(choice: Any) -> Any:
    return choice if choice is None or isinstance(choice, str | int | float) else str(choice)


def _is_hidden(field: Any) -> bool:
    return isinstance(field, serializers.HiddenField)


_KINDS: Final[tuple[tuple[type, Callable[[Any, int], Schema]], ...]] = (
    (Signature, _signature),
    (serializers.Serializer, _object),
    (serializers.ListSerializer, _list),
    (serializers.ListField, _list),
    (serializers.DictField, _mapping),
    (serializers.ManyRelatedField, _related),
    (serializers.MultipleChoiceField, _choices),
    (serializers.ChoiceField, _choice),
    (AnyOf, _any_of),
    (serializers.BooleanField, _of_type("boolean")),
    (serializers.IntegerField, _of_type("integer")),
    (serializers.FloatField, _of_type("number")),
    (serializers.DecimalField, lambda field, depth: {"type": ["number", "string"]}),
    (serializers.EmailField, _formatted("email")),
    (serializers.URLField, _formatted("uri")),
    (serializers.IPAddressField, _address),
    (serializers.CharField, _text),
    (serializers.UUIDField, _of_type("string", format="uuid")),
    (serializers.DateTimeField, _moment("date-time", "DATETIME_INPUT_FORMATS")),
    (serializers.DateField, _moment("date", "DATE_INPUT_FORMATS")),
    (serializers.TimeField, _moment("time", "TIME_INPUT_FORMATS")),
    (serializers.DurationField, _of_type("string", format="duration")),
)
_BOUNDS: Final[Mapping[tuple[type, str], str]] = {
    (MinValueValidator, "integer"): "minimum",
    (MaxValueValidator, "integer"): "maximum",
    (MinValueValidator, "number"): "minimum",
    (MaxValueValidator, "number"): "maximum",
    (MinLengthValidator, "string"): "minLength",
    (MaxLengthValidator, "string"): "maxLength",
}
