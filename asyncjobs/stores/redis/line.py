"""A connection of each thread's own. Taking one from the pool and back costs a third of a small call."""

import os
import threading
import weakref
from typing import Any

import redis
from redis.exceptions import ResponseError, TimeoutError


class Line(threading.local):
    """Sends one command and reads its answer, on a connection that stays with the thread and ends with it.

    The connection is like the pool's but not out of it: giving it back from a finalizer would take the pool's lock,
    and the collector may run a finalizer in a thread that holds it.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._pool: Any = client.connection_pool
        self._own: Own | None = None

    def ask(self, *command: Any, within: float | None = None) -> Any:
        """The answer, given up on after the connection's own timeout or within these seconds.

        After a broken connection the next call makes a new one.
        """
        connection = self._connection()
        try:
            connection.send_command(*command)
            if within is not None and not connection.can_read(within):
                raise TimeoutError("no answer in time")
            return connection.read_response()
        except ResponseError:
            raise
        except BaseException:
            connection.disconnect()
            raise

    def _connection(self) -> Any:
        if self._own is None or self._own.pid != os.getpid():
            self._own = Own(self._pool)
        return self._own.connection


class Own:
    """A connection that is closed as soon as its thread is gone, in the process that opened it.

    A `__del__` would run too late: among garbage the socket may come first, and warns that nobody closed it.
    """

    def __init__(self, pool: Any) -> None:
        self.pid = os.getpid()
        self.connection = pool.connection_class(**pool.connection_kwargs)
        weakref.finalize(self, _close, self.connection, self.pid).atexit = False


def _close(connection: Any, pid: int) -> None:
    if pid == os.getpid():
        connection.disconnect()
