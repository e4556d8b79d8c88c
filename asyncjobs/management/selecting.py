"""Which jobs a command is about: ids, or filters."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils import timezone

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import MAX_PAGE, Query
from asyncjobs.times import moment_ms

Moment = datetime | timedelta

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_FILTERS: Final = ("status", "queue", "name", "owner", "tag", "created_after", "created_before")


def add_filters(parser: ArgumentParser) -> None:
    """The same filters for every command."""
    filters = parser.add_argument_group("filters")
    filters.add_argument("--status", type=status, metavar="STATUS", help=_statuses())
    filters.add_argument("--queue", help="the queue")
    filters.add_argument("--name", help="the handler's name")
    filters.add_argument("--owner", help="whose job it is")
    filters.add_argument("--tag", help="one of the job's tags")
    moment_help = "an ISO 8601 time, or how long ago: 90s, 15m, 2h, 3d"
    filters.add_argument("--created-after", type=moment, metavar="TIME", help=moment_help)
    filters.add_argument("--created-before", type=moment, metavar="TIME", help=moment_help)


def query_of(options: Mapping[str, Any], *, now: int) -> Query:
    """The query these filters make."""
    chosen = {name: options[name] for name in ("status", "queue", "name", "owner", "tag")}
    since, until = (_ms(options[name], now) for name in ("created_after", "created_before"))
    return Query(**chosen, created_from=since, created_to=until)


def has_filters(options: Mapping[str, Any]) -> bool:
    return any(options[name] is not None for name in _FILTERS)


def status(text: str) -> JobStatus:
    try:
        return JobStatus[text.upper().replace("-", "_")]
    except KeyError:
        raise ArgumentTypeError(f"{text!a:.40} is none of {_statuses()}") from None


def moment(text: str) -> Moment:
    """A point in time, or the distance of one."""
    short = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if short:
        return timedelta(**{_UNITS[short[2]]: int(short[1])})
    try:
        point = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!a:.40} is no time: give one as 2026-01-31T12:00, or as 2h") from None
    return timezone.make_aware(point) if timezone.is_naive(point) else point


def page_size(text: str) -> int:
    return _number(text, MAX_PAGE)


def most(text: str) -> int:
    return _number(text, 10**12)


def _number(text: str, largest: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and 1 <= int(text) <= largest):
        raise ArgumentTypeError(f"{text!a:.40} is no number from 1 to {largest}")
    return int(text)


def _ms(given: Moment | None, now: int) -> int | None:
    if given is None:
        return None
    return moment_ms(given) if isinstance(given, datetime) else now - given // timedelta(milliseconds=1)


def _statuses() -> str:
    return ", ".join(status.name.lower() for status in JobStatus)
