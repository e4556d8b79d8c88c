"""Fixtures every test may use: stores of every kind, on servers that start when first needed, and a clock."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from pytest_django import DjangoDbBlocker

from asyncjobs.stores.base import Store
from tests.backends import BACKENDS, KINDS, Backend
from tests.clock import Clock
from tests.scene import Scene


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
