"""The schema of a handler's arguments fits what the handler takes, and tells it to people and programs."""

import datetime
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pytest
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.utils.translation import gettext_lazy
from jsonschema import Draft202012Validator
from rest_framework import serializers

from asyncjobs.api.schemas import DIALECT, schema_of, schema_of_field
from asyncjobs.api.submissions import exposed
from asyncjobs.registry import Handler
from tests.api import jobs
from tests.api.test_arguments import ARRIVES, REFUSED, Color, arrived, faults, offered, taking


def checked(handler: Handler[..., Any]) -> dict[str, Any]:
    """The schema, which is one, and can be sent."""
    schema = schema_of(handler)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    assert schema == schema_of(handler)
    return schema


def of_serializer(**fields: Any) -> dict[str, Any]:
    """The schema of a serializer with these fields, but for the dialect."""
    serializer = type("Made", (serializers.Serializer,), fields)
    schema = checked(offered(lambda **arguments: None, serializer))
    del schema["$schema"]
    return schema


def of_field(field: Any) -> Any:
    return of_serializer(value=field)["properties"]["value"]


def test_a_function_is_an_object_of_its_arguments() -> None:
    def handler(
        a: int, day: datetime.date | None = None, /, c: str = "x", *more: bool, d: Any = Decimal("1.5")
    ) -> None:
        """Does something."""

    assert checked(offered(handler)) == {
        "$schema": DIALECT,
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "day": {"type": ["string", "null"], "format": "date", "default": None},
            "c": {"type": "string", "default": "x"},
            "more": {"type": "array", "items": {"type": "boolean"}},
            "d": {"default": "1.5"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_a_function_may_take_any_names() -> None:
    def anything(**more: Any) -> None: ...

    def dates(**days: datetime.date) -> None: ...

    assert checked(offered(anything))["additionalProperties"] == {}
    assert checked(offered(dates))["additionalProperties"] == {"type": "string", "format": "date"}
    assert "required" not in checked(offered(dates))


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Decimal, {"type": ["number", "string"]}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (list[int | None], {"type": "array", "items": {"type": ["integer", "null"]}}),
        (list, {"type": "array", "items": {}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Color, {"enum": ["red", "blue"]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (Any, {}),
    ],
    ids=str,
)
def test_every_type_has_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert checked(taking(hint))["properties"]["value"] == schema


@pytest.mark.parametrize(("hint", "given", "arrives"), ARRIVES, ids=lambda value: f"{value!s:.40}")
def test_what_a_handler_takes_fits_its_schema(hint: Any, given: Any, arrives: Any) -> None:
    Draft202012Validator(checked(taking(hint))).validate({"value": given})


def is_told(hint: Any, given: Any) -> bool:
    """Whether a schema can say that this does not fit: of formats it only says what they are."""
    return not (isinstance(given, str) and hint in FORMATS)


FORMATS = (Decimal, UUID, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, int | datetime.date)


@pytest.mark.parametrize(
    ("hint", "given"),
    [(hint, given) for hint, given, _ in REFUSED if is_told(hint, given)],
    ids=lambda value: f"{value!s:.40}",
)
def test_what_is_of_another_type_does_not_fit_the_schema(hint: Any, given: Any) -> None:
    assert not Draft202012Validator(checked(taking(hint))).is_valid({"value": given})


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        (serializers.CharField(), {"type": "string", "minLength": 1}),
        (serializers.CharField(allow_blank=True, max_length=9), {"type": "string", "maxLength": 9}),
        (serializers.CharField(min_length=3), {"type": "string", "minLength": 3}),
        (serializers.CharField(allow_null=True), {"type": ["string", "null"], "minLength": 1}),
        (serializers.EmailField(), {"type": "string", "minLength": 1, "format": "email"}),
        (serializers.URLField(max_length=99), {"type": "string", "minLength": 1, "format": "uri", "maxLength": 99}),
        (serializers.SlugField(), {"type": "string", "minLength": 1, "pattern": "^[-a-zA-Z0-9_]+$"}),
        (serializers.UUIDField(), {"type": "string", "format": "uuid"}),
        (serializers.IPAddressField(), {"type": "string"}),
        (serializers.IPAddressField(protocol="IPv4"), {"type": "string", "format": "ipv4"}),
        (serializers.IntegerField(min_value=1, max_value=5), {"type": "integer", "minimum": 1, "maximum": 5}),
        (
            serializers.IntegerField(min_value=1, validators=[MinValueValidator(3), MaxValueValidator(lambda: 9)]),
            {"type": "integer", "minimum": 3},
        ),
        (serializers.FloatField(max_value=0.5), {"type": "number", "maximum": 0.5}),
        (serializers.FloatField(max_value=float("inf")), {"type": "number"}),
        (
            serializers.DecimalField(max_digits=5, decimal_places=2, min_value=Decimal("0.5")),
            {"type": ["number", "string"], "minimum": 0.5},
        ),
        (serializers.BooleanField(default=False), {"type": "boolean", "default": False}),
        (serializers.DateTimeField(), {"type": "string", "format": "date-time"}),
        (serializers.DateField(input_formats=["%d.%m.%Y"]), {"type": "string"}),
        (serializers.TimeField(), {"type": "string", "format": "time"}),
        (
            serializers.DurationField(min_value=datetime.timedelta(1), default=datetime.timedelta(seconds=90)),
            {"type": "string", "format": "duration", "default": "P0DT00H01M30S"},
        ),
        (serializers.ChoiceField(["a", ("b", "B")], allow_blank=True), {"enum": ["a", "b", ""]}),
        (serializers.ChoiceField([(1, "one"), (None, "none")], allow_null=True), {"enum": [1, None]}),
        (
            serializers.MultipleChoiceField(choices=["a"], allow_empty=False),
            {"type": "array", "items": {"enum": ["a"]}, "minItems": 1},
        ),
        (
            serializers.ListField(child=serializers.IntegerField(), min_length=1, max_length=3, allow_null=True),
            {"type": ["array", "null"], "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
        ),
        (serializers.DictField(allow_empty=False), {"type": "object", "additionalProperties": {}, "minProperties": 1}),
        (serializers.JSONField(), {}),
        (serializers.JSONField(default=dict, help_text="Any."), {"description": "Any."}),
        (
            serializers.CharField(help_text=gettext_lazy("Name")),
            {"type": "string", "minLength": 1, "description": "Name"},
        ),
    ],
    ids=lambda value: f"{value!r:.60}",
)
def test_every_field_has_a_schema(field: Any, schema: dict[str, Any]) -> None:
    assert of_field(field) == schema


def test_a_site_may_write_dates_its_own_way(settings: Any) -> None:
    settings.REST_FRAMEWORK = {"DATE_INPUT_FORMATS": ["%d.%m.%Y"]}
    assert of_field(serializers.DateField()) == {"type": "string"}


def test_serializers_may_be_nested_and_many() -> None:
    class Item(serializers.Serializer[Any]):
        amount = serializers.IntegerField(help_text="How many.")
        note = serializers.CharField(required=False)

    item = {
        "type": "object",
        "properties": {
            "amount": {"type": "integer", "description": "How many."},
            "note": {"type": "string", "minLength": 1},
        },
        "required": ["amount"],
    }
    at_most_three: Any = {"max_length": 3}  # an option of the list
    assert of_serializer(
        one=Item(allow_null=True, help_text="One."),
        more=Item(many=True, required=False, allow_empty=False),
        few=Item(many=True, **at_most_three),
    ) == {
        "type": "object",
        "properties": {
            "one": {**item, "type": ["object", "null"], "description": "One."},
            "more": {"type": "array", "items": item, "minItems": 1},
            "few": {"type": "array", "items": item, "maxItems": 3},
        },
        "required": ["one", "few"],
    }
    many = checked(offered(lambda value: None, lambda: Item(many=True)))
    assert many == {"$schema": DIALECT, "type": "array", "items": item}


def test_what_no_client_gives_is_not_in_it() -> None:
    schema = of_serializer(
        a=serializers.IntegerField(),
        made=serializers.IntegerField(read_only=True),
        told=serializers.ReadOnlyField(),
        owner=serializers.HiddenField(default=serializers.CurrentUserDefault()),
    )
    assert list(schema["properties"]) == schema["required"] == ["a"]


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}$",
        r"^(?:a|b)+?$",
        r"[^abc\-]",
        r"^[\w.+-]+@\w+\.\w{2,}$",
        r"a(?=b)(?!c)",
        r"^x*$",
        r"\$\{x\}",
        "ü",
    ],
)
def test_a_pattern_that_everybody_reads_alike_is_told(pattern: str) -> None:
    assert of_field(serializers.RegexField(pattern))["pattern"] == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"\Aabc\Z",
        r"(?P<year>\d)",
        r"(?i)abc",
        r"(?<=a)b",
        r"a++",
        r"(?>a)",
        r"(a)\1",
        r"[^\d]",
        r"\D",
        r"\bword",
        r"[]a]",
        r"a{,3}",
        r"\N{BULLET}",
        r"\x41",
        r"a\-b",
        r"(?#comment)a",
        re.compile("abc", re.IGNORECASE),
        re.compile("a b", re.VERBOSE),
        re.compile("^a$", re.MULTILINE),
        "a" * 501,
    ],
    ids=lambda pattern: f"{pattern!s:.30}",
)
def test_a_pattern_that_others_may_read_otherwise_is_left_out(pattern: Any) -> None:
    assert "pattern" not in of_field(serializers.RegexField(pattern))


def test_a_pattern_that_must_not_match_is_left_out() -> None:
    refusing = RegexValidator("^a$", inverse_match=True)
    assert "pattern" not in of_field(serializers.CharField(validators=[refusing]))


class Broken(serializers.CharField):
    """Whatever is asked of it, it fails."""

    @property
    def help_text(self) -> Any:
        raise RuntimeError("asked for help")

    @help_text.setter
    def help_text(self, text: Any) -> None: ...


class Odd(serializers.Field[Any, Any, Any, Any]):
    """A field of a class of its own."""


class Endless(serializers.Serializer[Any]):
    """One that contains itself."""

    def get_fields(self) -> dict[str, Any]:
        return {"left": Endless(required=False), "right": Endless(many=True, required=False)}


def test_of_a_field_that_nobody_knows_nothing_is_said() -> None:
    assert of_serializer(odd=Odd(help_text="Odd."), broken=Broken(), fine=serializers.IntegerField(required=False)) == {
        "type": "object",
        "properties": {"odd": {"description": "Odd."}, "broken": {}, "fine": {"type": "integer"}},
        "required": ["odd", "broken"],
    }


def test_a_serializer_that_contains_itself_has_an_end() -> None:
    assert len(json.dumps(checked(offered(lambda **order: None, Endless)))) < 100_000


def _needs_a_request(**options: Any) -> Any:
    return options["context"]["request"].user


class Failing(serializers.Serializer[Any]):
    def get_fields(self) -> Any:
        return {"user": self.context["request"].user}


class NoSerializer(serializers.BaseSerializer[Any]):
    def to_internal_value(self, data: Any) -> Any:
        return data


@pytest.mark.parametrize("serializer", [_needs_a_request, Failing, NoSerializer, object, int, lambda: None])
def test_whatever_a_sites_serializer_does_there_is_a_schema(serializer: Callable[..., Any]) -> None:
    assert checked(offered(lambda **order: None, serializer)) == {"$schema": DIALECT}


@pytest.mark.parametrize("default", [float("nan"), object(), {1, 2}, lambda: 1, b"\xff", {"a": {object()}}])
def test_a_default_that_cannot_be_given_is_left_out(default: Any) -> None:
    def handler(value: Any = default) -> None: ...

    assert checked(offered(handler))["properties"]["value"] == {}
    assert "default" not in of_field(serializers.IntegerField(default=default))


def test_related_things_are_known_to_be_many(db: None) -> None:
    from django.contrib.auth.models import Group

    many = serializers.PrimaryKeyRelatedField(queryset=Group.objects.all(), many=True, allow_empty=False)
    assert of_field(many) == {"type": "array", "items": {}, "minItems": 1}
    assert of_field(serializers.PrimaryKeyRelatedField(queryset=Group.objects.all())) == {}


def test_every_handler_on_offer_has_a_schema_that_is_one() -> None:
    for handler in exposed():
        checked(handler)


def test_the_schema_of_a_serializer_fits_what_it_takes() -> None:
    schema = Draft202012Validator(checked(jobs.greet))
    assert schema.is_valid({"name": "Ada", "times": 3})
    assert arrived(jobs.greet, {"payload": {"name": "Ada", "times": 3}}) == {"name": "Ada", "times": 3}
    for wrong in ({}, {"name": ""}, {"name": "x" * 41}, {"name": "Ada", "times": 4}):
        assert not schema.is_valid(wrong)
        assert faults(jobs.greet, {"payload": wrong})


def test_a_field_alone_has_a_schema() -> None:
    assert schema_of_field(serializers.IntegerField(allow_null=True)) == {"type": ["integer", "null"]}
