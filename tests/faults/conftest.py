"""Servers of a test's own, to be cut off, filled up and killed, and sites whose workers meet all that."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Store
from asyncjobs.stores.redis import RedisStore
from tests.backends import Backend, OrmBackend
from tests.faults.checker import Trial
from tests.proxy import Proxy, proxy_to
from tests.scene import Scene
from tests.servers import DurableServer, RedisServer, redis_binary, valkey_binary
from tests.worker.conftest import database_of
from tests.workers import site

TIMEOUT = 1.0
OpenStore = Callable[[int], RedisStore]
OpenTrial = Callable[..., Trial]
BINARIES: dict[str, Callable[[], str]] = {"valkey": valkey_binary, "redis7": redis_binary}


@pytest.fixture(params=BINARIES)
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A fresh server of each kind in turn."""
    server = RedisServer(BINARIES[request.param]())
    yield server
    server.stop()


@pytest.fixture
def open_store() -> Iterator[OpenStore]:
    """Opens a store on a loopback port; all are closed when the test is over."""
    stores: list[RedisStore] = []

    def open_store(port: int) -> RedisStore:
        stores.append(RedisStore(f"redis://127.0.0.1:{port}/0", timeout=TIMEOUT))
        return stores[-1]

    yield open_store
    for store in stores:
        store.client.connection_pool.disconnect()


@pytest.fixture
def scene(server: RedisServer, open_store: OpenStore) -> Iterator[Scene]:
    """The store as it is, seen without the proxy. Afterwards every index agrees with every job."""
    store = open_store(server.port)
    yield Scene(store, store.now)
    assert store.check() == []


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    with proxy_to(server.port) as proxy:
        yield proxy


@pytest.fixture
def far(proxy: Proxy, open_store: OpenStore) -> Scene:
    """The store as seen through the proxy."""
    store = open_store(proxy.port)
    return Scene(store, store.now)


@pytest.fixture
def chance() -> random.Random:
    """Every random choice of a test comes from the one seed that it prints."""
    seed = int(os.environ.get("ASYNCJOBS_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"ASYNCJOBS_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def durable() -> Iterator[DurableServer]:
    """A server that survives being killed."""
    server = DurableServer()
    yield server
    server.stop()


@pytest.fixture
def open_trial(tmp_path: Path) -> Iterator[OpenTrial]:
    """Opens a site on a store, whose workers end with the test."""
    with ExitStack() as cleanup:

        def open_trial(store: Store, **where: Any) -> Trial:
            engine = Engine(store, get_conf())
            cleanup.callback(exchange_engine, exchange_engine(engine))
            return Trial(cleanup.enter_context(site(tmp_path, **where)), engine)

        yield open_trial


@pytest.fixture
def trial(durable: DurableServer, open_store: OpenStore, open_trial: OpenTrial) -> Trial:
    """A site on the durable server."""
    return open_trial(open_store(durable.port), redis=durable.url)


@pytest.fixture
def postgres_trial(
    backends: Callable[[str], Backend], django_db_blocker: DjangoDbBlocker, open_trial: OpenTrial
) -> Iterator[Trial]:
    """A site on PostgreSQL."""
    with django_db_blocker.unblock():
        backend = backends("postgres")
        backend.clear()
        assert isinstance(backend, OrmBackend)
        yield open_trial(backend.open(), database=database_of(backend.alias))


@pytest.fixture
def either_trial(request: pytest.FixtureRequest) -> Trial:
    """A site on the store that the test is parametrized with."""
    return request.getfixturevalue({"valkey": "trial", "postgres": "postgres_trial"}[request.param])
