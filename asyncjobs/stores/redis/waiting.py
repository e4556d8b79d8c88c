"""Waiting for the bell of a queue, and for a byte on a pipe, at the same time."""

import os
import threading
import time
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

import redis
from redis.exceptions import ConnectionError, TimeoutError

from asyncjobs.stores.redis.line import Line, Own
from asyncjobs.stores.waking import readable

SERVER_LONGER_S: Final = 5  # the server ends a wait that nobody called off; it would be up to 0.1 s late for ours
CALL_OFF_S: Final = 0.1  # how long one who is woken waits for a server to let go
AGAIN_S: Final = 0.001  # after which a server that had nobody to let go is told again
NAP_MS: Final = 10


class Waiter(threading.local):
    """Blocks on a connection of each thread's own, which nothing but waiting is done on.

    A token that is lost on the way, or with the one who took it, is made good for: all who wait come back after their
    timeout and look.
    """

    def __init__(self, client: redis.Redis, line: Line) -> None:
        self._pool: Any = client.connection_pool
        self._line = line
        self._own: Own | None = None
        self._id = 0  # the server's number for the connection, 0 without one
        self._name = uuid4().hex

    @property
    def name(self) -> str:
        """Whose timers these are."""
        return f"{self._name}-{os.getpid()}"

    def wait(self, bells: Sequence[str], *, timeout: int, wake: int | None) -> None:
        """Returns when one of these bells rings, when `wake` can be read, or after `timeout` milliseconds."""
        try:
            connection = self._connection()
            connection.send_command("BLPOP", *bells, timeout // 1000 + SERVER_LONGER_S)
            # Bytes that were read along with something else would not make the socket readable.
            ready = connection.can_read(0) or readable(connection._sock.fileno(), wake, timeout=timeout)
            if ready is True or connection._sock.fileno() in ready:
                connection.read_response()
            else:
                self._call_off(connection, is_woken=bool(ready))
        except BaseException:
            self._hang_up()
            raise

    def _call_off(self, connection: Any, *, is_woken: bool) -> None:
        """Ends the wait on the server too, so that it gives no token to one who has gone."""
        end = time.monotonic() + CALL_OFF_S
        try:
            while not self._unblock(is_woken=is_woken) and not connection.can_read(AGAIN_S):
                # The server has not seen our BLPOP yet: it came over another connection.
                if time.monotonic() > end:
                    return self._hang_up()
            connection.read_response()
        except (ConnectionError, TimeoutError):
            if not is_woken:
                raise
            self._hang_up()  # who is woken has other things to do; the next call will say that the server is away

    def _unblock(self, *, is_woken: bool) -> bool:
        return bool(self._line.ask("CLIENT", "UNBLOCK", self._id, within=CALL_OFF_S if is_woken else None))

    def _connection(self) -> Any:
        if self._own is None or self._own.pid != os.getpid():
            self._own, self._id = Own(self._pool), 0
        if not self._id:
            self._own.connection.send_command("CLIENT", "ID")
            self._id = self._own.connection.read_response()
        return self._own.connection

    def _hang_up(self) -> None:
        """The server forgets who waits on a connection that is closed; the next wait opens another."""
        if self._own is not None and self._own.pid == os.getpid():
            self._own.connection.disconnect()
        self._id = 0


class Sleeper:
    """For fakeredis, which has no sockets: returns early, for no reason but that time has passed."""

    name = "sleeper"

    def wait(self, bells: Sequence[str], *, timeout: int, wake: int | None) -> None:
        readable(wake, timeout=min(timeout, NAP_MS))
