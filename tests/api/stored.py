"""All that is kept anywhere, as text: to see that nothing of something is in it, or that it did not change."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections

from tests.backends import Backend, MemoryBackend, OrmBackend, RedisBackend


def everything(backend: Backend) -> str:
    """What this backend keeps of jobs."""
    match backend:
        case MemoryBackend():
            return "\n".join(_in_memory(backend.open()))
        case OrmBackend():
            return "\n".join(_rows(backend.alias, of_app="asyncjobs"))
        case RedisBackend():
            return "\n".join(sorted(_values(backend.client, f"{backend.prefix}:*")))
    raise AssertionError(backend)


def site_rows() -> str:
    """What the site itself keeps, in the database that its own models are in."""
    return "\n".join(_rows(DEFAULT_DB_ALIAS))


def _in_memory(store: Any) -> Iterator[str]:
    for name, value in vars(store).items():
        if isinstance(value, dict | list | set):
            yield f"{name}: {value!r}"


def _rows(alias: str, *, of_app: str = "") -> Iterator[str]:
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and of_app in ("", model._meta.app_label):
            with connections[alias].cursor() as cursor:
                cursor.execute(f"SELECT * FROM {connections[alias].ops.quote_name(model._meta.db_table)}")
                rows = sorted(map(repr, cursor.fetchall()))
            yield f"{model._meta.label}: {rows}"


def _values(client: Any, pattern: str) -> Iterator[str]:
    readers = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"stream": lambda key: [client.xrange(key), client.xinfo_groups(key)],
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"set": client.smembers,
        b"list": lambda key: client.lrange(key, 0, -1),
    }
    for key in client.scan_iter(match=pattern, count=1_000):
        value = readers[client.type(key)](key)
        yield f"{key!r}: {sorted(value.items()) if isinstance(value, dict) else value!r}"
