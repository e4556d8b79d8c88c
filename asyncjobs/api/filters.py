"""Which jobs a list is to have, from the query string."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from asyncjobs.api.access import SEE_ALL, may, owner_of
from asyncjobs.api.problems import Problem
from asyncjobs.domain.job import JobStatus
from asyncjobs.errors import InvalidJob
from asyncjobs.stores.base import Query
from asyncjobs.times import moment_ms

MOST: Final = 200
LONGEST: Final = 1_000  # characters of a value
STATUSES: Final = {status.name.lower(): status for status in JobStatus}


def query_of(request: Any) -> Query:
    """The query that the client's filters make; of those who may not see all, for their own jobs."""
    filters = {_known(name): _value(name, request.query_params.getlist(name)) for name in request.query_params}
    if not may(request.user, SEE_ALL):
        own = owner_of(request.user)
        if filters.setdefault("owner", own) != own:
            raise Problem("permission-denied", "You may not see jobs of others.")
    return Query(**filters)


def page_url(request: Any, cursor: str) -> str:
    """The address of the next page."""
    params = request.query_params.copy()
    params["cursor"] = cursor
    return str(request.build_absolute_uri(f"{request.path}?{params.urlencode()}"))


def _known(name: str) -> str:
    if name not in FILTERS:
        raise Problem("unknown-filter", f"There is no filter {name!r:.80}; there are {', '.join(FILTERS)}.")
    return FILTERS[name][0]


def _value(name: str, values: list[str]) -> Any:
    if len(values) > 1:
        raise Problem("malformed", f"The filter {name!r} is given twice.")
    if len(values[0]) > LONGEST:
        raise Problem("malformed", f"The filter {name!r} is too long.")
    try:
        return FILTERS[name][1](values[0])
    except (ValueError, OverflowError, InvalidJob):
        raise Problem("malformed", f"The filter {name!r} cannot be {values[0]!r:.80}.") from None


def _status(word: str) -> JobStatus:
    if word not in STATUSES:
        raise ValueError(word)
    return STATUSES[word]


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text.replace(" ", "+"))  # a plus sign that was not escaped
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment_ms(moment)


def _limit(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:9]) <= MOST:
        raise ValueError(text)
    return int(text)


FILTERS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "status": ("status", _status),
    "name": ("name", str),
    "queue": ("queue", str),
    "tag": ("tag", str),
    "owner": ("owner", str),
    "created_from": ("created_from", _moment),
    "created_to": ("created_to", _moment),
    "cursor": ("after", str),
    "limit": ("limit", _limit),
}
