"""Management commands of this site in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from django.conf import settings

STOP_SECONDS: Final = 8.0  # more than the grace these commands are given


def site_environment() -> dict[str, str]:
    """What another process needs to be the same site."""
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE or "", "PYTHONPATH": path}


class CommandProcess:
    """A command that runs beside this process. The terminal's signals do not reach it: whoever started it ends it."""

    def __init__(
        self, *arguments: str, environment: Mapping[str, str] | None = None, stdout: Any = None, stderr: Any = None
    ) -> None:
        self.name = arguments[0]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "django", *arguments],
            env=dict(environment or site_environment()),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
        )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def wait(self) -> int:
        return self._process.wait()

    def ask_to_end(self) -> None:
        self._process.terminate()

    def end(self, *, within: float = STOP_SECONDS) -> None:
        """Asks it to end, and kills it with all it started when it does not."""
        self.ask_to_end()
        try:
            self._process.wait(max(0.0, within))
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def end_all(processes: Sequence[CommandProcess]) -> None:
    """Ends all of them at the same time."""
    end = time.monotonic() + STOP_SECONDS
    for process in processes:
        process.ask_to_end()
    for process in processes:
        process.end(within=end - time.monotonic())
