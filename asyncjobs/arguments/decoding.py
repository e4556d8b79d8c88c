"""What `encoding` wrote, read back."""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from django.apps import apps
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model
from django.utils.connection import ConnectionDoesNotExist

from asyncjobs.arguments.binding import Call
from asyncjobs.arguments.encoding import TYPE, VALUE
from asyncjobs.errors import DeserializationError

T = TypeVar("T")

_UNREADABLE = (ValueError, TypeError, KeyError, ArithmeticError, LookupError, RecursionError, AttributeError)


def decode_call(payload: str) -> Call[Any]:
    """The arguments in this payload."""
    return _decoded(payload, _call if _is_tagged(payload) else _plain_call)


def decode_result(text: str | None) -> Any:
    """The result in this text, None where there is none."""
    return None if text is None else _decoded(text, _value)


def decode_named(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that `encode_named` was given."""
    return _decoded(json.dumps(values), _fields)


def _is_tagged(text: str) -> bool:
    """Whether anything in it may be of a type that JSON does not have. A backslash may hide the tag's name."""
    return TYPE in text or "\\" in text


def _decoded(text: str, convert: Callable[[Any], T]) -> T:
    try:
        return convert(_from_json(text))
    except (ObjectDoesNotExist, ConnectionDoesNotExist, ValidationError) as error:
        raise DeserializationError(f"a model instance is gone: {error}") from error
    except _UNREADABLE as error:
        raise DeserializationError(f"not readable: {error!r:.200}") from error


def _call(value: Any) -> Call[Any]:
    match value:
        case {"args": list(args), "kwargs": dict(kwargs)}:
            return Call(tuple(map(_value, args)), _fields(kwargs))
    raise ValueError("a payload is an object with args and kwargs")


def _plain_call(value: Any) -> Call[Any]:
    if type(value["args"]) is list and type(value["kwargs"]) is dict:
        return Call(tuple(value["args"]), value["kwargs"])
    raise ValueError("a payload is an object with args and kwargs")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_from_json = json.JSONDecoder(parse_constant=_refuse).decode


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    return _TYPES[value[TYPE]](value[VALUE]) if TYPE in value else _fields(value)


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in fields.items()}


def _model(reference: list[Any]) -> Model:
    label, pk, alias = reference
    manager = apps.get_model(label)._base_manager.using(alias or DEFAULT_DB_ALIAS)
    key = _value(pk)
    instance: Model = manager.get(pk=tuple(key) if isinstance(key, list) else key)
    return instance


_TYPES: dict[str, Callable[[Any], Any]] = {
    "dict": _fields,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda microseconds: timedelta(microseconds=microseconds),
    "decimal": Decimal,
    "uuid": UUID,
    "model": _model,
}
