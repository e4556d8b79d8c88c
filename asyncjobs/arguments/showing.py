"""Stored arguments and results as plain JSON, for people and clients: nothing is loaded, and nothing can fail."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils.duration import duration_iso_string

from asyncjobs.arguments.encoding import TYPE, VALUE


def shown(text: str | None) -> Any:
    """The JSON in this text, dates and the like as text; a model instance as its label and key."""
    if text is None:
        return None
    try:
        value = json.loads(text)
        return _value(value) if TYPE in text or "\\" in text else value
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError, AttributeError):
        return text


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if TYPE not in value:
        return _fields(value)
    return _TYPES.get(value[TYPE], _as_is)(value[VALUE])


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in fields.items()}


def _model(reference: list[Any]) -> dict[str, Any]:
    label, key, _ = reference
    return {"model": label, "pk": _value(key)}


def _as_is(value: Any) -> Any:
    return value


_TYPES: dict[str, Callable[[Any], Any]] = {
    "dict": _fields,
    "timedelta": lambda microseconds: duration_iso_string(timedelta(microseconds=microseconds)),
    "model": _model,
}
