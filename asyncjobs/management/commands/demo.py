"""The demo site in one command: a Valkey server of its own, a login, the site, a worker, and jobs without end."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from django.utils.module_loading import import_string

from asyncjobs.current import get_engine
from asyncjobs.domain.job import JobStatus
from asyncjobs.embedded import EmbeddedValkeyMissing, embedded_valkey, free_port
from asyncjobs.errors import AsyncJobsError
from asyncjobs.processes import STOP_SECONDS, CommandProcess, end_all, site_environment
from asyncjobs.stores.base import Query

REDIS_URL: Final = "ASYNCJOBS_DEMO_REDIS_URL"
LOOK_SECONDS: Final = 0.2
ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORKER: Final = ("runjobworker", "--name=demo", "--processes=2", "--threads=4", "--grace=3", "--no-reload")


class Command(BaseCommand):
    help = (
        "Starts the demo site: a Valkey server of its own, a login, the site, a worker, and sample jobs without end."
        " Ctrl-C stops all of it. Exit codes: 0 ended as asked, 1 a part of it ended by itself, or no job was run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="where to serve the site; 8000 by default")
        parser.add_argument("--once", action="store_true", help="submit the samples, run and list them, then stop")
        parser.add_argument("--server-of", type=int, metavar="PID", help=SUPPRESS)

    def handle(self, *, port: int, once: bool, server_of: int | None, **options: Any) -> None:
        if getattr(settings, "ASYNCJOBS_DEMO", None) is None:
            raise CommandError("This site is no demo: the setting ASYNCJOBS_DEMO names no function that submits jobs.")
        if server_of is None:
            sys.exit(self._run_beside_a_server(f"--port={port}", *["--once"] * once))
        try:
            with _signals_end_it():
                call_command("migrate", verbosity=0)
                self._run_once() if once else self._run(self._free_or_another(port), server_of)
        except AsyncJobsError as error:
            raise CommandError(error.message) from error

    def _run_beside_a_server(self, *flags: str) -> int:
        """Runs this command again where the settings see the server, and answers with its exit code."""
        for ending in ENDINGS:
            signal.signal(ending, signal.default_int_handler)
        given = os.environ.get(REDIS_URL)
        try:
            with nullcontext(given) if given else embedded_valkey() as url:
                if not given:
                    self.stdout.write(f"Valkey listens on {url} until this ends.")
                return _run_to_its_end("demo", f"--server-of={os.getpid()}", *flags, url=url)
        except EmbeddedValkeyMissing as missing:
            raise CommandError(missing.message) from missing
        except KeyboardInterrupt:
            return 0

    def _run_once(self) -> None:
        since = get_engine().store.now()
        self._submit()
        with _beside((*WORKER, "--burst")) as [worker]:
            if worker.wait():
                raise _ended(worker)
        for verb in ("list", "counts"):
            self.stdout.write(self.style.MIGRATE_HEADING(f"\nmanage.py jobs {verb}"))
            call_command("jobs", verb)
        for status in (JobStatus.COMPLETED, JobStatus.FAILED):
            _require_one(status, since)

    def _run(self, port: int, parent: int) -> None:
        self._tell(port)
        self._submit()
        os.environ["DJANGO_RUNSERVER_HIDE_WARNING"] = "true"  # it is meant for this machine alone
        with _beside(WORKER, ("runserver", f"127.0.0.1:{port}", "--noreload")) as parts:
            _go_on(parts, parent)

    def _submit(self) -> None:
        self.stdout.write(f"Submitted {import_string(settings.ASYNCJOBS_DEMO)()} jobs.\n")
        self.stdout.flush()

    def _tell(self, port: int) -> None:
        """What to look at, and how. Two demos may share a database: each has a user of its own."""
        site, server, user = f"http://127.0.0.1:{port}", os.environ[REDIS_URL], f"demo-{port}"
        password = _new_password(user)
        lines = {
            "Site": f"{site}/",
            "Login": f"{user} / {password}",
            "API": f"curl -u '{user}:{password}' {site}{reverse('asyncjobs-api:jobs')}",
            "Other terminals": f"export {REDIS_URL}={server}",
            "Look at": "manage.py jobs list --status failed, jobs show ID, jobs counts",
            "Ctrl-C": "stops all of it",
        }
        self.stdout.write("")
        for what, line in lines.items():
            self.stdout.write(f"{what:<17}{line}")
        self.stdout.write("")

    def _free_or_another(self, port: int) -> int:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                another = free_port()
                self.stdout.write(f"Port {port} is taken: the site is on {another}.")
                return another
        return port


def _run_to_its_end(*arguments: str, url: str | None) -> int:
    """Its exit code; Ctrl-C is handed on to it, once, and is no failure."""
    demo = CommandProcess(*arguments, environment={**site_environment(), REDIS_URL: url or ""})
    try:
        return demo.wait()
    except KeyboardInterrupt:
        _ignore_signals()
        demo.end(within=2 * STOP_SECONDS)
        return 0


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Any of them ends the block, without a word."""
    for ending in ENDINGS:
        signal.signal(ending, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        yield


def _ignore_signals() -> None:
    """The end has begun: an impatient second Ctrl-C is not to leave half of it behind."""
    for ending in ENDINGS:
        signal.signal(ending, signal.SIG_IGN)


@contextmanager
def _beside(*commands: Sequence[str]) -> Iterator[list[CommandProcess]]:
    """These commands run while the block does."""
    environment = {**site_environment(), "PYTHONUNBUFFERED": "1"}
    parts: list[CommandProcess] = []
    try:
        for command in commands:
            stdout = subprocess.DEVNULL if command[0] == "runserver" else None  # all of which has been said already
            parts.append(CommandProcess(*command, environment=environment, stdout=stdout))
        yield parts
    finally:
        _ignore_signals()
        end_all(parts)


def _go_on(parts: Sequence[CommandProcess], parent: int) -> None:
    """Submits job after job while the parts run, until a signal says otherwise, or whoever started this is gone."""
    turn, next_at = count(), time.monotonic()
    while os.getppid() == parent:
        for part in parts:
            if part.exit_code is not None:
                raise _ended(part)
        if time.monotonic() >= next_at:
            next_at = time.monotonic() + _submit_next(next(turn))
        time.sleep(LOOK_SECONDS)


def _submit_next(turn: int) -> float:
    """Answers in how many seconds to come again."""
    name = getattr(settings, "ASYNCJOBS_DEMO_NEXT", None)
    return float(import_string(name)(turn)) if name else float("inf")


def _ended(part: CommandProcess) -> CommandError:
    return CommandError(f"{part.name} ended by itself, with exit code {part.exit_code}.")


def _require_one(status: JobStatus, since: int) -> None:
    newest = get_engine().find(Query(status=status, created_from=since)).jobs
    if not newest:
        raise CommandError(f"None of the jobs is {status.name}.")


def _new_password(username: str) -> str:
    """For this user of the site, new at each start."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": True}
    )
    user.set_password(password)
    user.save()
    return password
