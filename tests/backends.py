"""Every kind of store the contract suite runs on, and how to open and empty one."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal

from asyncjobs.stores.base import Store
from asyncjobs.stores.memory import MemoryStore
from tests import servers

ClockOrNone = Callable[[], int] | None
Effort = Literal["short", "long"]


class Backend(ABC):
    """Where one kind of store keeps its jobs."""

    @abstractmethod
    def open(self, *, clock: ClockOrNone = None) -> Store:
        """A store on the same jobs as every other one opened here."""

    @abstractmethod
    def clear(self) -> None:
        """Removes all jobs."""


class MemoryBackend(Backend):
    def __init__(self) -> None:
        self._store: MemoryStore | None = None

    def open(self, *, clock: ClockOrNone = None) -> Store:
        if self._store is None:
            self._store = MemoryStore(clock=clock) if clock else MemoryStore()
        return self._store

    def clear(self) -> None:
        self._store = None


class OrmBackend(Backend):
    def __init__(self, alias: str, cleanup: ExitStack) -> None:
        self.alias = alias
        create_database(alias, cleanup)

    def open(self, *, clock: ClockOrNone = None) -> Store:
        from asyncjobs.stores.orm import OrmStore

        return OrmStore(database=self.alias, clock=clock)

    def clear(self) -> None:
        """Empties our tables alone: a flush of all takes far longer than a test."""
        from django.apps import apps

        for model in apps.get_app_config("asyncjobs").get_models(include_auto_created=True):
            if model._meta.managed:
                queryset = model._base_manager.using(self.alias).all()
                queryset._raw_delete(self.alias)


class RedisBackend(Backend):
    def __init__(self, client: Any, cleanup: ExitStack) -> None:
        self.prefix = f"aet{os.getpid()}"
        self.client = client
        cleanup.callback(client.close)

    def open(self, *, clock: ClockOrNone = None) -> Store:
        from asyncjobs.stores.redis import RedisStore

        return RedisStore(self.client, prefix=self.prefix, clock=clock)

    def clear(self) -> None:
        keys = list(self.client.scan_iter(match=f"{self.prefix}:*", count=1_000))
        for start in range(0, len(keys), 1_000):
            self.client.delete(*keys[start : start + 1_000])


def create_database(alias: str, cleanup: ExitStack) -> None:
    """Starts the server behind this Django alias, if it has one, and migrates a test database on it."""
    from django.db import connections

    if alias not in connections.settings:
        servers.missing(f"no driver for {alias} is installed")
    connections.settings[alias].update(_SERVERS[alias]())
    creation = connections[alias].creation
    name = connections[alias].settings_dict["NAME"]
    creation.create_test_db(verbosity=0, autoclobber=True)
    if connections[alias].vendor == "postgresql":
        cleanup.callback(_drop, alias)
    else:
        cleanup.callback(creation.destroy_test_db, name, verbosity=0)


def _drop(alias: str) -> None:
    """With the sessions of threads that outlive their test, because the process they would end with goes on."""
    from django.db import connections

    connection = connections[alias]
    name = connection.settings_dict["NAME"]
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _fake_client(cleanup: ExitStack) -> Any:
    import fakeredis

    return fakeredis.FakeRedis(protocol=2)


def _client(url: str) -> Any:
    from asyncjobs.stores.redis.connection import client_from_url

    return client_from_url(url, timeout=20)


_SERVERS: dict[str, Callable[[], dict[str, Any]]] = {
    "sqlite": dict,
    "postgres": servers.postgres_settings,
    "mariadb": servers.mariadb_settings,
}
BACKENDS: dict[str, Callable[[ExitStack], Backend]] = {
    "memory": lambda cleanup: MemoryBackend(),
    "sqlite": lambda cleanup: OrmBackend("sqlite", cleanup),
    "postgres": lambda cleanup: OrmBackend("postgres", cleanup),
    "mariadb": lambda cleanup: OrmBackend("mariadb", cleanup),
    "fakeredis": lambda cleanup: RedisBackend(_fake_client(cleanup), cleanup),
    "valkey": lambda cleanup: RedisBackend(_client(servers.valkey_url()), cleanup),
    "redis7": lambda cleanup: RedisBackend(_client(servers.redis_url()), cleanup),
}
KINDS = tuple(BACKENDS)
