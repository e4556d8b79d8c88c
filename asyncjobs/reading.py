"""How values of settings are read: each reader answers what is meant, or raises `BadSetting`."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from asyncjobs import rules
from asyncjobs.errors import InvalidJob
from asyncjobs.times import duration_ms

SECOND_MS: Final = 1_000
DAY_MS: Final = 24 * 3_600_000


class BadSetting(Exception):
    """A setting that cannot be used: what is wrong with it, and what would be right."""

    def __init__(self, message: str, *, hint: str | None = None, code: str = "E003") -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


def positive(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadSetting(f"{value!r:.80} is no size", hint="Give a whole number above zero.")
    return value


def mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadSetting(f"{value!r:.80} is no dict of options", hint="Give a dict whose keys are texts.")
    return value


def known(value: object, names: Iterable[str], where: str) -> Mapping[str, Any]:
    given = mapping(value)
    for name in given.keys() - set(names):
        raise BadSetting(f"{where!r} has no option {name!r:.80}", hint=guess(name, names), code="E002")
    return given


def span(value: Any, *, hint: str) -> int | None:
    try:
        return None if value is None else duration_ms(value)
    except InvalidJob as error:
        raise BadSetting(error.message, hint=hint) from None


def period(value: Any) -> int | None:
    hint = "Give a second or more, or None for never."
    period = span(value, hint=hint)
    if period is not None and period < SECOND_MS:
        raise BadSetting(f"{value!r:.80} is too often", hint=hint)
    return period


def queue(value: Any) -> str:
    try:
        return rules.queue_name(value)
    except InvalidJob as error:
        hint = "Give letters, digits or any of . - _ @ +"
        raise BadSetting(error.message, hint=hint, code="E005") from None


def guess(name: str, names: Iterable[str]) -> str:
    """What was probably meant, and else what there is."""
    close = get_close_matches(name, list(names), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(sorted(names))}."
