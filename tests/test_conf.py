"""The settings are read once, have defaults, and are checked with a hint."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from asyncjobs.conf import READERS, STORES, Conf, get_conf
from asyncjobs.current import get_engine
from asyncjobs.domain.job import JobStatus
from asyncjobs.reading import DAY_MS
from asyncjobs.stores.base import Store
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.stores.orm import OrmStore
from tests.worker.jobs import makes_group

OF_HANDLERS = "asyncjobs.W001"
CACHES = {
    "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"},
    "local": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "broken": {"BACKEND": "no.such.Cache"},
}


class OtherStore(MemoryStore):
    OPTIONS = frozenset({"COLOR"})

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, database: str) -> "OtherStore":
        store = cls()
        store.made_from = (options, database)
        return store

    made_from: tuple[Mapping[str, Any], str]


class Unmakeable:
    """No store."""


def conf(**given: Any) -> Conf:
    with override_settings(ASYNCJOBS=given):
        return get_conf()


def messages(**given: Any) -> list[tuple[str, str, str | None]]:
    """What the system check says of the settings: the end of the id, the message, the hint."""
    with override_settings(ASYNCJOBS=given, CACHES=CACHES):
        found = [message for message in run_checks(tags=["asyncjobs"]) if message.id != OF_HANDLERS]
    return [(str(message.id).removeprefix("asyncjobs."), message.msg, message.hint) for message in found]


def test_the_admin_without_htmx_is_told_what_it_misses() -> None:
    apps = [app for app in settings.INSTALLED_APPS if app != "django_htmx"]
    with override_settings(INSTALLED_APPS=apps):
        assert [code for code, _, _ in messages()] == ["W004"]
    with override_settings(INSTALLED_APPS=[app for app in apps if app != "django.contrib.admin"]):
        assert messages() == []


def test_without_settings_the_orm_store_works() -> None:
    assert get_conf() == Conf()
    assert isinstance(get_engine().store, OrmStore)
    assert messages() == []


def messages_of_handlers(**given: Any) -> list[str]:
    with override_settings(ASYNCJOBS=given):
        return [str(found) for found in run_checks(tags=["asyncjobs"]) if found.id == OF_HANDLERS]


def test_the_defaults() -> None:
    assert conf() == Conf(
        store="asyncjobs.stores.orm.OrmStore",
        options={},
        database="default",
        queues={},
        retention={
            JobStatus.COMPLETED: 7 * DAY_MS,
            JobStatus.FAILED: 30 * DAY_MS,
            JobStatus.CANCELED: 7 * DAY_MS,
        },
        trash=DAY_MS,
        max_payload=65_536,
        max_result=65_536,
        lease=30_000,
        check_every=900_000,
    )


def test_durations_are_seconds_or_timedeltas() -> None:
    chosen = conf(LEASE=timedelta(minutes=1), CHECK_EVERY=60)
    assert (chosen.lease, chosen.check_every) == (60_000, 60_000)
    assert conf(CHECK_EVERY=None).check_every is None


def test_an_atomic_handler_wants_a_transactional_store() -> None:
    assert messages_of_handlers(STORE="orm") == []
    assert makes_group.name in str(messages_of_handlers(STORE="memory"))
    assert messages_of_handlers(STORE="reddis") == []


def test_a_changed_setting_makes_another_engine() -> None:
    before = get_engine()
    with override_settings(ASYNCJOBS={"STORE": "memory"}):
        assert isinstance(get_engine().store, MemoryStore)
        assert get_engine() is get_engine()
    assert get_engine() is not before
    assert isinstance(get_engine().store, OrmStore)


@pytest.mark.parametrize(("name", "path"), STORES.items())
def test_every_store_can_be_made_from_settings(name: str, path: str) -> None:
    with override_settings(ASYNCJOBS={"STORE": name}, CACHES=CACHES):
        store = get_engine().store
    assert isinstance(store, Store)
    assert f"{type(store).__module__}.{type(store).__qualname__}".startswith(path.rpartition(".")[0])


def test_a_store_of_ones_own_is_given_the_options_and_the_database() -> None:
    chosen = {"STORE": f"{__name__}.OtherStore", "OPTIONS": {"COLOR": "red"}, "DATABASE": "default"}
    with override_settings(ASYNCJOBS=chosen):
        store = get_engine().store
    assert isinstance(store, OtherStore)
    assert store.made_from == ({"COLOR": "red"}, "default")
    assert messages(**chosen) == []


def test_retention_is_changed_outcome_by_outcome() -> None:
    kept = conf(RETENTION={"completed": 60, "failed": None}).retention
    assert kept == {JobStatus.COMPLETED: 60_000, JobStatus.FAILED: None, JobStatus.CANCELED: 7 * DAY_MS}
    assert conf(RETENTION={"canceled": timedelta(days=1)}).retention[JobStatus.CANCELED] == DAY_MS


def test_a_deleted_job_rests_for_as_long_as_is_said() -> None:
    assert [conf(TRASH=time).trash for time in (0, 60, timedelta(hours=2))] == [0, 60_000, 7_200_000]
    assert messages(TRASH=None)[0][2] == "0 deletes at once."


def test_a_limit_holds_for_its_queue_or_for_all_others() -> None:
    chosen = conf(QUEUES={"mail": {"limit": 10}, "slow": {}})
    assert chosen.limits({"mail", "slow", "other"}) == {"mail": 10}
    chosen = conf(QUEUES={"mail": {"limit": 10}, "*": {"limit": 5}})
    assert chosen.limits({"mail", "other"}) == {"mail": 10, "other": 5}


BAD_VALUES = [
    ("STORE", 5, "E004"),
    ("STORE", "", "E004"),
    ("STORE", "reddis", "E004"),
    ("OPTIONS", None, "E003"),
    ("OPTIONS", {5: 5}, "E003"),
    ("DATABASE", 5, "E003"),
    ("QUEUES", ["mail"], "E003"),
    ("QUEUES", {"a b": {}}, "E005"),
    ("QUEUES", {"mail": 100}, "E003"),
    ("QUEUES", {"mail": {"limit": 0}}, "E003"),
    ("QUEUES", {"mail": {"limit": True}}, "E003"),
    ("QUEUES", {"mail": {"limits": 1}}, "E002"),
    ("RETENTION", 7, "E003"),
    ("RETENTION", {"complete": 7}, "E002"),
    ("RETENTION", {"completed": -1}, "E003"),
    ("RETENTION", {"completed": "7 days"}, "E003"),
    ("TRASH", None, "E003"),
    ("TRASH", -1, "E003"),
    ("MAX_PAYLOAD", 0, "E003"),
    ("MAX_PAYLOAD", "64k", "E003"),
    ("MAX_RESULT", 1.5, "E003"),
    ("LEASE", 0.5, "E003"),
    ("LEASE", None, "E003"),
    ("LEASE", timedelta(days=2), "E003"),
    ("CHECK_EVERY", 0, "E003"),
    ("CHECK_EVERY", "hourly", "E003"),
    ("API", None, "E003"),
    ("API", {"HEADERS": "X-Trace"}, "E003"),
    ("API", {"HEADERS": ["X Trace"]}, "E003"),
    ("API", {"IDEMPOTENCY": "a day"}, "E003"),
    ("DASHBOARD", {"HOLD": 3_600}, "E003"),
    ("DASHBOARD", {"HOLD": None}, "E003"),
    ("DASHBOARD", {"QUEUE": "two words"}, "E005"),
    ("DASHBOARD", {"COLOR": "red"}, "E002"),
]


@pytest.mark.parametrize(("name", "value", "code"), BAD_VALUES, ids=lambda value: ascii(value)[:40])
def test_a_setting_that_cannot_be_used_is_found(name: str, value: Any, code: str) -> None:
    [(found, message, hint)] = messages(**{name: value})
    assert found == code
    assert name in message
    assert hint
    with pytest.raises(ImproperlyConfigured, match=f"ASYNCJOBS.*{name}"):
        conf(**{name: value})


def test_every_setting_has_a_bad_value_in_these_tests() -> None:
    assert {name for name, _, _ in BAD_VALUES} == READERS.keys()


def test_settings_that_are_no_dict_are_found() -> None:
    with override_settings(ASYNCJOBS="redis"):
        [message] = run_checks(tags=["asyncjobs"])
        assert message.id == "asyncjobs.E001"
        with pytest.raises(ImproperlyConfigured):
            get_conf()


def test_an_unknown_setting_gets_a_hint() -> None:
    assert messages(STROE="redis") == [("E002", "ASYNCJOBS has no setting 'STROE'.", "Did you mean 'STORE'?")]
    [(_, _, hint)] = messages(XYZ=1)
    assert hint == f"There are: {', '.join(sorted(READERS))}."


def test_several_mistakes_are_found_at_once() -> None:
    assert [code for code, _, _ in messages(STROE=1, MAX_PAYLOAD=0, QUEUES=5)] == ["E002", "E003", "E003"]


def test_misspelt_values_get_a_hint() -> None:
    assert messages(STORE="reddis")[0][2] == "Did you mean 'redis'?"
    assert messages(RETENTION={"complete": 7})[0][2] == "Did you mean 'completed'?"
    assert messages(QUEUES={"mail": {"limits": 7}})[0][2] == "Did you mean 'limit'?"
    assert messages(LEASE="long")[0][2] == "Give one second to a day."
    assert messages(CHECK_EVERY="hourly")[0][2] == "Give a second or more, or None for never."


@pytest.mark.parametrize(
    "path",
    ["no.such.Store", "asyncjobs.stores.memory.NoStore", "asyncjobs.stores.base.Store", f"{__name__}.Unmakeable"],
)
def test_a_store_that_cannot_be_made_is_found(path: str) -> None:
    [(code, message, _)] = messages(STORE=path)
    assert code == "E004"
    assert path.rpartition(".")[0] in message or "no" in message


def test_an_unknown_option_of_the_store_gets_a_hint() -> None:
    path = f"{__name__}.OtherStore"
    [(code, message, hint)] = messages(STORE=path, OPTIONS={"COLOUR": "red"})
    assert (code, message, hint) == (
        "E002",
        "ASYNCJOBS['OPTIONS'] has no option 'COLOUR'.",
        "Did you mean 'COLOR'?",
    )
    [(code, _, hint)] = messages(STORE="memory", OPTIONS={"COLOUR": "red"})
    assert (code, hint) == ("E002", "This store takes no options.")


def test_an_unknown_database_gets_a_hint() -> None:
    [(code, message, hint)] = messages(DATABASE="defalt")
    assert (code, message, hint) == ("E006", "ASYNCJOBS['DATABASE'] is 'defalt'.", "Did you mean 'default'?")


def test_the_redis_store_needs_a_django_redis_cache_or_a_url() -> None:
    assert messages(STORE="redis") == []
    assert messages(STORE="redis", OPTIONS={"URL": "redis://127.0.0.1:1/0", "ALIAS": "nowhere"}) == []
    [(code, message, hint)] = messages(STORE="redis", OPTIONS={"ALIAS": "nowhere"})
    assert code == "E007"
    assert message == "the Redis store uses the cache 'nowhere', and CACHES has none of that name."
    assert hint == "Add the cache 'nowhere' with django-redis, or give OPTIONS a URL."
    for alias in ("local", "broken"):
        [(code, message, hint)] = messages(STORE="redis", OPTIONS={"ALIAS": alias})
        assert code == "E008"
        assert hint is not None
        assert "django_redis.cache.RedisCache" in hint


def test_redis_options_are_checked() -> None:
    [(code, _, hint)] = messages(STORE="redis", OPTIONS={"URI": "redis://127.0.0.1:1/0"})
    assert (code, hint) == ("E002", "Did you mean 'URL'?")


@pytest.mark.parametrize(
    "options",
    [
        {"URL": "http://127.0.0.1"},
        {"URL": None},
        {"URL": "redis://127.0.0.1", "PREFIX": None},
        {"TIMEOUT": "soon"},
        *({"URL": "redis://127.0.0.1", "TIMEOUT": timeout} for timeout in (0, -1, "nan", "inf", None)),
    ],
    ids=str,
)
def test_options_the_store_cannot_use_are_found(options: dict[str, Any]) -> None:
    [(code, message, hint)] = messages(STORE="redis", OPTIONS=options)
    assert code == "E003"
    assert message.startswith("ASYNCJOBS['OPTIONS']: ")
    assert hint == "See the options of RedisStore."


SECRET = "whsec_" + "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"


def test_the_api_is_set_up_by_options_of_its_own() -> None:
    webhooks = {"HOSTS": ["hooks.example.com", "*.example.org:8443"], "SECRETS": [SECRET], "TIMEOUT": 2}
    api = conf(API={"HEADERS": ["x-tenant"], "LONGEST_WAIT": 5, "AUTHENTICATION": [], "WEBHOOKS": webhooks}).api
    assert (api.headers, api.longest_wait, api.authentication) == (("X-Tenant",), 5_000, ())
    assert api.webhooks.hosts == ("hooks.example.com", "*.example.org:8443")
    assert (api.webhooks.secrets, api.webhooks.timeout) == ((b"secret secret secret secret",), 2_000)


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-API-Key", "X-CSRFToken", "Proxy-Authorization"])
def test_no_header_with_a_secret_can_be_kept(name: str) -> None:
    assert "may hold a secret" in messages(API={"HEADERS": [name]})[0][1]


@pytest.mark.parametrize(
    "given",
    [
        {"HEADERS": ["X Y"]},
        {"MAX_BODY": 0},
        {"LONGEST_WAIT": 0},
        {"COLOR": "red"},
        {"WEBHOOKS": {"HOSTS": ["hooks.example.com"]}},
        {"WEBHOOKS": {"HOSTS": ["http://hooks.example.com"], "SECRETS": [SECRET]}},
        {"WEBHOOKS": {"SECRETS": ["whsec_c2hvcnQ="]}},
        {"WEBHOOKS": {"SECRETS": ["not base64"]}},
        {"WEBHOOKS": {"QUEUE": "no queue"}},
    ],
)
def test_an_option_of_the_api_that_cannot_be_used_is_found(given: dict[str, Any]) -> None:
    [(code, message, _)] = messages(API=given)
    assert code in ("E002", "E003", "E005")
    assert "short" not in message
