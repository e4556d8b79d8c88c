"""Fixtures every test may use: stores of every kind, on servers that start when first needed, and a clock."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from asyncjobs.stores.base import Store
from asyncjobs.stores.orm import OrmStore
from asyncjobs.stores.redis import RedisStore
from tests.backends import BACKENDS, KINDS, Backend, Effort
from tests.clock import Clock
from tests.scene import Scene


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the kinds of store that ASYNCJOBS_TEST_KINDS, if it is set, does not name."""
    chosen = os.environ.get("ASYNCJOBS_TEST_KINDS", "").split() or KINDS
    left_out = {item for item in items if _kind_of(item) not in (None, *chosen)}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def _kind_of(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    kind = callspec.params.get("kind") if callspec else None
    return kind if kind in KINDS else None


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def backends(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[str], Backend]]:
    """The backend of a kind, the same one for the whole session."""
    cleanup = ExitStack()
    yield cache(lambda kind: BACKENDS[kind](cleanup))
    with django_db_blocker.unblock():
        cleanup.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def effort(kind: str) -> Effort:
    """How long to search or race: in CI for longer, unless the server is an imitation."""
    return "long" if os.environ.get("CI") == "true" and kind != "fakeredis" else "short"


@pytest.fixture
def backend(kind: str, backends: Callable[[str], Backend], django_db_blocker: DjangoDbBlocker) -> Iterator[Backend]:
    """An empty backend; every index agrees with every job when the test is over."""
    with django_db_blocker.unblock():
        backend = backends(kind)
        backend.clear()
        yield backend


@pytest.fixture
def store(backend: Backend, clock: Clock) -> Iterator[Store]:
    """A store of every kind in turn, on a clock that stands still. Afterwards every index agrees with every job."""
    store = backend.open(clock=clock)
    yield store
    assert store.check() == []


@pytest.fixture
def live_store(backend: Backend) -> Iterator[Store]:
    """A store of every kind in turn, on its own clock. Afterwards every index agrees with every job."""
    store = backend.open()
    yield store
    assert store.check() == []


@pytest.fixture
def scene(store: Store, clock: Clock) -> Scene:
    return Scene(store, clock)


@pytest.fixture
def elapse(scene: Scene) -> Callable[[int], None]:
    """Lets time pass as it does under a live supervisor."""
    return scene.elapse


@pytest.fixture
def dead_port() -> int:
    """At which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def dead_database(dead_port: int, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    pytest.importorskip("psycopg")
    alias = "dead"
    postgres = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": str(dead_port), "NAME": "x"}
    connections.settings[alias] = {**connections.settings["default"], **postgres, "OPTIONS": {}, "PASSWORD": "hidden"}
    with django_db_blocker.unblock():
        yield alias
    del connections[alias], connections.settings[alias]


@pytest.fixture(params=["redis", "orm"])
def dead_store(request: pytest.FixtureRequest, dead_port: int) -> Store:
    """One whose server is not there. Its password is "hidden"."""
    if request.param == "redis":
        url = f"redis://:hidden@127.0.0.1:{dead_port}/0"
        return RedisStore.from_options({"URL": url, "TIMEOUT": 1}, database="default")
    return OrmStore(database=request.getfixturevalue("dead_database"))
