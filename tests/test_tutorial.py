"""Whoever types what the tutorial says gets what it says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "docs/tutorial/first-job.md"
NOT_TYPED = ("python -m venv", "pip install")  # the tests have an environment already
AT_THE_END = ", at the end"


def steps() -> Iterator[tuple[str, str]]:
    """The blocks of the tutorial, each with its language."""
    yield from re.findall(r"^```(python|console)\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)


class Reader:
    """Follows the tutorial in an empty directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        self.shown: dict[str, str] = {}

    def save(self, block: str) -> None:
        """A python block starts with the name of its file."""
        name = block.splitlines()[0].removeprefix("# ")
        mode = "a" if name.endswith(AT_THE_END) else "w"
        with (self.directory / name.removesuffix(AT_THE_END)).open(mode) as file:
            file.write(block)

    def type(self, line: str) -> None:
        command, _, remark = line.removeprefix("$ ").partition("  # ")
        done = subprocess.run(
            command, shell=True, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=False
        )
        assert bool(done.returncode) == (remark == "fails"), f"{command}\n{done.stdout}{done.stderr}"
        self.shown[command] = done.stdout + done.stderr


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command of the tutorial shows."""
    reader = Reader(tmp_path_factory.mktemp("tutorial"))
    for language, block in steps():
        if language == "python":
            reader.save(block)
            continue
        for line in block.splitlines():
            if not line.removeprefix("$ ").startswith(NOT_TYPED):
                reader.type(line)
    return reader.shown


@pytest.mark.slow
def test_the_tutorial_can_be_followed_to_the_end(shown: dict[str, str]) -> None:
    assert shown["python manage.py shell < submit.py"].split()[-2:] == ["QUEUED", "SCHEDULED"]
    assert "handlers  shop.jobs.send_receipt" in shown["python manage.py runjobworker --burst"]
    assert shown["python manage.py shell < result.py"].splitlines()[-1] == "receipt for order 1 over 9.90"
    assert "COMPLETED" in shown["python manage.py jobs list --status completed"]
    assert "All jobs and indexes agree." in shown["python manage.py jobs check"]
    assert [command for command, output in shown.items() if "WARNINGS:" in output] == []


@pytest.mark.slow
def test_the_tutorial_shows_wrong_arguments_as_an_error(shown: dict[str, str]) -> None:
    (wrong,) = (output for command, output in shown.items() if "totl" in command)
    assert "INVALID_ARGUMENTS" in wrong
