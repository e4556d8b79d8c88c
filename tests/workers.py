"""Workers in processes of their own, on a store of the test's, and what their handlers did."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0


class Effect(NamedTuple):
    """What one run of a handler did, and when."""

    job_id: str
    fence: int
    attempt: int
    pid: int
    at: float
    word: str


def until(happens: Callable[[], Any], *, seconds: float = PATIENCE, every: float = 0.005) -> Any:
    """What `happens` answers, as soon as it is something."""
    end = time.monotonic() + seconds
    while not (answer := happens()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(every)
    return answer


class SiteProcess:
    """A process of a site. What it says is in a file."""

    def __init__(self, site: "Site", kind: str, *command: str) -> None:
        self.output = site.directory / f"{kind}-{len(site.processes)}.log"
        self._stream = self.output.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=site.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._stream,
            stderr=self._stream,
            start_new_session=True,
        )
        self.pid = self.process.pid
        site.processes.append(self)

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def children(self) -> list[int]:
        """The process ids of its children."""
        listing = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(pid) for pid in listing.read_text().split()] if listing.exists() else []

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        return self.process.wait(seconds)

    def stop(self) -> int:
        """Ends it as an operator would, and answers its exit code."""
        self.send(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """Ends it and its children as a machine does that loses power: the parent sees nobody die."""
        for pid in [self.pid, *self.children()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self._stream.close()


class Worker(SiteProcess):
    """`manage.py runjobworker` in a process of its own."""

    def __init__(self, site: "Site", *flags: str) -> None:
        super().__init__(site, "worker", "django", "runjobworker", "--no-reload", *flags)


class Site:
    """A site with workers: where its jobs are, and what its handlers did."""

    def __init__(
        self,
        directory: Path,
        *,
        redis: str = "",
        database: dict[str, Any] | None = None,
        settings: Any = None,
        module: str = "tests.worker.site",
    ) -> None:
        self.directory = directory
        self.processes: list[SiteProcess] = []
        self.effects_file = directory / "effects"
        self.effects_file.touch()
        database = database or {"ENGINE": "django.db.backends.sqlite3", "NAME": str(directory / "site.sqlite3")}
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": module,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "WORKER_TEST_REDIS": redis,
            "WORKER_TEST_DATABASE": json.dumps(database, default=str),
            "WORKER_TEST_SETTINGS": json.dumps(settings or {}),
            "WORKER_TEST_EFFECTS": str(self.effects_file),
        }

    def use_database(self, database: dict[str, Any]) -> None:
        """For workers started from now on."""
        self.environment["WORKER_TEST_DATABASE"] = json.dumps(database, default=str)

    def start(self, *flags: str) -> Worker:
        return Worker(self, *flags)

    def effects(self, word: str = "") -> list[Effect]:
        """All effects so far, or those of this word."""
        lines = [line.split(" ", 5) for line in self.effects_file.read_text().splitlines()]
        effects = [Effect(one[0], int(one[1]), int(one[2]), int(one[3]), float(one[4]), one[5]) for one in lines]
        return [effect for effect in effects if word in ("", effect.word)]

    def close(self) -> None:
        for process in self.processes:
            process.close()


@contextmanager
def site(directory: Path, **options: Any) -> Iterator[Site]:
    made = Site(directory, **options)
    try:
        yield made
    finally:
        made.close()
