"""A site that is served by real servers and has a worker, and clients of it."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from asyncjobs.engine import Engine
from tests.servers import free_port
from tests.workers import Site, SiteProcess, until

USER, PASSWORD = "ann", "secret"
PATH = "/api/jobs/"
SECONDS = 30.0  # of patience with an answer


class WebServer(SiteProcess):
    """A server of the site on loopback."""

    def __init__(self, site: Site, kind: str, port: int, *command: str) -> None:
        super().__init__(site, kind, *command)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def wait_until_it_listens(self) -> None:
        until(lambda: self._is_alive() and self._listens())

    def kill(self) -> None:
        """Returns when nothing listens any more: its child may take a moment longer to die."""
        super().kill()
        until(lambda: not self._listens())

    def _is_alive(self) -> bool:
        assert self.process.poll() is None, self.said()
        return True

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def gunicorn(site: Site, *, port: int = 0, threads: int = 16) -> WebServer:
    """One process that serves WSGI with threads."""
    port = port or free_port()
    flags = [
        "--workers=1",
        "--worker-class=gthread",
        f"--threads={threads}",
        "--no-control-socket",
        "--log-level=warning",
    ]
    where = ["--bind", f"127.0.0.1:{port}", "--worker-tmp-dir", str(site.directory)]
    return WebServer(site, "gunicorn", port, "gunicorn", *where, *flags, "django.core.wsgi:get_wsgi_application()")


def uvicorn(site: Site, *, port: int = 0) -> WebServer:
    """One process that serves ASGI on an event loop."""
    port = port or free_port()
    flags = ["--factory", "--lifespan=off", "--log-level=warning", "--no-access-log"]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    return WebServer(site, "uvicorn", port, "uvicorn", *where, *flags, "django.core.asgi:get_asgi_application")


class Gate:
    """A file by whose length a test lets handlers go on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    @property
    def is_reached(self) -> bool:
        return Path(f"{self}-reached").exists()

    def open(self, steps: int = 1) -> None:
        with self._path.open("ab") as file:
            file.write(b"." * steps)


class Served:
    """The site on one kind of store, with a worker, served by both sorts of servers."""

    def __init__(self, site: Site, engine: Engine) -> None:
        self.site = site
        self.engine = engine
        site.start("--processes=1", "--threads=16")
        self.servers = {"wsgi": gunicorn(site), "asgi": uvicorn(site)}
        for server in self.servers.values():
            server.wait_until_it_listens()
        self._gates = 0

    def url(self, server: str) -> str:
        return self.servers[server].url

    def gate(self) -> Gate:
        self._gates += 1
        return Gate(self.site.directory / f"gate-{self._gates}")


class Api(httpx.Client):
    """A client of the API on one server, as a user with a password."""

    def __init__(self, url: str, **options: Any) -> None:
        options = {"auth": (USER, PASSWORD), "timeout": SECONDS, "trust_env": False, **options}
        super().__init__(base_url=f"{url}{PATH}", **options)
        self.site = url

    def submit(self, name: str, *, key: str = "", **kwargs: Any) -> httpx.Response:
        """With a key, it is the tag of the job, too."""
        headers = {"Idempotency-Key": key} if key else {}
        return self.post("", json={"name": name, "kwargs": kwargs, "tags": list(headers.values())}, headers=headers)

    def tagged(self, tag: str) -> list[dict[str, Any]]:
        """The jobs with this tag."""
        return self.get("", params={"tag": tag}).json()["jobs"]

    def accepted(self, name: str, **kwargs: Any) -> str:
        """The address of a job that was accepted."""
        answer = self.submit(name, **kwargs)
        assert answer.status_code == 202, answer.text
        return answer.headers["Location"]

    def ended(self, address: str) -> dict[str, Any]:
        """The job, when it is finished."""
        return until(lambda: body if (body := self.get(address).json())["done"] else None, every=0.02)


class Event(NamedTuple):
    id: str
    kind: str
    data: str


def events_of(response: httpx.Response) -> Iterator[Event]:
    """The events of a stream, as the standard has them read."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield Event(fields.get("id", ""), fields.get("event", "message"), fields["data"])
            fields = {}
