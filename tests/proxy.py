"""A TCP proxy that is slow, or loses replies or everything, on request."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

CHUNK = 65_536


class Proxy:
    """Passes bytes between its port and a server's, until told otherwise."""

    def __init__(self, server_port: int) -> None:
        self._server = ("127.0.0.1", server_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._links: list[_Link] = []
        self._lock = threading.Lock()
        self._to_lose: list[bytes] = []
        self.black_hole = False
        self.seconds = 0.0  # that a request is under way
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    @property
    def lost_all(self) -> bool:
        """Whether every reply that was to be lost is lost."""
        return not self._to_lose

    def lose_reply(self, *matching: bytes) -> None:
        """Forwards the next request that contains these bytes, waits for its reply and cuts the connection instead;
        then the next for the second, and so on."""
        with self._lock:
            self._to_lose = list(matching)

    def is_to_lose(self, request: bytes) -> bool:
        with self._lock:
            lose = bool(self._to_lose) and self._to_lose[0] in request
            if lose:
                del self._to_lose[0]
            return lose

    def close(self) -> None:
        _cut(self._listener)
        self._accepting.join()
        for link in self._links:
            link.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._server)
        except OSError:
            _cut(client)
        else:
            self._links.append(_Link(self, client, server))


class _Link:
    """One client's connection and the one to the server behind it."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._doomed = False
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._threads = [
            threading.Thread(target=self._pump, args=(client, self._request)),
            threading.Thread(target=self._pump, args=(server, self._reply)),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._cut_both()
        for thread in self._threads:
            thread.join()

    def _pump(self, source: socket.socket, pass_on: Callable[[bytes], None]) -> None:
        try:
            while data := source.recv(CHUNK):
                pass_on(data)
        except OSError:
            pass
        finally:
            self._cut_both()

    def _request(self, data: bytes) -> None:
        if self._proxy.black_hole:
            return
        time.sleep(self._proxy.seconds)
        self._doomed = self._doomed or self._proxy.is_to_lose(data)
        self._server.sendall(data)

    def _reply(self, data: bytes) -> None:
        if self._doomed:
            self._cut_both()
        elif not self._proxy.black_hole:
            self._client.sendall(data)

    def _cut_both(self) -> None:
        _cut(self._client)
        _cut(self._server)


def _cut(end: socket.socket) -> None:
    """Ends the connection for the other side at once, too: a plain close would wait for the thread that reads."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def proxy_to(server_port: int) -> Iterator[Proxy]:
    proxy = Proxy(server_port)
    try:
        yield proxy
    finally:
        proxy.close()
