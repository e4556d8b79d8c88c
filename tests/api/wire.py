"""Requests as a server hands them to Django: any bytes, through the real middleware, without good manners."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, NamedTuple

from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.urls import Resolver404, resolve
from rest_framework.test import force_authenticate

URL = "/api/jobs/"
ANN = User(pk=1001, username="ann")  # in no database: none is asked
BOB = User(pk=1002, username="bob")
BOSS = User(pk=1003, username="boss", is_staff=True, is_superuser=True)

_USER = "tests.user"


class Sent(NamedTuple):
    """What goes over the wire. A header of `None` is left out, also one that would be there otherwise."""

    method: str = "GET"
    path: str = URL  # as it is after percent signs are read
    query: str = ""
    headers: Mapping[str, str | None] = {}
    body: bytes = b""
    user: User | None = None  # who is known to send it
    stream: IO[bytes] | None = None  # where the body comes from, if not from there

    def environ(self) -> dict[str, Any]:
        headers = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(self.body))}
        given = {name: value for name, value in {**headers, **self.headers}.items() if value is not None}
        return {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": self.path.encode().decode("latin-1"),
            "QUERY_STRING": self.query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": self.stream or io.BytesIO(self.body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            _USER: self.user,
            **{_variable(name): value for name, value in given.items()},
        }

    @property
    def is_ours(self) -> bool:
        """Whether it is the API, or an asynchronous endpoint, that answers, and not the site or Django itself."""
        try:
            match = resolve(self.path)
        except Resolver404:
            return False
        endpoint = getattr(getattr(match.func, "cls", None), "_endpoint", None)
        return match.namespace == "asyncjobs-api" or (endpoint is not None and self.method in endpoint.methods)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Handler(WSGIHandler):
    """Django's own, which knows of some who they are."""

    def get_response(self, request: Any) -> Any:
        if request.environ[_USER] is not None:
            force_authenticate(request, request.environ[_USER])
        return super().get_response(request)


class Server:
    """What answers requests."""

    def __init__(self) -> None:
        self._handler = Handler()

    def send(self, sent: Sent) -> Answer:
        begun: list[Any] = []
        response = self._handler(sent.environ(), partial(_begin, begun))
        body = b"".join(response)
        response.close()
        [(status, headers)] = begun
        return Answer(int(status[:3]), dict(headers), body)


@contextmanager
def serving() -> Iterator[Server]:
    """A server that leaves the connection alone on which the test has its transaction."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield Server()
    finally:
        for signal in signals:
            signal.connect(close_old_connections)


def _begin(begun: list[Any], status: str, headers: list[Any], error: Any = None) -> Any:
    begun.append((status, headers))


def _variable(name: str) -> str:
    name = name.upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"
