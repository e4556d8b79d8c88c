"""Sends a request to a host somebody else has named, so that it can reach nothing of our own."""

import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, partial
from http.client import HTTPException, HTTPResponse
from threading import Thread
from typing import Any, Final

from asyncjobs.api.webhooks.addresses import is_public
from asyncjobs.api.webhooks.callbacks import Receiver
from asyncjobs.errors import WebhookFailed
from asyncjobs.version import own_version

MAX_ANSWER: Final = 64 * 1024
_MOST_TRIED: Final = 8  # addresses of one host

Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@cache
def default_tls() -> ssl.SSLContext:
    """Made once: it takes longer than to deliver a webhook."""
    return ssl.create_default_context()


class Sender:
    """Posts to the addresses it has checked, and follows nobody anywhere else: no redirects, no proxies."""

    def __init__(
        self,
        *,
        timeout: float,
        resolve: Resolve = resolve,
        is_public: Callable[[str], bool] = is_public,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout = timeout  # of all that one request takes, in seconds
        self._resolve = resolve
        self._is_public = is_public
        self._tls = tls or default_tls()

    def post(self, receiver: Receiver, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer; of the rest nothing is read. No answer is `WebhookFailed`."""
        deadline = _Deadline(self._timeout)
        try:
            with self._connect(receiver, deadline) as connection:
                _send(connection, _request(receiver, body, headers), deadline)
                return _status(connection, deadline)
        except (OSError, HTTPException, UnicodeError) as error:
            # What the error says itself may be anything.
            raise WebhookFailed(f"{receiver.authority} gave no answer: {type(error).__name__}") from None

    def _connect(self, receiver: Receiver, deadline: "_Deadline") -> ssl.SSLSocket:
        plain = _first(self._addresses(receiver, deadline), receiver.port, deadline)
        try:
            plain.settimeout(deadline.left())
            return self._tls.wrap_socket(plain, server_hostname=receiver.host)
        except BaseException:
            plain.close()
            raise

    def _addresses(self, receiver: Receiver, deadline: "_Deadline") -> Sequence[str]:
        """Asked for once, so that what was checked is what is used. One that is not public condemns them all."""
        addresses = _within(deadline.left(), partial(self._resolve, receiver.host, receiver.port))
        if not addresses or not all(map(self._is_public, addresses)):
            raise WebhookFailed(f"{receiver.authority} is not at a public address")
        return addresses[:_MOST_TRIED]


class _Deadline:
    """A timeout of a socket is for one step; those who answer byte by byte never meet it."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class _Answer(io.RawIOBase):
    """What comes back, up to a deadline and a size."""

    def __init__(self, connection: socket.socket, deadline: _Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._room = MAX_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._room:
            raise HTTPException
        self._connection.settimeout(self._deadline.left())
        count = self._connection.recv_into(buffer, min(len(buffer), self._room))
        self._room -= count
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        """What `HTTPResponse` asks of a socket."""
        return io.BufferedReader(self)


def _request(receiver: Receiver, body: bytes, headers: Mapping[str, str]) -> bytes:
    fixed = {
        "Host": receiver.authority,
        "User-Agent": f"asyncjobs/{own_version()}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"POST {receiver.target} HTTP/1.1", *(f"{name}: {value}" for name, value in (fixed | {**headers}).items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _send(connection: socket.socket, request: bytes, deadline: _Deadline) -> None:
    connection.settimeout(deadline.left())
    connection.sendall(request)


def _status(connection: socket.socket, deadline: _Deadline) -> int:
    answer: Any = _Answer(connection, deadline)
    with HTTPResponse(answer, method="POST") as response:
        response.begin()
        return response.status


def _first(addresses: Sequence[str], port: int, deadline: _Deadline) -> socket.socket:
    """A connection to the first that takes one. A dead address does not use up the time of the others."""
    first, *others = addresses
    try:
        return socket.create_connection((first, port), timeout=deadline.left() / len(addresses))
    except OSError:
        if not others:
            raise
    return _first(others, port, deadline)


def _within(seconds: float, ask: Callable[[], Sequence[str]]) -> Sequence[str]:
    """What `ask` answers; the resolver of the system has no timeout that one could set."""
    answer: Future[Sequence[str]] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except (OSError, UnicodeError) as error:
            answer.set_exception(error)

    Thread(target=run, name="asyncjobs-resolver", daemon=True).start()
    return answer.result(seconds)
