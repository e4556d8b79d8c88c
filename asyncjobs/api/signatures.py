"""A serializer made from the signature of a function: its arguments by name, of the types it is annotated with."""

import datetime
import inspect
import types
import uuid
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from django.db.models import Model
from rest_framework import ISO_8601, serializers
from rest_framework.exceptions import ValidationError

from asyncjobs.api.fields import AnyOf, Anything, Choice, Field, Real, Text, Truth, Whole, Withheld
from asyncjobs.arguments.binding import Call

DEEPEST: Final = 6  # types within types; one that is defined by itself never ends
REQUIRED: Final = inspect.Parameter.empty


class Signature(serializers.Serializer[Any]):
    """The arguments of a function. Others than its own are refused, unless it takes any."""

    others: ClassVar[Any] = None  # the field of what it takes by any name
    defaults: ClassVar[Mapping[str, Any]] = {}

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        unknown = {name: data[name] for name in data if name not in self.fields}
        if not unknown:
            return value
        if self.others is None:
            raise ValidationError({name: ["There is no such argument."] for name in unknown}, code="unknown")
        return value | self.others.run_validation(unknown)


class Places(NamedTuple):
    """Where the named arguments of a function go."""

    names: tuple[str, ...]  # of those it takes by position
    nameless: int  # how many of them it takes in no other way
    rest: str  # the name of what it takes beyond them, or ""

    def call(self, values: dict[str, Any]) -> Call[Any]:
        """The call with these arguments."""
        rest = values.pop(self.rest, None) if self.rest else None
        placed = self.names if rest else self.names[: self.nameless]
        if not placed:
            return Call((), values)
        given = [name for name in placed if name in values]
        missing = [name for name in placed if name not in values]
        if missing and (rest or placed.index(missing[0]) < len(given)):
            raise ValidationError({missing[0]: ["It is needed by those that come after it."]}, code="required")
        return Call((*(values.pop(name) for name in given), *(rest or ())), values)


def places_of(function: Callable[..., Any]) -> Places:
    parameters = inspect.signature(function).parameters.values()
    kinds = {parameter.kind: parameter.name for parameter in parameters}
    nameless = [parameter.name for parameter in parameters if parameter.kind == parameter.POSITIONAL_ONLY]
    others = [parameter.name for parameter in parameters if parameter.kind == parameter.POSITIONAL_OR_KEYWORD]
    return Places((*nameless, *others), len(nameless), kinds.get(inspect.Parameter.VAR_POSITIONAL, ""))


def signature_of(function: Callable[..., Any]) -> type[Signature]:
    """The serializer of this function's arguments."""
    parameters = inspect.signature(function).parameters.values()
    hints = _hints(function)
    fields = {parameter.name: _parameter_field(parameter, hints.get(parameter.name, Any)) for parameter in parameters}
    others = [fields.pop(parameter.name) for parameter in parameters if parameter.kind == parameter.VAR_KEYWORD]
    signature: type[Signature] = type("Signature", (Signature,), fields)
    signature.others = others[0] if others else None
    signature.defaults = {
        parameter.name: parameter.default for parameter in parameters if parameter.default is not REQUIRED
    }
    return signature


def field_of(hint: Any, depth: int = 0, **options: Any) -> Field:
    """The field for a value of this type. What no JSON can be is taken as it comes."""
    hint = _named(hint)
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kinds = [member for member in members if member not in (None, types.NoneType)]
    if len(kinds) < len(members):
        options["allow_null"] = True
    if depth > DEEPEST or not kinds:
        return Anything(**options)
    if len(kinds) == 1:
        return _single(kinds[0], depth, options)
    return AnyOf(members=[field_of(kind, depth + 1) for kind in kinds], **options)


def _single(hint: Any, depth: int, options: dict[str, Any]) -> Field:
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if not isinstance(kind, Hashable):
        return Anything(**options)
    if kind in _LISTS:
        return serializers.ListField(child=field_of(_item(kind, arguments), depth + 1), **options)
    if kind in _DICTS:
        return serializers.DictField(child=field_of(arguments[-1] if arguments else Any, depth + 1), **options)
    if kind in _FIELDS:
        return _FIELDS[kind](**options)
    return _chosen(kind, arguments, options) or Anything(**options)


def _chosen(kind: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Field | None:
    """The field for one of some values: those that an enum stands for."""
    if is_model(kind):
        return Withheld(**options)
    if isinstance(kind, type) and issubclass(kind, Enum):
        arguments = tuple(member.value for member in kind)
    elif kind is not Literal:
        return None
    choices = [choice for choice in arguments if choice is not None]
    nullable = {"allow_null": True} if len(choices) < len(arguments) else {}
    return Choice(choices, **options | nullable) if all(type(choice) in _PLAIN for choice in choices) else None


def is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Model)


def takes_models(function: Callable[..., Any]) -> bool:
    """Whether a client would have to name rows."""
    return any(map(_names_model, _hints(function).values()))


def _names_model(hint: Any) -> bool:
    return is_model(hint) or any(map(_names_model, get_args(hint)))


def _item(kind: Any, arguments: tuple[Any, ...]) -> Any:
    """What a list is of; of a tuple whose items differ, anything."""
    if kind is tuple:
        return arguments[0] if len(arguments) == 2 and arguments[1] is Ellipsis else Any
    return arguments[0] if arguments else Any


def _named(hint: Any) -> Any:
    """What stands behind the name of a type."""
    for _ in range(DEEPEST):
        hint = getattr(hint, "__supertype__", getattr(hint, "__value__", hint))
    return hint


def _parameter_field(parameter: inspect.Parameter, hint: Any) -> Field:
    if parameter.kind == parameter.VAR_POSITIONAL:
        return serializers.ListField(child=field_of(hint), required=False)
    if parameter.kind == parameter.VAR_KEYWORD:
        return serializers.DictField(child=field_of(hint))
    nullable = {"allow_null": True} if parameter.default is None else {}
    return field_of(hint, required=parameter.default is REQUIRED, **nullable)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters. What cannot be found is there for type checkers alone, and may be anything."""
    try:
        return get_type_hints(function)
    except _UNKNOWN:
        inner = inspect.unwrap(function)
    named, known = getattr(inner, "__annotations__", {}), getattr(inner, "__globals__", {})
    return {name: _hint(hint, known) for name, hint in named.items()}


def _hint(hint: Any, known: dict[str, Any]) -> Any:
    try:
        return get_type_hints(types.SimpleNamespace(__annotations__={"hint": hint}), globalns=known)["hint"]
    except _UNKNOWN:
        return Any


_UNKNOWN: Final = (NameError, TypeError, AttributeError, SyntaxError)
_PLAIN: Final = frozenset({str, int, float, bool})
_LISTS: Final = frozenset({list, tuple, Sequence, MutableSequence, Collection, Iterable})
_DICTS: Final = frozenset({dict, Mapping, MutableMapping})
_FIELDS: Final[Mapping[Any, Callable[..., Field]]] = {
    str: lambda **options: Text(allow_blank=True, trim_whitespace=False, **options),
    bool: Truth,
    int: Whole,
    float: Real,
    Decimal: lambda **options: serializers.DecimalField(max_digits=None, decimal_places=None, **options),
    # In ISO 8601, whatever the forms of the site have.
    datetime.datetime: partial(serializers.DateTimeField, input_formats=[ISO_8601]),
    datetime.date: partial(serializers.DateField, input_formats=[ISO_8601]),
    datetime.time: partial(serializers.TimeField, input_formats=[ISO_8601]),
    datetime.timedelta: serializers.DurationField,
    uuid.UUID: serializers.UUIDField,
}
