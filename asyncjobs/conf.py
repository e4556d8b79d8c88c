"""The settings: `ASYNCJOBS`, read here and nowhere else."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from asyncjobs import rules
from asyncjobs.domain.job import JobStatus
from asyncjobs.errors import InvalidJob
from asyncjobs.stores.base import Store
from asyncjobs.times import duration_ms

SETTING: Final = "ASYNCJOBS"
STORES: Final = {
    "orm": "asyncjobs.stores.orm.OrmStore",
    "redis": "asyncjobs.stores.redis.RedisStore",
    "memory": "asyncjobs.stores.memory.MemoryStore",
}
OTHER_QUEUES: Final = "*"
OUTCOMES: Final = {
    "completed": JobStatus.COMPLETED,
    "failed": JobStatus.FAILED,
    "canceled": JobStatus.CANCELED,
}
SECOND_MS: Final = 1_000
DAY_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """The settings as they hold. The defaults here are the defaults."""

    store: str = STORES["orm"]
    options: Mapping[str, Any] = field(default_factory=dict)
    database: str = "default"
    queues: Mapping[str, int] = field(default_factory=dict)  # the most unstarted jobs each may hold
    retention: Mapping[JobStatus, int | None] = field(
        default_factory=lambda: {
            JobStatus.COMPLETED: 7 * DAY_MS,
            JobStatus.FAILED: 30 * DAY_MS,
            JobStatus.CANCELED: 7 * DAY_MS,
        }
    )
    max_payload: int = 64 * 1024
    max_result: int = 64 * 1024
    lease: int = 30_000
    check_every: int | None = 900_000

    def limits(self, names: set[str]) -> dict[str, int]:
        """The depth limits of these queues, those that have one."""
        return {name: limit for name in names if (limit := self.queues.get(name, self.queues.get(OTHER_QUEUES)))}

    def new_store(self) -> Store:
        """The store the settings name. Making it opens no connection."""
        made = cast(Any, import_string(self.store)).from_options(self.options, database=self.database)
        return cast(Store, made)


class BadSetting(Exception):
    """A setting that cannot be used: what is wrong with it, and what would be right."""

    def __init__(self, message: str, *, hint: str | None = None, code: str = "E003") -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


def _store(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadSetting(f"{value!r:.80} names no store", hint=_STORE_HINT, code="E004")
    if "." not in value and value not in STORES:
        raise BadSetting(f"there is no store {value!r:.80}", hint=guess(value, STORES) or _STORE_HINT, code="E004")
    return STORES.get(value, value)


def _options(value: object) -> Mapping[str, Any]:
    return _mapping(value)


def _database(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadSetting(f"{value!r:.80} is no alias", hint="Give an alias of DATABASES.")
    return value


def _queues(value: object) -> Mapping[str, int]:
    limits = ((_queue_name(name), _known(options, ("limit",), name)) for name, options in _mapping(value).items())
    return {name: _positive(options["limit"]) for name, options in limits if options.get("limit") is not None}


def _queue_name(name: str) -> str:
    try:
        return name if name == OTHER_QUEUES else rules.queue_name(name)
    except InvalidJob as error:
        raise BadSetting(error.message, hint='"*" stands for all other queues.', code="E005") from None


def _retention(value: object) -> Mapping[JobStatus, int | None]:
    chosen = _known(value, OUTCOMES, "RETENTION")
    return {**Conf().retention, **{OUTCOMES[outcome]: _age(age) for outcome, age in chosen.items()}}


def _age(age: Any) -> int | None:
    try:
        return None if age is None else duration_ms(age)
    except InvalidJob as error:
        raise BadSetting(error.message, hint="None keeps these jobs for ever.") from None


def _positive(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadSetting(f"{value!r:.80} is no size", hint="Give a whole number above zero.")
    return value


def _period(value: Any) -> int | None:
    period = _age(value)
    if period is not None and period < SECOND_MS:
        raise BadSetting(f"{value!r:.80} is too often", hint="Give a second or more, or None for never.")
    return period


def _lease(value: Any) -> int:
    lease = _age(value)
    if lease is None or not SECOND_MS <= lease <= DAY_MS:
        raise BadSetting(f"{value!r:.80} is no length of a lease", hint="Give one second to a day.")
    return lease


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadSetting(f"{value!r:.80} is no dict of options", hint="Give a dict whose keys are texts.")
    return value


def _known(value: object, names: Iterable[str], where: str) -> Mapping[str, Any]:
    given = _mapping(value)
    for name in given.keys() - set(names):
        raise BadSetting(f"{where!r} has no option {name!r:.80}", hint=guess(name, names), code="E002")
    return given


def guess(name: str, names: Iterable[str]) -> str:
    """What was probably meant, and else what there is."""
    close = get_close_matches(name, list(names), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(sorted(names))}."


_STORE_HINT: Final = f"Give {', '.join(map(repr, STORES))} or the dotted path of a store class."

READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "STORE": _store,
    "OPTIONS": _options,
    "DATABASE": _database,
    "QUEUES": _queues,
    "RETENTION": _retention,
    "MAX_PAYLOAD": _positive,
    "MAX_RESULT": _positive,
    "LEASE": _lease,
    "CHECK_EVERY": _period,
}


def given_settings() -> Any:
    """What the host's settings say, unread."""
    return getattr(settings, SETTING, {})


def read(name: str, value: Any) -> Any:
    """The value of this setting, or `BadSetting`."""
    try:
        return READERS[name](value)
    except BadSetting as error:
        raise BadSetting(f"{SETTING}[{name!r}]: {error}", hint=error.hint, code=error.code) from None


@cache
def get_conf() -> Conf:
    """The settings as they hold now. Unknown ones are left to the system check."""
    given = given_settings()
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{SETTING} is no dict: {given!r:.80}")
    try:
        return Conf(**{name.lower(): read(name, given[name]) for name in READERS if name in given})
    except BadSetting as error:
        raise ImproperlyConfigured(f"{error}. {error.hint or ''}") from error


def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting == SETTING:
        get_conf.cache_clear()


setting_changed.connect(_forget, dispatch_uid="asyncjobs.conf")
