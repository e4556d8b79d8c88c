"""Health is the store's, is told to anybody, and tells nothing else."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from asyncjobs import Engine, get_engine
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.stores.redis import RedisStore
from tests.api import jobs
from tests.api.conftest import ClientOf
from tests.backends import Backend

HEALTH = "/api/jobs/health/"


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    before = exchange_engine(engine)
    try:
        yield
    finally:
        exchange_engine(before)


@pytest.fixture
def dead_url() -> str:
    """Of a server that is not there."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"redis://:hidden-password@127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.fixture
def dead_store(dead_url: str) -> Iterator[Engine]:
    engine = Engine(RedisStore.from_options({"URL": dead_url, "TIMEOUT": 1}, database="default"), Conf())
    with using(engine):
        yield engine


@pytest.fixture
def engine_of_kind(backend: Backend) -> Iterator[Engine]:
    engine = Engine(backend.open(), Conf(database=getattr(backend, "alias", "default")))
    with using(engine):
        yield engine


@pytest.mark.usefixtures("engine_of_kind")
def test_a_store_that_answers_is_well(client_of: ClientOf) -> None:
    answer = client_of().get(HEALTH)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("dead_store")
def test_a_dead_store_is_told_and_its_address_is_not(client_of: ClientOf, dead_url: str) -> None:
    answer = client_of().get(HEALTH)
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert int(answer["Retry-After"]) > 0
    assert answer.json()["code"] == "store-unavailable"
    for secret in ("hidden-password", "127.0.0.1", dead_url.partition("@")[2], "redis", "Connection"):
        assert secret not in answer.content.decode()


def test_nobody_is_looked_up(client_of: ClientOf, engine: Engine) -> None:
    """No database is open to this test: a session, or a user, could not be read."""
    answer = client_of().get(HEALTH, headers={"Authorization": "Basic YTpi", "Cookie": "sessionid=x"})
    assert answer.status_code == 200


@pytest.mark.usefixtures("engine")
def test_health_is_asked_for_and_not_changed(client_of: ClientOf) -> None:
    for method in ("post", "put", "patch", "delete", "options"):
        assert getattr(client_of(), method)(HEALTH).status_code == 405
    assert client_of().head(HEALTH).status_code == 200


@pytest.mark.usefixtures("engine")
def test_whoever_asks_too_often_is_told_to_wait(client_of: ClientOf, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"asyncjobs-poll": "2/min"}}
    codes = [client_of().get(HEALTH).status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    answer = client_of().get(HEALTH)
    assert (answer.json()["code"], int(answer["Retry-After"]) > 0) == ("throttled", True)
    assert client_of().get(HEALTH, REMOTE_ADDR="127.0.0.2").status_code == 200


ID = "00000000-0000-4000-8000-000000000000"
EVERYWHERE: list[tuple[str, str, Any]] = [
    ("get", "", None),
    ("post", "", {"name": jobs.add.name, "args": [1]}),
    ("post", "batch/", {"jobs": [{"name": jobs.add.name, "args": [1]}]}),
    ("get", f"{ID}/", None),
    ("delete", f"{ID}/", None),
    ("get", f"{ID}/result/", None),
    ("get", f"{ID}/log/", None),
    ("post", f"{ID}/cancel/", None),
    ("post", f"{ID}/retry/", None),
    ("get", "queues/", None),
    ("post", "queues/default/pause/", {"reason": "x"}),
    ("post", "queues/default/resume/", None),
    ("get", "workers/", None),
    ("get", "health/", None),
]


@pytest.mark.usefixtures("dead_store")
@pytest.mark.parametrize(("method", "path", "body"), EVERYWHERE)
def test_every_view_says_when_the_store_is_dead(
    method: str, path: str, body: Any, client_of: ClientOf, boss: User
) -> None:
    answer = getattr(client_of(boss), method)(f"/api/jobs/{path}", body)
    assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
    assert int(answer["Retry-After"]) > 0


@pytest.mark.usefixtures("dead_store")
def test_handlers_need_no_store(client_of: ClientOf, boss: User) -> None:
    assert client_of(boss).get("/api/jobs/handlers/").status_code == 200


def test_a_dead_cache_throttles_nobody(
    client_of: ClientOf, engine: Engine, dead_url: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": dead_url}
    settings.CACHES = {"default": cache}
    exchange_engine(engine)  # a change of the caches made it be forgotten
    assert get_engine() is engine
    assert client_of().get(HEALTH).status_code == 200
    assert "cannot be counted" in caplog.text
