"""Lengths of time and moments as clients write them: none beyond a year."""

import re
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.dateparse import parse_duration

from asyncjobs.errors import InvalidJob

LATEST: Final = timedelta(days=366)
SHORTEST: Final = len("2027-01-01T00:00Z")

_DURATION: Final = re.compile(r"P[\dDTHMS.W]{0,38}\d[DTHMSW]", re.ASCII)


def duration_of(value: Any, what: str) -> timedelta:
    """Zero or more: seconds, or an ISO 8601 duration."""
    if isinstance(value, str):
        length = _parsed(value)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST.total_seconds():
        length = None
    else:
        length = timedelta(seconds=value)
    if length is None or not timedelta(0) <= length <= LATEST:
        raise InvalidJob(f'{what} is a number of seconds, or an ISO 8601 duration such as "PT10M", of a year at most')
    return length


def moment_of(value: Any, what: str) -> datetime:
    """As RFC 3339 has it; may be over."""
    try:
        given = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        given = None
    if given is None or given.tzinfo is None or len(value) < SHORTEST:
        raise InvalidJob(f'{what} has a date, a time and an offset, such as "2027-01-31T09:00:00Z"')
    if given - datetime.now(given.tzinfo) > LATEST:
        raise InvalidJob(f"{what} is within a year")
    return given


def _parsed(text: str) -> timedelta | None:
    try:
        return parse_duration(text) if _DURATION.fullmatch(text) else None
    except (ValueError, OverflowError):
        return None
