"""A receiver of webhooks on loopback, with a certificate of its own, and a sender that can reach it."""

import hmac
import json
import shutil
import ssl
import subprocess
import threading
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from asyncjobs.api.webhooks.sending import Sender
from tests.servers import missing

HOST = "hooks.example.com"
SECRET = b"a secret of the tests, and long"


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.body)
        return told

    @property
    def is_signed(self) -> bool:
        """As a receiver checks it."""
        content = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        signature = b64encode(hmac.digest(SECRET, content, "sha256")).decode()
        return f"v1,{signature}" in self.headers["webhook-signature"].split(" ")


Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    server: "Receiver"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(self.path, headers, body))
        (self.server.answers.popleft() if self.server.answers else status(200))(self)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests look at what was received."""


class Receiver(ThreadingHTTPServer):
    """Keeps what it receives, and gives these answers in turn, then 200."""

    daemon_threads = False  # so that closing it waits for them

    def __init__(self, certificate: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: list[Received] = []
        self.answers: deque[Answer] = deque()
        self.filled = 0  # bytes of a large body that found their way
        self.is_over = threading.Event()
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def authority(self) -> str:
        return f"{HOST}:{self.server_port}"

    @property
    def url(self) -> str:
        return f"https://{self.authority}/told?token=canary"

    @property
    def settings(self) -> dict[str, Any]:
        """What ASYNCJOBS has to say so that webhooks may go here."""
        secret = f"whsec_{b64encode(SECRET).decode()}"
        return {"API": {"WEBHOOKS": {"HOSTS": [self.authority], "SECRETS": [secret]}}}

    def close(self) -> None:
        """Returns when all requests have ended."""
        self.is_over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that hangs up is what many tests want to see."""


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in ({"Content-Length": "0"} | headers).items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


def drip(handler: Handler) -> None:
    """A header that never ends, byte by byte, each of them in time."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(500):
        handler.server.is_over.wait(0.02)
        handler.wfile.write(b"x")


def flood(handler: Handler) -> None:
    """More headers than anybody wants."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(90):
        handler.wfile.write(b"X: " + b"x" * 30_000 + b"\r\n")
    handler.wfile.write(b"\r\n")


def fill(handler: Handler) -> None:
    """A body larger than anybody wants."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(1_000):
        handler.server.filled += handler.wfile.write(b"x" * 65_536)


def babble(handler: Handler) -> None:
    """No HTTP."""
    handler.wfile.write(b"SSH-2.0 canary\r\n\r\n")


def silence(handler: Handler) -> None:
    handler.server.is_over.wait(20)


@contextmanager
def receiving(certificate: Path) -> Iterator[Receiver]:
    receiver = Receiver(certificate)
    thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.close()
        thread.join()


def make_certificate(directory: Path, *names: str) -> Path:
    """One that is its own authority, for these names; its key is beside it."""
    openssl = shutil.which("openssl") or missing("no openssl on PATH")
    path = directory / f"{names[0]}.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", f"/CN={names[0]}", "-addext", f"subjectAltName={','.join(f'DNS:{name}' for name in names)}"]
    command += ["-out", str(path), "-keyout", str(path.with_suffix(".key"))]
    subprocess.run(command, check=True, capture_output=True)
    return path


@cache
def trusting(certificate: Path) -> ssl.SSLContext:
    """The usual checks, with this authority alone."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.load_verify_locations(certificate)
    return tls


def sender_to_loopback(certificate: Path, *, timeout: float = 5) -> Sender:
    """Finds every host here, and does not mind."""
    return Sender(
        timeout=timeout,
        resolve=lambda host, port: ["127.0.0.1"],
        is_public=lambda address: address == "127.0.0.1",
        tls=trusting(certificate),
    )
