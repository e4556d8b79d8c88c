"""Redis servers of a test's own, to be cut off, filled up and killed."""

from collections.abc import Callable, Iterator

import pytest

from asyncjobs.stores.redis import RedisStore
from tests.proxy import Proxy, proxy_to
from tests.scene import Scene
from tests.servers import RedisServer, redis_binary, valkey_binary

TIMEOUT = 1.0
BINARIES: dict[str, Callable[[], str]] = {"valkey": valkey_binary, "redis7": redis_binary}


@pytest.fixture(params=BINARIES)
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A fresh server of each kind in turn."""
    server = RedisServer(BINARIES[request.param]())
    yield server
    server.stop()


@pytest.fixture
def open_store() -> Iterator[Callable[[int], RedisStore]]:
    """Opens a store on a loopback port; all are closed when the test is over."""
    stores: list[RedisStore] = []

    def open_store(port: int) -> RedisStore:
        stores.append(RedisStore(f"redis://127.0.0.1:{port}/0", timeout=TIMEOUT))
        return stores[-1]

    yield open_store
    for store in stores:
        store.client.connection_pool.disconnect()


@pytest.fixture
def scene(server: RedisServer, open_store: Callable[[int], RedisStore]) -> Iterator[Scene]:
    """The store as it is, seen without the proxy. Afterwards every index agrees with every job."""
    store = open_store(server.port)
    yield Scene(store, store.now)
    assert store.check() == []


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    with proxy_to(server.port) as proxy:
        yield proxy


@pytest.fixture
def far(proxy: Proxy, open_store: Callable[[int], RedisStore]) -> Scene:
    """The store as seen through the proxy."""
    store = open_store(proxy.port)
    return Scene(store, store.now)
