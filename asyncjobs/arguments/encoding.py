"""Values as JSON that comes back as the same values.

JSON has no dates or decimals: those travel in an object with the key `$type`. A dict that has this key itself
travels in an object of the type "dict", so nothing a caller passes is ever taken for one of ours.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, Final
from uuid import UUID

from django.db.models import Model

from asyncjobs.arguments.binding import Call
from asyncjobs.errors import InvalidArguments, InvalidResult, PayloadTooLarge

TYPE: Final = "$type"
VALUE: Final = "value"
MAX_DEPTH: Final = 20

_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False).encode
_to_sorted_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class Unfit(Exception):
    """A value that JSON cannot hold; `keys` lead to it, the innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.keys: list[str | int] = []

    def path(self, root: str) -> str:
        """Where the value is, as one would write it: `order.items[3]`."""
        return root + "".join(map(_step, self.keys[-2::-1]))


def encode_call(call: Call[Any], names: tuple[str, ...], *, limit: int) -> str:
    """The payload that `decode_call` reads; `names` are those of the positional parameters."""
    try:
        args = _to_json(_items(call.args, -1)) if call.args else "[]"
        kwargs = _to_json(_fields(call.kwargs, -1)) if call.kwargs else "{}"
    except Unfit as unfit:
        root = unfit.keys[-1]
        name = root if isinstance(root, str) else names[root] if root < len(names) else f"args[{root}]"
        raise InvalidArguments(f"argument {unfit.path(name)} {unfit.reason}") from None
    except ValueError as error:
        raise InvalidArguments(f"the arguments do not fit in JSON: {error}") from None
    return _within(f'{{"args":{args},"kwargs":{kwargs}}}', limit, "payload")


def encode_result(result: Any, *, limit: int) -> str:
    """The text that `decode_result` reads."""
    if result is None:
        return "null"
    try:
        text = _to_json(_items([result], -1)[0])
    except Unfit as unfit:
        raise InvalidResult(f"{unfit.path('result')} {unfit.reason}") from None
    except ValueError as error:
        raise InvalidResult(f"the result does not fit in JSON: {error}") from None
    return _within(text, limit, "result")


def encode_named(values: Mapping[str, Any]) -> dict[str, Any]:
    """What `decode_named` reads, in terms of what JSON has."""
    try:
        return _fields(values, -1)
    except Unfit as unfit:
        raise InvalidArguments(f"{unfit.path(str(unfit.keys[-1]))} {unfit.reason}") from None


def canonical(value: Any) -> str:
    """The same text for equal values, whatever the order of keys."""
    try:
        return _to_sorted_json(plain(value, -MAX_DEPTH))
    except Unfit as unfit:
        raise InvalidArguments(f"the arguments make no unique key: one {unfit.reason}") from None


def plain(value: Any, depth: int) -> Any:
    """The value in terms of what JSON has."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is str:
        return _text(value)
    for of, encode in _KINDS:
        if isinstance(value, of):
            return encode(value, depth)
    raise Unfit(f"is {_a(value)}, which does not survive JSON")


def _text(value: str) -> str:
    if "\0" in value:
        raise Unfit("contains a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unfit("contains a lone surrogate") from None
    return value


def _items(values: Iterable[Any], depth: int) -> list[Any]:
    done: list[Any] = []
    try:
        for value in values:
            done.append(plain(value, depth + 1))
    except Unfit as unfit:
        unfit.keys.append(len(done))
        raise
    return done


def _fields(values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    done: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise Unfit(f"has the key {key!r:.40}, and a key must be text")
        try:
            done[_text(str.__str__(key))] = plain(value, depth + 1)
        except Unfit as unfit:
            unfit.keys.append(key)
            raise
    return done


def _list(values: Iterable[Any], depth: int) -> list[Any]:
    return _items(values, _deeper(depth))


def _dict(values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    fields = _fields(values, _deeper(depth))
    return _tagged("dict", fields) if TYPE in fields else fields


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise Unfit(f"is nested deeper than {MAX_DEPTH}")
    return depth


def _float(value: float, depth: int) -> float:
    if not isfinite(value):
        raise Unfit(f"is {float(value)}, which JSON does not have")
    return float(value)


def _decimal(value: Decimal, depth: int) -> Any:
    if not value.is_finite():
        raise Unfit(f"is the Decimal {value}, which is not a finite number")
    return _tagged("decimal", str(value))


def _model(value: Model, depth: int) -> Any:
    if value._state.adding or value.pk is None:
        raise Unfit(f"is {_a(value)} that is not saved")
    return _tagged("model", [value._meta.label_lower, plain(value.pk, 0), value._state.db])


def _enum(value: Enum, depth: int) -> Any:
    raise Unfit(f"is {_a(value)}, which does not survive JSON; pass its value")


def _tag(name: str, write: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    return lambda value, depth: _tagged(name, write(value))


def _tagged(name: str, value: Any) -> dict[str, Any]:
    return {TYPE: name, VALUE: value}


def _a(value: object) -> str:
    name = type(value).__qualname__
    return f"an {name}" if name[:1].lower() in "aeio" else f"a {name}"


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() and key.isascii() else f"[{key!a:.40}]"


def _within(text: str, limit: int, what: str) -> str:
    size = len(text) if text.isascii() else len(text.encode())
    if size > limit:
        raise PayloadTooLarge(f"the {what} has {size:,} bytes, more than the {limit:,} allowed")
    return text


_ATOMS = frozenset({int, bool, type(None)})
_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Any, int], Any]], ...] = (
    (float, _float),
    ((list, tuple), _list),
    (dict, _dict),
    (str, lambda value, depth: _text(str.__str__(value))),
    (int, lambda value, depth: int(value)),
    (datetime, _tag("datetime", datetime.isoformat)),
    (date, _tag("date", date.isoformat)),
    (time, _tag("time", time.isoformat)),
    (timedelta, _tag("timedelta", lambda value: value // timedelta(microseconds=1))),
    (Decimal, _decimal),
    (UUID, _tag("uuid", str)),
    (Model, _model),
    (Enum, _enum),
)
