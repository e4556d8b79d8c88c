"""What the terms of a search mean: `queue:mail`, `error:timeout`, `created:<2h`."""

import operator
import re
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import AsyncJobsError, InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.times import moment_ms

WORDS: Final[Mapping[str, JobStatus]] = {
    "queued": JobStatus.QUEUED,
    "waiting": JobStatus.WAITING,
    "scheduled": JobStatus.SCHEDULED,
    "running": JobStatus.IN_PROGRESS,
    "completed": JobStatus.COMPLETED,
    "failed": JobStatus.FAILED,
    "canceled": JobStatus.CANCELED,
}
RETRYING: Final = "retrying"

_ALSO: Final = {"in_progress": "running", "dead": "failed", "cancelled": "canceled", "succeeded": "completed"}
_AGE: Final = re.compile(r"([0-9]{1,5})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_ID_START: Final = re.compile(r"[0-9a-f-]{4,36}", re.I)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "": operator.eq,
}

Range = tuple[int | None, int | None]  # from, inclusive, and to, exclusive


class Unclear(ValueError):
    """This is not understood; the text says why."""


class Known(NamedTuple):
    """What a search is read with."""

    now: int
    names: Collection[str] = ()  # of handlers


class Meaning(NamedTuple):
    """Which jobs a term is about, and what of that a store can look up: values of a `Query`."""

    fits: Callable[[Job], bool]
    looked_up: Mapping[str, Any] = {}
    job_id: str | None = None


def is_retrying(job: Job) -> bool:
    """Whether it failed and waits for its next run."""
    return job.status == JobStatus.SCHEDULED and job.retry_count > 0


def status_word(text: str) -> str:
    """The word for a status that we use ourselves."""
    return _ALSO.get(text.lower(), text.lower())


def part_of_name(value: str) -> Meaning:
    folded = value.casefold()
    return Meaning(lambda job: folded in job.name.casefold())


def _same(name: str, value: Any) -> Meaning:
    return Meaning(lambda job: getattr(job, name) == value, {name: value})


def _field(name: str, value: str, known: Known) -> Meaning:
    return _same(name, value)


def _name(value: str, known: Known) -> Meaning:
    """The whole name, or the end of the one name that ends so: `send_mail` for `shop.jobs.send_mail`."""
    ends = [name for name in known.names if name.endswith(f".{value}")]
    return _same("name", ends[0] if len(ends) == 1 and value not in known.names else value)


def _tag(value: str, known: Known) -> Meaning:
    return Meaning(lambda job: value in job.tags, {"tag": value})


def _status(value: str, known: Known) -> Meaning:
    word = status_word(value)
    if word == RETRYING:
        return Meaning(is_retrying, {"status": JobStatus.SCHEDULED})
    if word not in WORDS:
        facts = {"word": value, "offer": ", ".join((*WORDS, RETRYING))}
        raise Unclear(_("There is no status “%(word)s”; there are %(offer)s.") % facts)
    return _same("status", WORDS[word])


def _error(value: str, known: Known) -> Meaning:
    folded = value.casefold()

    def fits(job: Job) -> bool:
        error = job.error
        return error is not None and any(folded in text.casefold() for text in (error.code, error.type, error.message))

    return Meaning(fits)


def _worker(value: str, known: Known) -> Meaning:
    folded = value.casefold()
    return Meaning(lambda job: folded in (job.worker or "").casefold())


def _id(value: str, known: Known) -> Meaning:
    """The id, or its beginning."""
    try:
        whole = job_id_of(value)
    except InvalidJobId:
        if not _ID_START.fullmatch(value):
            raise Unclear(_("“%(id)s” is no id, nor the beginning of one.") % {"id": value}) from None
        return Meaning(lambda job: job.id.startswith(value.lower()))
    return Meaning(lambda job: job.id == whole, job_id=whole)


def _number(name: str, value: str, known: Known) -> Meaning:
    sign, rest = _compared(value)
    if not _NUMBER.fullmatch(rest):
        raise Unclear(_("“%(text)s” is no number: give one as 3, >=3 or <3.") % {"text": value})
    compare, bound = _COMPARE[sign], int(rest)
    return Meaning(lambda job: compare(getattr(job, name), bound))


def _created(value: str, known: Known) -> Meaning:
    sign, rest = _compared(value)
    age = _AGE.fullmatch(rest)
    since, until = _aged(sign, age, known.now) if age else _dated(sign, rest)
    bounds = {"created_from": since, "created_to": until}

    def fits(job: Job) -> bool:
        return (since is None or job.created_at >= since) and (until is None or job.created_at < until)

    return Meaning(fits, {name: bound for name, bound in bounds.items() if bound is not None})


def _compared(value: str) -> tuple[str, str]:
    sign = next(sign for sign in _COMPARE if value.startswith(sign))
    return sign, value[len(sign) :]


def _aged(sign: str, age: re.Match[str], now: int) -> Range:
    """By how long ago it was: `>2h` is longer ago than that, `<2h` and `2h` are within."""
    then = now - timedelta(**{_UNITS[age[2]]: int(age[1])}) // timedelta(milliseconds=1)
    return (None, then) if sign.startswith(">") else (then, None)


def _dated(sign: str, text: str) -> Range:
    """By the day, or the moment: `>` is after its end, `>=` from its beginning."""
    try:
        first, beyond = _stretch(text)
    except (ValueError, OverflowError, AsyncJobsError):
        example = _("“%(text)s” is no time: give one as 2026-01-31, 2026-01-31T12:00 or 2h.")
        raise Unclear(example % {"text": text}) from None
    ranges: Mapping[str, Range] = {"<": (None, first), "<=": (None, beyond), ">": (beyond, None), ">=": (first, None)}
    return ranges.get(sign, (first, beyond))


def _stretch(text: str) -> tuple[int, int]:
    """The first millisecond of this day, or this moment, and the first one after it."""
    try:
        day = datetime.combine(date.fromisoformat(text), time())
    except ValueError:
        moment = _ms(datetime.fromisoformat(text))
        return moment, moment + 1
    return _ms(day), _ms(day + timedelta(days=1))


def _ms(moment: datetime) -> int:
    return moment_ms(timezone.make_aware(moment) if timezone.is_naive(moment) else moment)


FIELDS: Final[Mapping[str, Callable[[str, Known], Meaning]]] = {
    "name": _name,
    "queue": partial(_field, "queue"),
    "status": _status,
    "tag": _tag,
    "owner": partial(_field, "owner"),
    "error": _error,
    "fault": partial(_field, "fault"),
    "worker": _worker,
    "id": _id,
    "created": _created,
    "attempt": partial(_number, "attempt"),
    "retries": partial(_number, "retry_count"),
}
