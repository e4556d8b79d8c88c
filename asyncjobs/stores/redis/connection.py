"""How the store reaches its server: from a URL or a django-redis cache alias, and what its errors mean."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from asyncjobs.errors import StoreError, StoreOutOfMemory, StoreUnavailable

P = ParamSpec("P")
R = TypeVar("R")
Client = redis.Redis  # answers bytes

MAX_CONNECTIONS = 10_000  # a thread keeps one, and a process has fewer threads than that

_UNAVAILABLE = (
    "READONLY",
    "LOADING",
    "MISCONF",
    "NOREPLICAS",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "BUSY",
    "UNKILLABLE",
    "UNBLOCKED",
)
_UNAVAILABLE_TYPES = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,  # redis-py takes the word at the beginning off the texts of these
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
)


def client_from_url(url: str, *, timeout: float) -> Client:
    return redis.Redis.from_url(url, **_options(timeout))


def client_from_alias(alias: str, *, timeout: float) -> Client:
    """A client like the cache's own (TLS, Sentinel, credentials), with a pool of its own.

    The cache's pool repeats commands by itself; a repeated write is a duplicate.
    """
    from django_redis import get_redis_connection

    pool = get_redis_connection(alias).connection_pool
    options = {**pool.connection_kwargs, **_options(timeout), "decode_responses": False}
    if isinstance(pool, redis.SentinelConnectionPool):
        return redis.Redis(connection_pool=type(pool)(pool.service_name, pool.sentinel_manager, **options))
    return redis.Redis(connection_pool=redis.ConnectionPool(pool.connection_class, **options))


def _options(timeout: float) -> dict[str, Any]:
    return {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "health_check_interval": 30,
        "max_connections": MAX_CONNECTIONS,
    }


def translated(method: Callable[P, R]) -> Callable[P, R]:
    """Raises what goes wrong with the server as a `StoreError`."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except exceptions.RedisError as error:
            raise _translate(error) from error
        except UnicodeEncodeError as error:
            raise StoreError(f"this cannot be sent to the Redis server: {error}") from error

    return call


def _translate(error: exceptions.RedisError) -> StoreError:
    text = str(error)
    if isinstance(error, exceptions.OutOfMemoryError) or "OOM command not allowed" in text:
        return StoreOutOfMemory("the Redis server is at its memory limit and takes no new jobs")
    if isinstance(error, _UNAVAILABLE_TYPES) or text.startswith(_UNAVAILABLE):
        return StoreUnavailable(f"the Redis server does not answer: {text}")
    return StoreError(f"the Redis server refused: {text}")
