"""The Redis store."""

from asyncjobs.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
