"""What clients give arrives in the handler as its signature, or its serializer, says; what does not fit is refused."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import wraps
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, TypeVar, Union
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from rest_framework import serializers

from asyncjobs.api.arguments import Arguments
from asyncjobs.api.problems import Problem
from asyncjobs.api.reading import read_json
from asyncjobs.api.signatures import takes_models
from asyncjobs.arguments.decoding import decode_call
from asyncjobs.arguments.encoding import encode_call
from asyncjobs.options import Options
from asyncjobs.registry import DEFAULT_RETRY, Exposure, Handler

ID = UUID("01931f8e-6f0e-4c58-9a53-7c1b53f3b0a2")
NOON = datetime(2027, 1, 31, 12, tzinfo=UTC)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Mood(StrEnum):
    GOOD = "good"


class Odd(Enum):
    PAIR = (1, 2)


class Point(TypedDict):
    x: int


@dataclass
class Place:
    name: str


UserId = NewType("UserId", int)
T = TypeVar("T")


def offered(function: Callable[..., Any], serializer: Any = None) -> Handler[..., Any]:
    """The function as a handler that clients may submit, known to nobody else."""
    return Handler(function, "tests.offered", Options(), DEFAULT_RETRY, (), exposure=Exposure(serializer))


def taking(hint: Any) -> Handler[..., Any]:
    """A handler with one argument of this type."""

    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = hint
    return offered(handler)


def arrived(handler: Handler[..., Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """What the handler is called with, by name, after a request with this body."""
    call = Arguments(handler, request=None).read(read_json(json.dumps(body).encode()), "#")
    call = decode_call(encode_call(call, handler.binding.names, limit=100_000))
    return dict(inspect.signature(handler.function).bind(*call.args, **call.kwargs).arguments)


def faults(handler: Handler[..., Any], body: Mapping[str, Any]) -> dict[str, str]:
    """Where the body does not fit, and the codes of why."""
    with pytest.raises(Problem) as problem:
        arrived(handler, body)
    assert problem.value.code == "invalid"
    return {fault.pointer: fault.code for fault in problem.value.faults}


ARRIVES: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (int, 2.0, 2),
    (int, -(2**53) + 1, -(2**53) + 1),
    (float, 1.5, 1.5),
    (float, 1, 1.0),
    (bool, True, True),
    (str, "", ""),
    (str, " ü\n", " ü\n"),
    (Decimal, "1.10", Decimal("1.10")),
    (Decimal, 1.5, Decimal("1.5")),
    (UUID, str(ID), ID),
    (datetime, "2027-01-31T13:00:00+01:00", NOON),
    (datetime, "2027-01-31T12:00:00Z", NOON),
    (date, "2027-01-31", date(2027, 1, 31)),
    (time, "12:30:00", time(12, 30)),
    (timedelta, "PT90S", timedelta(seconds=90)),
    (timedelta, "1 00:00:01", timedelta(days=1, seconds=1)),
    (list, [1, None, {"a": []}], [1, None, {"a": []}]),
    (list[int], [1, 2], [1, 2]),
    (list[date], ["2027-01-31"], [date(2027, 1, 31)]),
    (list[list[UUID]], [[str(ID)], []], [[ID], []]),
    (list[int | None], [1, None], [1, None]),
    (list[Any], [1, None, "a"], [1, None, "a"]),
    (Sequence[int], [1], [1]),
    (Iterable[Decimal], ["1.5"], [Decimal("1.5")]),
    (tuple[int, ...], [1, 2], [1, 2]),
    (tuple[int, str], [1, "a"], [1, "a"]),
    (dict, {"a": None}, {"a": None}),
    (dict[str, date], {"a": "2027-01-31"}, {"a": date(2027, 1, 31)}),
    (dict[str, list[timedelta]], {"a": ["PT1S"]}, {"a": [timedelta(seconds=1)]}),
    (dict[str, Any], {"$type": "uuid", "value": "x"}, {"$type": "uuid", "value": "x"}),
    (Mapping[str, bool], {"a": False}, {"a": False}),
    (int | None, None, None),
    (int | None, 5, 5),
    (Optional[datetime], "2027-01-31T12:00:00Z", NOON),  # noqa: UP045 - as older code has it
    (Union[int, None], None, None),  # noqa: UP007 - as older code has it
    (int | str, 5, 5),
    (int | str, "5", "5"),
    (str | int, 5, 5),
    (str | date, "2027-01-31", date(2027, 1, 31)),
    (str | date, "tomorrow", "tomorrow"),
    (int | float, 1.5, 1.5),
    (bool | int, True, True),
    (bool | int, 1, 1),
    (list[int] | dict[str, date] | None, {"a": "2027-01-31"}, {"a": date(2027, 1, 31)}),
    (list[int] | dict[str, date] | None, None, None),
    (list[UUID | int], [str(ID), 5], [ID, 5]),
    (Any | int, {"a": 1}, {"a": 1}),
    (Literal["a", 1, None], "a", "a"),
    (Literal["a", 1, None], 1, 1),
    (Literal["a", 1, None], None, None),
    (Literal["1", 1], "1", "1"),
    (Literal["a"] | int, 7, 7),
    (Color, "red", "red"),
    (Size, 2, 2),
    (Mood, "good", "good"),
    (Odd, [1, 2], [1, 2]),
    (Annotated[int, "of money"], 5, 5),
    (list[Annotated[date, "when"]], ["2027-01-31"], [date(2027, 1, 31)]),
    (UserId, 5, 5),
    (Any, None, None),
    (object, {"a": [1]}, {"a": [1]}),
    (T, "x", "x"),
    (None, None, None),
    (Point, {"x": 1}, {"x": 1}),
    (Place, {"name": "here"}, {"name": "here"}),
    (Callable[[int], int], "x", "x"),
    ([], "a hint that is none", "a hint that is none"),
]


@pytest.mark.parametrize(("hint", "given", "arrives"), ARRIVES, ids=lambda value: f"{value!s:.40}")
def test_an_argument_arrives_as_it_is_annotated(hint: Any, given: Any, arrives: Any) -> None:
    value = arrived(taking(hint), {"kwargs": {"value": given}})["value"]
    assert (value, type(value)) == (arrives, type(arrives))


REFUSED: list[tuple[Any, Any, str]] = [
    (int, "5", ""),
    (int, 1.5, ""),
    (int, True, ""),
    (int, None, ""),
    (int, [], ""),
    (float, "1.5", ""),
    (float, "nan", ""),
    (float, False, ""),
    (bool, 1, ""),
    (bool, "true", ""),
    (bool, None, ""),
    (str, 5, ""),
    (str, None, ""),
    (Decimal, "NaN", ""),
    (Decimal, "Infinity", ""),
    (Decimal, [], ""),
    (UUID, "x", ""),
    (UUID, None, ""),
    (datetime, "soon", ""),
    (datetime, "10000-01-01T00:00:00Z", ""),
    (datetime, "0001-01-01T00:00:00+14:00", ""),
    (datetime, {}, ""),
    (date, 20270131, ""),
    (time, "25:00", ""),
    (timedelta, "for ever", ""),
    (timedelta, "9999999999999 00:00:00", ""),
    (list[int], [1, "2"], "/1"),
    (list[int], {"0": 1}, ""),
    (list[int], "12", ""),
    (list[list[int]], [[1], [1, None]], "/1/1"),
    (tuple[int, ...], ["x"], "/0"),
    (dict[str, int], {"a/b": "x"}, "/a~1b"),
    (dict[str, int], [["a", 1]], ""),
    (dict[str, list[bool]], {"a": [True, 0]}, "/a/1"),
    (int | date, "soon", ""),
    (int | None, "5", ""),
    (Literal["a", 1], "1", ""),
    (Literal[1], True, ""),
    (Literal["a"], None, ""),
    (Literal["a"], ["a"], ""),
    (Color, "RED", ""),
    (Size, "1", ""),
]


@pytest.mark.parametrize(("hint", "given", "place"), REFUSED, ids=lambda value: f"{value!s:.40}")
def test_an_argument_of_another_type_is_refused_where_it_is(hint: Any, given: Any, place: str) -> None:
    assert list(faults(taking(hint), {"kwargs": {"value": given}})) == [f"#/kwargs/value{place}"]


@pytest.mark.parametrize("hint", [User, list[User], User | None, dict[str, User]])
def test_no_client_names_a_row(db: None, hint: Any) -> None:
    ann = User.objects.create_user("ann")
    for given in (ann.pk, [ann.pk], {"key": ann.pk}):
        assert faults(taking(hint), {"kwargs": {"value": given}})
    assert takes_models(taking(hint))
    assert not takes_models(taking(int))


def test_a_type_that_is_defined_by_itself_has_an_end() -> None:
    class Json:
        __value__: Any

    Json.__value__ = dict[str, Json]  # as `type Json = dict[str, Json]` is
    deep: Any = 5
    for _ in range(15):
        deep = {"a": deep}
    assert arrived(taking(Json), {"kwargs": {"value": deep}})["value"] == deep


def test_what_is_given_by_position_by_name_or_as_a_payload_is_the_same_call() -> None:
    def handler(a: int, b: date, *, c: bool = False) -> None: ...

    expected = {"a": 1, "b": date(2027, 1, 31), "c": True}
    bodies: list[dict[str, Any]] = [
        {"args": [1, "2027-01-31"], "kwargs": {"c": True}},
        {"args": [1], "kwargs": {"b": "2027-01-31", "c": True}},
        {"args": [], "kwargs": {"a": 1, "b": "2027-01-31", "c": True}},
        {"payload": {"a": 1, "b": "2027-01-31", "c": True}},
    ]
    assert [arrived(offered(handler), body) for body in bodies] == [expected] * 4


def test_what_does_not_fit_is_found_where_it_was_given() -> None:
    def handler(a: int, b: list[int], *, c: bool = False) -> None: ...

    def of(body: dict[str, Any]) -> dict[str, str]:
        return faults(offered(handler), body)

    assert of({}) == {"#/kwargs/a": "required", "#/kwargs/b": "required"}
    assert of({"args": ["x"]}) == {"#/args/0": "invalid", "#/kwargs/b": "required"}
    assert of({"args": [1, [1, "x"]], "kwargs": {"c": 1}}) == {"#/args/1/1": "invalid", "#/kwargs/c": "invalid"}
    assert of({"args": [1, [], True]}) == {"#/args/2": "invalid"}
    assert of({"args": [1, []], "kwargs": {"a": 1}}) == {"#/kwargs/a": "invalid"}
    assert of({"args": [1, []], "kwargs": {"d/e": 1}}) == {"#/kwargs/d~1e": "unknown"}
    assert of({"payload": {"a": 1}}) == {"#/payload/b": "required"}
    assert of({"payload": {"a": 1, "b": [None]}}) == {"#/payload/b/0": "null"}
    assert list(of({"payload": []})) == list(of({"payload": None})) == ["#/payload"]
    assert of({"payload": {}, "args": []}) == of({"payload": {}, "kwargs": {}}) == {"#/payload": "invalid"}
    assert of({"args": {}}) == {"#/args": "invalid"}
    assert of({"kwargs": []}) == {"#/kwargs": "invalid"}


def test_what_is_left_out_is_left_to_the_function() -> None:
    def handler(a: int = 5, b: date | None = None, c: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert arrived(offered(handler), {}) == {}
    assert arrived(offered(handler), {"kwargs": {"b": None, "c": None}}) == {"b": None, "c": None}
    assert faults(offered(handler), {"kwargs": {"a": None}}) == {"#/kwargs/a": "null"}


def test_a_function_that_takes_any_names_takes_any() -> None:
    def anything(a: int, **more: Any) -> None: ...

    def dates(**days: date) -> None: ...

    def bare(**more) -> None: ...  # type: ignore[no-untyped-def]

    assert arrived(offered(anything), {"kwargs": {"a": 1, "b": None}}) == {"a": 1, "more": {"b": None}}
    assert arrived(offered(dates), {"kwargs": {"a": "2027-01-31"}}) == {"days": {"a": date(2027, 1, 31)}}
    assert arrived(offered(bare), {"payload": {"more": [1]}}) == {"more": {"more": [1]}}
    assert arrived(offered(anything), {"kwargs": {"a": 1, "": 2}}) == {"a": 1, "more": {"": 2}}
    assert arrived(offered(dates), {}) == {}
    assert list(faults(offered(dates), {"kwargs": {"a": "soon"}})) == ["#/kwargs/a"]


def test_a_function_that_takes_any_number_takes_any() -> None:
    def handler(a: int, b: int = 0, *days: date, c: bool = False) -> None: ...

    late = {"a": 1, "b": 2, "days": (date(2027, 1, 31),)}
    assert arrived(offered(handler), {"args": [1]}) == {"a": 1}
    assert arrived(offered(handler), {"args": [1, 2, "2027-01-31"]}) == late
    assert arrived(offered(handler), {"args": [1, 2, "2027-01-31"], "kwargs": {"c": True}}) == {**late, "c": True}
    assert arrived(offered(handler), {"payload": {"a": 1, "b": 2, "days": ["2027-01-31"]}}) == late
    assert list(faults(offered(handler), {"args": [1, 2, "2027-01-31", "soon"]})) == ["#/args/3"]
    assert list(faults(offered(handler), {"payload": {"a": 1, "days": ["2027-01-31"]}})) == ["#/payload/b"]
    assert list(faults(offered(handler), {"payload": {"a": 1, "days": "2027-01-31"}})) == ["#/payload/days"]


def test_what_a_function_takes_by_position_alone_has_a_name_all_the_same() -> None:
    def handler(a: int, b: int = 2, c: int = 3, /, d: int = 4) -> None: ...

    assert arrived(offered(handler), {"args": [1, 5]}) == {"a": 1, "b": 5}
    assert arrived(offered(handler), {"args": [1], "kwargs": {"b": 5, "d": 6}}) == {"a": 1, "b": 5, "d": 6}
    assert arrived(offered(handler), {"payload": {"a": 1}}) == {"a": 1}
    assert faults(offered(handler), {"args": [1], "kwargs": {"c": 5}}) == {"#/kwargs/b": "required"}
    assert faults(offered(handler), {"args": ["x"]}) == {"#/args/0": "invalid"}


def test_types_may_be_named_by_texts() -> None:
    def handler(day: Any, other: Any, names: Any = ()) -> None: ...

    handler.__annotations__.update(day="date", other="OnlyForTypeCheckers", names="list[str]", **{"return": "Nothing"})
    assert arrived(offered(handler), {"args": ["2027-01-31", {"a": 1}]}) == {
        "day": date(2027, 1, 31),
        "other": {"a": 1},
    }
    assert list(faults(offered(handler), {"args": ["2027-01-31", 1, [1]]})) == ["#/args/2/0"]


def test_a_decorated_function_takes_what_the_inner_one_takes() -> None:
    def inner(day: date) -> None: ...

    @wraps(inner)
    def handler(*args: Any, **kwargs: Any) -> None: ...

    assert arrived(offered(handler), {"args": ["2027-01-31"]}) == {"day": date(2027, 1, 31)}
    assert faults(offered(handler), {"kwargs": {"night": 1}}) == {"#/kwargs/day": "required"}


@pytest.mark.parametrize("name", ["data", "fields", "errors", "context", "instance", "source", "others", "defaults"])
def test_an_argument_may_have_any_name(name: str) -> None:
    function: dict[str, Any] = {}
    exec(f"def handler({name}: int, **more: int) -> None: ...", function)
    handler = offered(function["handler"])
    assert arrived(handler, {"kwargs": {name: 1, "other": 2}}) == {name: 1, "more": {"other": 2}}
    assert faults(handler, {"kwargs": {name: "x"}}) == {f"#/kwargs/{name}": "invalid"}


def test_nothing_that_is_shared_is_kept_of_a_request() -> None:
    def handler(days: list[date], **more: date) -> None: ...

    made = offered(handler)
    for given in ("2027-01-31", "soon", "2027-01-31"):
        body = {"kwargs": {"days": [given], "a": given}}
        if given == "soon":
            assert "#/kwargs/days/0" in faults(made, body)
        else:
            assert arrived(made, body) == {"days": [date(2027, 1, 31)], "more": {"a": date(2027, 1, 31)}}


class Order(serializers.Serializer[Any]):
    number = serializers.IntegerField(min_value=1)
    days = serializers.ListField(child=serializers.DateField(), required=False)


class One(serializers.IntegerField):
    """A field is no serializer, but reads a value."""

    def __init__(self, context: Any = None) -> None:
        super().__init__()


def test_a_serializer_decides_what_the_handler_gets() -> None:
    def handler(number: int, days: Any = None, /) -> None: ...

    order = offered(handler, Order)
    assert arrived(order, {"payload": {"number": "5", "unknown": 1}}) == {"number": 5}
    assert arrived(order, {"args": [1, ["2027-01-31"]]}) == {"number": 1, "days": [date(2027, 1, 31)]}
    assert faults(order, {"kwargs": {"number": 0}}) == {"#/kwargs/number": "min_value"}
    assert faults(order, {"args": [1, ["2027-01-31", "soon"]]}) == {"#/args/1/1": "invalid"}


def test_a_serializer_may_make_one_value() -> None:
    def handler(value: Any) -> None: ...

    assert arrived(offered(handler, One), {"payload": "5"}) == {"value": 5}
    assert faults(offered(handler, One), {"payload": "x"}) == {"#/payload": "invalid"}
    many = offered(handler, lambda **options: Order(many=True, **options))
    assert arrived(many, {"payload": [{"number": 1}]}) == {"value": [{"number": 1}]}
    assert faults(many, {"payload": [{"number": 1}, {"number": 0}]}) == {"#/payload/1/number": "min_value"}
