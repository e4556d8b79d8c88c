"""Handlers for tests of the API: offered to clients in every way there is, and not at all."""

import logging
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from rest_framework import serializers

from asyncjobs import Handler, Job, Unique, get_engine, job, job_context, retry


class Greeting(serializers.Serializer[Any]):
    """Arguments of `greet`."""

    name = serializers.CharField(max_length=40, help_text="Who is to be greeted.")
    times = serializers.IntegerField(min_value=1, max_value=3, default=1)
    polite = serializers.BooleanField(required=False)


class Number(serializers.Serializer[Any]):
    """One of a list."""

    number = serializers.IntegerField()


class Numbers(serializers.Serializer[Any]):
    """A list of which every item is looked at."""

    numbers = serializers.ListField(child=serializers.IntegerField())


@job(api=True)
def add(a: int, b: int = 0) -> int:
    """Adds two numbers.

    Slowly.
    """
    return a + b


@job(api=True)
def echo(value: Any = None) -> Any:
    """Answers what it was given."""
    return value


@job(api=True, max_retries=0)
def fail(message: str = "it broke") -> None:
    """Fails for good."""
    raise ValueError(message)


@job(api=True, queue="slow", priority=20, max_retries=5, timeout=60)
def talk(lines: int) -> int:
    """Says something, line by line."""
    context = job_context()
    for line in range(1, lines + 1):
        context.log(f"line {line}")
        context.progress(line, lines)
    return lines


@job(api=True, serializer=Greeting)
def greet(name: str, times: int = 1, *, polite: bool = False) -> str:
    """Greets somebody."""
    return f"{'Dear' if polite else 'Hello'} {name}! " * times


@job(api=True, serializer=Number)
def double(number: int) -> int:
    return number * 2


@job(api=True, serializer=Numbers)
def total(numbers: list[int]) -> int:
    return sum(numbers)


@job(api=True, can_submit=lambda request: request.user.is_staff)
def staff_only() -> str:
    """One that staff may submit."""
    return "done"


@job(api=True, unique="{same}")
def once(same: int) -> int:
    """One of which there is only one at a time."""
    return same


@job(api=True, unique=Unique(key="{same}", on_conflict="replace"))
def latest(same: int) -> int:
    """One of which the last one counts."""
    return same


@job(api=True, max_retries=1, retry=retry.fixed(0))
def flaky() -> str:
    """Fails the first time."""
    if job_context().attempt == 1:
        raise ConnectionError("not yet")
    return "done"


@job(api=True, max_retries=0)
def log_in(
    user: str, password: str, level: Literal["low", "high"] = "low", port: int = 1, since: date | None = None
) -> None:
    """Fails, and says more than it should."""
    logging.getLogger(__name__).info("%s logs in", user)
    raise PermissionError(f"refused: user={user}, password={password}")


@job(api=True)
def typed(
    amount: Decimal,
    on: date,
    at: datetime,
    span: timedelta,
    key: UUID,
    level: Literal["low", 1, None] = "low",
    scores: dict[str, list[float]] | None = None,
    *marks: int | str,
    **others: time | bool,
) -> str:
    """One of every type."""
    return f"{amount} {on} {at} {span} {key} {level} {scores} {marks} {others}"


@job
def hidden(a: int = 0) -> int:
    """One that clients cannot submit."""
    return a


@job(api=True, name="tests/api: 100% strange? #1 ü")
def strange() -> None:
    """One whose name is hard on addresses."""


def submitted_by(user: User | None, handler: Handler[..., Any], *args: Any) -> Job:
    """A job of this user's, stored at once: tests run in a transaction."""
    mine = handler.using(owner=str(user.pk)) if user else handler
    [job] = get_engine().submit_many(mine.jobs_of([handler.call(*args)]), on_commit=False)
    return job
