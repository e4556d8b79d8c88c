"""How the store reaches its server."""

import gc
import os
import threading
import time

import pytest
from django.test import override_settings

from asyncjobs.errors import StoreUnavailable
from asyncjobs.stores.redis import RedisStore
from asyncjobs.stores.redis.connection import client_from_url
from asyncjobs.stores.redis.line import Own
from tests import servers


def test_a_cache_alias_names_the_server_and_lends_no_retries() -> None:
    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": servers.valkey_url()}
    with override_settings(CACHES={"default": cache}):
        store = RedisStore.from_options({"PREFIX": "alias"}, database="default")
        assert store.counts() == []
        assert store.client.connection_pool.connection_kwargs["retry"].get_retries() == 0


def test_a_thread_that_ends_gives_its_connection_back() -> None:
    store = RedisStore(servers.valkey_url(), prefix="threads")
    before = len(store.client.client_list())
    for _ in range(20):
        thread = threading.Thread(target=store.counts)
        thread.start()
        thread.join()
    assert len(store.client.client_list()) <= before + 1


def test_a_forked_child_does_not_share_its_parents_connection() -> None:
    store = RedisStore(servers.valkey_url(), prefix="forked")
    store.counts()
    child = os.fork()
    if child == 0:
        os._exit(0 if store.counts() == [] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.counts() == []


def test_a_wait_waits_however_short_the_timeout_of_an_answer_is() -> None:
    store = RedisStore(servers.valkey_url(), prefix="waits", timeout=1)
    store.counts()
    before = time.monotonic()
    store.wait(["default"], timeout=200)
    assert time.monotonic() - before > 0.15


def test_a_server_that_is_not_there_is_an_error_of_ours() -> None:
    store = RedisStore(f"redis://127.0.0.1:{servers.free_port()}/0")
    with pytest.raises(StoreUnavailable) as refused:
        store.counts()
    assert refused.value.code == "STORE_UNAVAILABLE"


def test_a_store_that_is_collected_while_its_thread_holds_the_pool_waits_for_nobody() -> None:
    """The collector runs where it likes, also inside the pool, and a finalizer must not want the pool's lock."""
    client = client_from_url(servers.valkey_url(), timeout=5)

    def collect() -> None:
        store = RedisStore(client, prefix="collected")
        store.run("counts")
        with client.connection_pool._lock:
            del store
            gc.collect()

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_connection_that_is_collected_in_a_ring_is_closed_before_its_socket_warns() -> None:
    """Among garbage the collector takes what is younger than its owner first, if one collection lay between them."""
    own = Own(client_from_url(servers.valkey_url(), timeout=5).connection_pool)
    own.ring = own  # type: ignore[attr-defined]
    gc.collect(0)
    own.connection.connect()
    del own
    gc.collect()
