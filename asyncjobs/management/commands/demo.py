"""The demo site in one command: a Valkey server of its own, a login, sample jobs, and the site."""

import os
import secrets
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from asyncjobs.embedded import EmbeddedValkeyMissing, embedded_valkey, free_port

REDIS_URL: Final = "ASYNCJOBS_DEMO_REDIS_URL"
USERNAME: Final = "demo"


class Command(BaseCommand):
    help = "Starts the demo site with its own Valkey server, a login and sample jobs. Ctrl-C stops all of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="where to serve the site; 8000 by default")
        parser.add_argument("--once", action="store_true", help="submit and list the jobs, then stop")

    def handle(self, *, port: int, once: bool, **options: Any) -> None:
        submit_samples = getattr(settings, "ASYNCJOBS_DEMO", None)
        if submit_samples is None:
            raise CommandError("This site is no demo: the setting ASYNCJOBS_DEMO names no function that submits jobs.")
        if REDIS_URL not in os.environ:
            sys.exit(self._run_beside_a_server(f"--port={port}", *["--once"] * once))
        call_command("migrate", verbosity=0)
        self._submit(import_string(submit_samples))
        if not once:
            self._serve(self._free_or_another(port))

    def _run_beside_a_server(self, *flags: str) -> int:
        """Runs this command again where the settings see the server, and answers with its exit code."""
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.default_int_handler)
        try:
            with embedded_valkey() as url:
                self.stdout.write(f"Valkey listens on {url} until this ends.")
                return _run_to_its_end([sys.executable, "-m", "django", "demo", *flags], _environment(url))
        except EmbeddedValkeyMissing as missing:
            raise CommandError(missing.message) from missing

    def _submit(self, submit_samples: Any) -> None:
        self.stdout.write(f"Submitted {submit_samples()} jobs.\n")
        for verb in ("list", "counts"):
            self.stdout.write(self.style.MIGRATE_HEADING(f"manage.py jobs {verb}"))
            call_command("jobs", verb)
            self.stdout.write("")
        self.stdout.write("They stay where they are: this version has no worker yet.\n")

    def _serve(self, port: int) -> None:
        site = f"http://127.0.0.1:{port}/"
        self.stdout.write(f"Site             {site}\nLogin            {USERNAME} / {_new_login()}")
        self.stdout.write(f"Other terminals  export {REDIS_URL}={os.environ[REDIS_URL]}\nCtrl-C stops all of it.\n")
        os.environ["DJANGO_RUNSERVER_HIDE_WARNING"] = "true"  # it is meant for this machine alone
        call_command("runserver", f"127.0.0.1:{port}", use_reloader=False, verbosity=0)

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


def _environment(url: str) -> dict[str, str]:
    site = {"DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return {**os.environ, **site, REDIS_URL: url}


def _run_to_its_end(command: list[str], environment: dict[str, str]) -> int:
    """Its exit code; Ctrl-C is handed on to it, once, and is no failure."""
    child = subprocess.Popen(command, env=environment, process_group=0)
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        return 0


def _new_login() -> str:
    """A password for the one user of the site, new at each start."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(
        username=USERNAME, defaults={"is_staff": True, "is_superuser": True}
    )
    user.set_password(password)
    user.save()
    return password
