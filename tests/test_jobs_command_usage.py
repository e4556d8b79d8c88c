"""`manage.py jobs`: wrong usage, hostile text, and what a shell sees."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncjobs import Engine
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.management.commands.jobs import Command
from asyncjobs.management.printing import safe, span
from asyncjobs.stores.memory import MemoryStore
from tests.clock import Clock
from tests.commandline import jobs
from tests.scene import Scene


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene(MemoryStore(clock=clock), clock)


@pytest.fixture(autouse=True)
def engine(scene: Scene) -> Iterator[Engine]:
    engine = Engine(scene.store, Conf())
    before = exchange_engine(engine)
    yield engine
    exchange_engine(before)


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["nonsense"],
        ["show"],
        ["show", "nonsense"],
        ["list", "--status", "done"],
        ["list", "--limit", "0"],
        ["list", "--limit", "1001"],
        ["list", "--limit", "²"],
        ["list", "--after", "nonsense"],
        ["list", "--created-after", "yesterday"],
        ["list", "--created-after", "9999999d"],
        ["list", "--nonsense"],
        ["cancel"],
        ["cancel", "--all", "00000000-0000-4000-8000-000000000000"],
        ["retry", "--queue", "q", "00000000-0000-4000-8000-000000000000"],
        ["delete", "--limit", "5"],
        ["pause", "a b"],
        ["pause", "q", "--until", "nonsense"],
        ["purge", "*", "--yes"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told_apart(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        Command().run_from_argv(["manage.py", "jobs", *args, "--skip-checks"])
    shown = capsys.readouterr()
    assert exited.value.code == 2
    assert (shown.out, bool(shown.err)) == ("", True)


def test_a_verb_that_does_not_fit_the_status_is_one_line(scene: Scene) -> None:
    ran = jobs("cancel", "--status", "completed", "--yes")
    assert ran.code == 1
    assert ran.err == (
        "[WRONG_STATUS] this can be done to jobs that are WAITING, SCHEDULED, QUEUED, IN_PROGRESS, and not COMPLETED"
    )


def test_hostile_text_does_not_reach_the_terminal(scene: Scene) -> None:
    job = scene.add(name="\x1b[2J\u202eevil\u2066\x07", owner="\x9b31m", payload='"\x1b]0;x\x07"')
    for ran in (jobs("list"), jobs("show", job.id), jobs("list", "--json"), jobs("cancel", "\x1b[2J")):
        assert all(char.isprintable() or char == "\n" for char in ran.out + ran.err)
    assert "\\x1b[2J\\u202eevil\\u2066\\x07" in jobs("list").out
    assert safe("naïve ünïcode 漢字") == "naïve ünïcode 漢字"


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0ms"), (999, "999ms"), (1_000, "1s"), (60_000, "1m"), (7_200_000, "2h"), (10**9, "11d")]
)
def test_durations_are_short(ms: int, text: str) -> None:
    assert span(ms) == text


def test_the_shell_sees_exit_codes_and_one_line_errors(tmp_path: Path) -> None:
    settings = tmp_path / "scratch.py"
    settings.write_text(
        "from project.settings import *\nASYNCJOBS = {'STORE': 'memory'}\nASYNCJOBS_DEMO = None\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "DJANGO_SETTINGS_MODULE": "scratch",
        "PYTHONWARNINGS": "error",
    }

    def run(*args: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "django", "jobs", *args]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        return ran.returncode, ran.stderr

    assert run("list", "--settings", "scratch", "--no-color", "--traceback", "-v", "0") == (0, "")
    code, error = run("show", "00000000-0000-4000-8000-000000000000")
    assert code == 1
    assert error == "CommandError: [JOB_NOT_FOUND] there is no job 00000000-0000-4000-8000-000000000000\n"
    assert run("show", "nonsense")[0] == 2
    assert run("list", "--status", "done")[0] == 2
    assert run("purge", "default")[0] == 2
