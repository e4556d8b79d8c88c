"""The settings: `ASYNCJOBS`, read here and nowhere else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from asyncjobs import rules
from asyncjobs.conf_api import ApiConf, api
from asyncjobs.conf_dashboard import DashboardConf, dashboard
from asyncjobs.domain.job import JobStatus
from asyncjobs.errors import InvalidJob
from asyncjobs.reading import DAY_MS, SECOND_MS, BadSetting, guess, known, mapping, period, positive, span
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
    trash: int = DAY_MS  # how long a deleted job rests there; 0: not at all
    max_payload: int = 64 * 1024
    max_result: int = 64 * 1024
    lease: int = 30_000
    check_every: int | None = 900_000
    api: ApiConf = field(default_factory=ApiConf)
    dashboard: DashboardConf = field(default_factory=DashboardConf)

    def limits(self, names: set[str]) -> dict[str, int]:
        """The depth limits of these queues, those that have one."""
        return {name: limit for name in names if (limit := self.queues.get(name, self.queues.get(OTHER_QUEUES)))}

    def new_store(self) -> Store:
        """The store the settings name. Making it opens no connection."""
        made = cast(Any, import_string(self.store)).from_options(self.options, database=self.database)
        return cast(Store, made)


def _store(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadSetting(f"{value!r:.80} names no store", hint=_STORE_HINT, code="E004")
    if "." not in value and value not in STORES:
        raise BadSetting(f"there is no store {value!r:.80}", hint=guess(value, STORES) or _STORE_HINT, code="E004")
    return STORES.get(value, value)


def _options(value: object) -> Mapping[str, Any]:
    return mapping(value)


def _database(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadSetting(f"{value!r:.80} is no alias", hint="Give an alias of DATABASES.")
    return value


def _queues(value: object) -> Mapping[str, int]:
    limits = ((_queue_name(name), known(options, ("limit",), name)) for name, options in mapping(value).items())
    return {name: positive(options["limit"]) for name, options in limits if options.get("limit") is not None}


def _queue_name(name: str) -> str:
    try:
        return name if name == OTHER_QUEUES else rules.queue_name(name)
    except InvalidJob as error:
        raise BadSetting(error.message, hint='"*" stands for all other queues.', code="E005") from None


def _retention(value: object) -> Mapping[JobStatus, int | None]:
    chosen = known(value, OUTCOMES, "RETENTION")
    ages = {outcome: span(age, hint="None keeps these jobs for ever.") for outcome, age in chosen.items()}
    return {**Conf().retention, **{OUTCOMES[outcome]: age for outcome, age in ages.items()}}


def _trash(value: Any) -> int:
    try:
        return duration_ms(value)
    except InvalidJob as error:
        raise BadSetting(error.message, hint="0 deletes at once.") from None


def _lease(value: Any) -> int:
    hint = "Give one second to a day."
    lease = span(value, hint=hint)
    if lease is None or not SECOND_MS <= lease <= DAY_MS:
        raise BadSetting(f"{value!r:.80} is no length of a lease", hint=hint)
    return lease


_STORE_HINT: Final = f"Give {', '.join(map(repr, STORES))} or the dotted path of a store class."

READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "STORE": _store,
    "OPTIONS": _options,
    "DATABASE": _database,
    "QUEUES": _queues,
    "RETENTION": _retention,
    "TRASH": _trash,
    "MAX_PAYLOAD": positive,
    "MAX_RESULT": positive,
    "LEASE": _lease,
    "CHECK_EVERY": period,
    "API": api,
    "DASHBOARD": dashboard,
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
