"""Arguments fit the signature, and come back from JSON as what they were."""

import json
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.utils.safestring import mark_safe
from hypothesis import given
from hypothesis import strategies as st

from asyncjobs.arguments.binding import Binding, Call
from asyncjobs.arguments.decoding import decode_call, decode_result
from asyncjobs.arguments.encoding import encode_call, encode_result
from asyncjobs.errors import DeserializationError, InvalidArguments, InvalidResult, PayloadTooLarge

LIMIT = 64 * 1024
POINT = namedtuple("POINT", "x y")

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.uuids()
)
keys = texts | st.sampled_from(["$type", "value"])
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=12)


class Color(Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


class Mood(StrEnum):
    GOOD = "good"


def carried(*args: Any, **kwargs: Any) -> Call[Any]:
    return decode_call(encode_call(Call(args, kwargs), (), limit=10**6))


def back(value: Any) -> Any:
    [there], _ = carried(value)
    return there


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


def refusal(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(InvalidArguments) as caught:
        encode_call(Call(args, kwargs), ("first", "order"), limit=LIMIT)
    return caught.value.message


@given(st.lists(values, max_size=3), st.dictionaries(keys, values, max_size=3))
def test_every_value_comes_back(args: list[Any], kwargs: dict[str, Any]) -> None:
    assert carried(*args, **kwargs) == (tuple(args), kwargs)


@given(values)
def test_every_result_comes_back(value: Any) -> None:
    assert decode_result(encode_result(value, limit=10**6)) == value


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        date(9999, 12, 31),
        time(23, 59, 59, 999999),
        timedelta(days=-1, microseconds=1),
        Decimal("1.10"),
        UUID(int=0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_lacks_keeps_its_type(value: Any) -> None:
    assert type(back(value)) is type(value)
    assert str(back(value)) == str(value)


def test_a_dict_that_looks_like_ours_stays_what_it_is() -> None:
    forged = {"$type": "model", "value": ["auth.user", 1, "default"]}
    assert back(forged) == forged
    assert back({"$type": forged}) == {"$type": forged}
    assert carried(**{"$type": 1}) == ((), {"$type": 1})


def test_payloads_are_compact() -> None:
    assert encode_call(Call((1, "é"), {"b": None}), (), limit=LIMIT) == '{"args":[1,"é"],"kwargs":{"b":null}}'


def test_tuples_become_lists_and_subclasses_their_base() -> None:
    assert back((1, POINT(2, 3))) == [1, [2, 3]]
    assert back(OrderedDict(a=Size.BIG, b=Mood.GOOD, c=mark_safe("<b>"))) == {"a": 3, "b": "good", "c": "<b>"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1}, "argument order is a set, which does not survive JSON"),
        (b"x", "argument order is a bytes, which does not survive JSON"),
        (Color.RED, "argument order is a Color, which does not survive JSON; pass its value"),
        ({"items": [0, 1, 2, ...]}, "argument order.items[3] is an ellipsis, which does not survive JSON"),
        ({"a b": {"x": {1}}}, "argument order['a b'].x is a set, which does not survive JSON"),
        ({"a": {1: 2}}, "argument order.a has the key 1, and a key must be text"),
        ([float("nan")], "argument order[0] is nan, which JSON does not have"),
        ({"low": float("-inf")}, "argument order.low is -inf, which JSON does not have"),
        (Decimal("NaN"), "argument order is the Decimal NaN, which is not a finite number"),
        ("a\0b", "argument order contains a NUL character"),
        ({"a\0b": 1}, "argument order['a\\x00b'] contains a NUL character"),
        ("\ud800", "argument order contains a lone surrogate"),
        (["\udfff"], "argument order[0] contains a lone surrogate"),
        (User(username="ada"), "argument order is a User that is not saved"),
    ],
    ids=ascii,
)
def test_what_does_not_survive_is_named(value: Any, message: str) -> None:
    assert refusal(1, value) == message
    assert refusal(order=value) == message


def test_surplus_positional_arguments_are_named_by_their_place() -> None:
    assert refusal(1, 2, {"a": {3}}) == "argument args[2].a is a set, which does not survive JSON"


def test_twenty_levels_are_deep_enough() -> None:
    assert back(nested(20)) == nested(20)
    assert refusal(nested(21)) == f"argument first{'[0]' * 20} is nested deeper than 20"


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "nested deeper than 20" in refusal(loop)


def test_a_number_too_long_to_write_is_refused() -> None:
    assert "do not fit in JSON" in refusal(10**5000)


def test_size_is_counted_in_bytes() -> None:
    encode_call(Call(("é" * 10,), {}), (), limit=45)
    with pytest.raises(PayloadTooLarge, match="the payload has 45 bytes, more than the 44 allowed"):
        encode_call(Call(("é" * 10,), {}), (), limit=44)


@pytest.mark.parametrize(
    "value", [{1}, float("inf"), "\0", nested(21), 10**5000], ids=lambda value: type(value).__name__
)
def test_a_result_has_the_same_rules(value: Any) -> None:
    with pytest.raises(InvalidResult, match="result"):
        encode_result({"a": [value]}, limit=LIMIT)


def test_a_result_names_what_is_wrong() -> None:
    with pytest.raises(InvalidResult, match=r"result.a\[1\] is a set"):
        encode_result({"a": [0, {1}]}, limit=LIMIT)
    with pytest.raises(PayloadTooLarge, match="the result has"):
        encode_result("x" * 100, limit=100)


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        '{"args":{},"kwargs":{}}',
        '{"args":[NaN],"kwargs":{}}',
        '{"args":[{"$type":"unheard-of","value":1}],"kwargs":{}}',
        '{"args":[{"$type":"datetime"}],"kwargs":{}}',
        '{"args":[{"$type":"datetime","value":"yesterday"}],"kwargs":{}}',
        '{"args":[{"$type":"decimal","value":"one"}],"kwargs":{}}',
        '{"args":[{"$type":"model","value":["no.such",1,null]}],"kwargs":{}}',
        '{"args":[{"$type":"model","value":["auth.user",1,"nowhere"]}],"kwargs":{}}',
        '{"args":[{"$type":["x"],"value":1}],"kwargs":{}}',
        '{"args":[{"$type":"timedelta","value":1e300}],"kwargs":{}}',
        "[" * 100_000,
    ],
    ids=lambda payload: payload[:60],
)
def test_what_cannot_be_read_is_a_clear_error(payload: str) -> None:
    with pytest.raises(DeserializationError):
        decode_call(payload)


@pytest.mark.django_db
def test_a_model_instance_travels_by_its_key() -> None:
    ada = User.objects.create(username="ada")
    payload = encode_call(Call((ada,), {"groups": [Group.objects.create(name="staff")]}), (), limit=LIMIT)
    User.objects.update(first_name="Ada")
    [loaded], kwargs = decode_call(payload)
    assert loaded == ada
    assert loaded.first_name == "Ada"
    assert kwargs["groups"][0].name == "staff"
    assert json.loads(payload)["args"] == [{"$type": "model", "value": ["auth.user", ada.pk, "default"]}]


@pytest.mark.django_db
def test_a_key_may_be_text() -> None:
    session = Session.objects.create(session_key="k", session_data="", expire_date=datetime(2026, 1, 1, tzinfo=UTC))
    assert back(session) == session


@pytest.mark.django_db
def test_a_composite_key_travels_too() -> None:
    from asyncjobs.models import MinuteRecord

    minute = MinuteRecord.objects.create(at=60_000, queue="mail", status=400, ended=1)
    assert back(minute).pk == minute.pk


@pytest.mark.django_db
def test_a_row_that_is_gone_is_a_clear_error() -> None:
    ada = User.objects.create(username="ada")
    payload = encode_call(Call((ada,), {}), (), limit=LIMIT)
    ada.delete()
    with pytest.raises(DeserializationError, match="User matching query does not exist"):
        decode_call(payload)


def test_the_database_of_an_instance_is_kept() -> None:
    ada = User(pk=1)
    ada._state.adding, ada._state.db = False, "sqlite"
    payload = encode_call(Call((ada,), {}), (), limit=LIMIT)
    assert json.loads(payload)["args"][0]["value"] == ["auth.user", 1, "sqlite"]


def some(a: int, b: int = 2, /, c: int = 3, *rest: int, d: int = 4, **more: int) -> None: ...


def plain(a: int, b: int = 2) -> None: ...


def named(a: int, *, b: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (some, Call((1,), {})),
        (some, Call((1, 2, 3, 4, 5), {"d": 1, "e": 2})),
        (plain, Call((1,), {"b": 2})),
        (plain, Call((1, 2), {})),
        (named, Call((1,), {"b": 2})),
    ],
)
def test_fitting_arguments_are_accepted(function: Any, call: Call[Any]) -> None:
    Binding(function).check(call)


@pytest.mark.parametrize(
    ("function", "call", "message"),
    [
        (some, Call((), {}), "missing a required"),
        (plain, Call((), {}), "missing a required argument: 'a'"),
        (plain, Call((1, 2, 3), {}), "too many positional arguments"),
        (plain, Call((1,), {"c": 3}), "unexpected keyword argument 'c'"),
        (plain, Call((1,), {"a": 3}), "multiple values for argument 'a'"),
        (named, Call((1,), {}), "missing a required"),
        (named, Call((1, 2), {}), "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(function: Any, call: Call[Any], message: str) -> None:
    with pytest.raises(InvalidArguments, match=message):
        Binding(function).check(call)
