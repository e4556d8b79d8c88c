"""Leaves out what passed in an earlier run: a plugin for CI, whose steps overlap.

`pytest -p tests.again --passed=FILE` adds the tests that pass to the file; with `--but-those` it leaves out those that
are in it already. Tests that look for counterexamples by chance, or for longer in CI, are never left out.
"""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("again", "what passed before")
    group.addoption("--passed", type=Path, metavar="FILE", help="where the tests that pass are noted")
    group.addoption("--but-those", action="store_true", help="leave out the tests that are noted there")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.passed and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes(config.option.passed))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.option.but_those:
        return
    noted = set(config.option.passed.read_text().splitlines())
    left_out = [item for item in items if item.nodeid in noted and not _is_a_search(item)]
    items[:] = [item for item in items if item not in set(left_out)]
    config.hook.pytest_deselected(items=left_out)


def _is_a_search(item: pytest.Item) -> bool:
    return item.get_closest_marker("hypothesis") is not None or "effort" in getattr(item, "fixturenames", ())


class Notes:
    """Gathers what passes, and writes it down at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._passed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        with self._file.open("a") as file:
            file.writelines(f"{nodeid}\n" for nodeid in self._passed)
