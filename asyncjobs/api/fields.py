"""Fields for values of JSON, which has types of its own: no text is taken for a number, nor a number for a text."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

Field = serializers.Field[Any, Any, Any, Any]


class Anything(Field):
    """What is JSON: the parser has seen to that."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"allow_null": True})

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class Withheld(Field):
    """A row, which is not for clients to name: there would be no telling which of them are theirs."""

    default_error_messages: ClassVar = {"withheld": "This cannot be given over HTTP: the handler has no serializer."}

    def to_internal_value(self, data: Any) -> Any:
        self.fail("withheld")

    def to_representation(self, value: Any) -> Any:
        return value


class Exactly(Field):
    """Before the class of a field: takes these types alone."""

    takes: ClassVar[tuple[type, ...]] = ()

    def to_internal_value(self, data: Any) -> Any:
        if type(data) not in self.takes:
            self.fail("invalid")
        return super().to_internal_value(data)


class Text(Exactly, serializers.CharField):
    takes = (str,)


class Truth(Exactly, serializers.BooleanField):
    takes = (bool,)


class Whole(Exactly, serializers.IntegerField):
    """Such as 2, and 2.0: to JSON it is the same number."""

    takes = (int, float)


class Real(Exactly, serializers.FloatField):
    takes = (int, float)


class Choice(serializers.ChoiceField):
    """One of these values."""

    def to_internal_value(self, data: Any) -> Any:
        for choice in self.choices:
            if type(choice) is type(data) and choice == data:
                return choice
        self.fail("invalid_choice", input=f"{data!s:.80}")


class AnyOf(Field):
    """What fits one of these fields: a number or a boolean as it is, then what is written as a text, then any text."""

    default_error_messages: ClassVar = {"no_match": "It is of none of the types that are taken here."}

    def __init__(self, *, members: Sequence[Field], **options: Any) -> None:
        super().__init__(**options)
        self.members = sorted(members, key=_breadth)

    def to_internal_value(self, data: Any) -> Any:
        for member in self.members:
            with suppress(ValidationError, DjangoValidationError):
                return member.run_validation(data)
        self.fail("no_match")

    def to_representation(self, value: Any) -> Any:
        return value


def _breadth(field: Field) -> int:
    if isinstance(field, Text | Anything):
        return 2 if isinstance(field, Text) else 3
    return 0 if isinstance(field, Exactly) else 1
