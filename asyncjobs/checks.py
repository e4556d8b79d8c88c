"""System checks of the settings: what is wrong, and what would be right."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from asyncjobs.api.signatures import takes_models
from asyncjobs.api.webhooks.delivering import longest_ms
from asyncjobs.conf import OUTCOMES, READERS, SETTING, STORES, get_conf, given_settings, read
from asyncjobs.reading import DAY_MS, BadSetting, guess
from asyncjobs.registry import handlers
from asyncjobs.stores.base import Store

TAG = "asyncjobs"


@register(TAG)
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    given = given_settings()
    if not isinstance(given, Mapping):
        return [_error("E001", f"{SETTING} is {given!r:.80}", hint="Give a dict.")]
    return [*_unknown(given), *_unusable(given)] or [*_database(given), *_store(given)]


@register(TAG)
def check_handlers(**kwargs: Any) -> list[CheckMessage]:
    """What handlers ask of a store that it cannot give. Settings that cannot be used are said elsewhere."""
    given = given_settings()
    try:
        store = import_string(read("STORE", given.get("STORE", "orm")))
    except (AttributeError, BadSetting, ImportError):
        return []
    if getattr(store, "transactional", True):
        return []
    return [_not_atomic(handler.name) for handler in handlers() if handler.atomic]


@register(TAG)
def check_webhooks(**kwargs: Any) -> list[CheckMessage]:
    """Whether finished jobs are kept for as long as receivers are tried."""
    try:
        conf = get_conf()
    except ImproperlyConfigured:
        return []
    if not conf.api.webhooks.hosts:
        return []
    kept = {outcome: conf.retention[status] for outcome, status in OUTCOMES.items()}
    return [_too_short(outcome) for outcome, age in kept.items() if age is not None and age < longest_ms()]


@register(TAG)
def check_offers(**kwargs: Any) -> list[CheckMessage]:
    """Whether clients would have to name rows of the database."""
    offered = [handler for handler in handlers() if handler.exposure is not None and not handler.exposure.serializer]
    return [_names_rows(handler.name) for handler in offered if takes_models(handler)]


@register(TAG)
def check_dashboard(**kwargs: Any) -> list[CheckMessage]:
    """Whether the dashboard that the admin shows can keep itself fresh."""
    if not apps.is_installed("django.contrib.admin") or apps.is_installed("django_htmx"):
        return []
    return [
        Warning(
            "the pages of the dashboard do not keep themselves fresh, because htmx is missing.",
            hint='Add "django_htmx" to INSTALLED_APPS.',
            id="asyncjobs.W004",
        )
    ]


def _names_rows(name: str) -> CheckMessage:
    return Warning(
        f"the job {name!r} takes an instance of a model, which clients of the API cannot give.",
        hint="Give it a serializer, with a field whose queryset has what its client may name.",
        id="asyncjobs.W003",
    )


def _too_short(outcome: str) -> CheckMessage:
    days = -(-longest_ms() // DAY_MS)
    return Warning(
        f"{SETTING}['RETENTION'][{outcome!r}] is shorter than a webhook is tried for, which may take {days} days.",
        hint="Keep these jobs longer: a receiver is not told of one that was removed.",
        id="asyncjobs.W002",
    )


def _not_atomic(name: str) -> CheckMessage:
    return Warning(
        f"the job {name!r} is atomic, but its end cannot commit with it: jobs are not kept in the database.",
        hint="Keep jobs in the database, or make the handler repeatable: it may run once more after it has committed.",
        id="asyncjobs.W001",
    )


def _unknown(given: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for name in given.keys() - READERS.keys():
        yield _error("E002", f"{SETTING} has no setting {name!r:.80}", hint=guess(str(name), READERS))


def _unusable(given: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for name in sorted(READERS.keys() & given.keys()):
        try:
            read(name, given[name])
        except BadSetting as error:
            yield _error(error.code, str(error), hint=error.hint)


def _database(given: Mapping[str, Any]) -> Iterator[CheckMessage]:
    alias = given.get("DATABASE", "default")
    if alias not in settings.DATABASES and alias != "default":
        yield _error("E006", f"{SETTING}['DATABASE'] is {alias!r}", hint=guess(alias, settings.DATABASES))


def _store(given: Mapping[str, Any]) -> Iterator[CheckMessage]:
    path = read("STORE", given.get("STORE", "orm"))
    options = given.get("OPTIONS", {})
    try:
        store = import_string(path)
    except ImportError as error:
        yield _error("E004", f"{SETTING}['STORE']: {error}", hint="Give the dotted path of a store class.")
        return
    if not (isinstance(store, type) and issubclass(store, Store) and hasattr(store, "from_options")):
        yield _error("E004", f"{SETTING}['STORE']: {path} is not a store that can be made from settings")
        return
    found = [*_store_options(store, options)]
    if path == STORES["redis"] and "URL" not in options:
        found += _cache(options.get("ALIAS", "default"))
    yield from found or _making(store, options, given.get("DATABASE", "default"))


def _store_options(store: type[Store], options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    names = getattr(store, "OPTIONS", None)
    for name in options.keys() - names if names is not None else ():
        hint = guess(name, names) if names else "This store takes no options."
        yield _error("E002", f"{SETTING}['OPTIONS'] has no option {name!r:.80}", hint=hint)


def _making(store: Any, options: Mapping[str, Any], database: str) -> Iterator[CheckMessage]:
    """Only the store itself knows what its options may be. Making one opens no connection."""
    try:
        store.from_options(options, database=database)
    except (TypeError, ValueError) as error:
        yield _error("E003", f"{SETTING}['OPTIONS']: {error}", hint=f"See the options of {store.__qualname__}.")


def _cache(alias: str) -> Iterator[CheckMessage]:
    if alias not in settings.CACHES:
        hint = f"Add the cache {alias!r} with django-redis, or give OPTIONS a URL."
        yield _error("E007", f"the Redis store uses the cache {alias!r}, and CACHES has none of that name", hint=hint)
        return
    backend = settings.CACHES[alias].get("BACKEND", "")
    if not _is_django_redis(backend):
        hint = 'Give it the backend "django_redis.cache.RedisCache", or give OPTIONS a URL.'
        yield _error("E008", f"the Redis store uses the cache {alias!r}, whose backend is {backend!r:.80}", hint=hint)


def _is_django_redis(path: str) -> bool:
    try:
        backend = import_string(path)
    except ImportError:
        return False
    return any(base.__module__.split(".")[0] == "django_redis" for base in getattr(backend, "__mro__", ()))


def _error(code: str, message: str, *, hint: str | None = None) -> CheckMessage:
    return Error(f"{message}.", hint=hint, id=f"asyncjobs.{code}")
