"""What a browser fetches for the pages: one style sheet, which is all in use, and little beside it."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import asyncjobs
from asyncjobs.templatetags.asyncjobs import ICONS, PROCESSES
from tests.bench.dashboard.assets import LIMIT, assets

PACKAGE: Final = Path(asyncjobs.__file__).parent
STYLES: Final = PACKAGE / "static/asyncjobs/dashboard.css"
SCRIPT: Final = PACKAGE / "static/asyncjobs/dashboard.js"


def read(paths: Iterable[Path]) -> str:
    return "\n".join(path.read_text() for path in paths)


def markup() -> str:
    """All that makes parts of pages."""
    code = [*PACKAGE.glob("dashboard/**/*.py"), *PACKAGE.glob("templatetags/*.py")]
    return read([*PACKAGE.glob("templates/asyncjobs/**/*.html"), *code])


def styled() -> set[str]:
    """Classes that rules are about."""
    return set(re.findall(r"\.(aj[\w-]*)", re.sub(r"/\*.*?\*/", "", STYLES.read_text(), flags=re.DOTALL)))


def worn() -> set[str]:
    """Classes that elements have, some of them by their status, or when a script gives it to them."""
    given = " ".join(re.findall(r'class="([^"]*)"', markup()))
    bars = re.findall(r'\("(aj-[\w-]+)"', read([PACKAGE / "dashboard/svg.py"]))
    scripted = re.findall(r'classList\.\w+\("([\w-]+)"', SCRIPT.read_text())
    return {*re.findall(r"\baj[\w-]*+(?!{)", given), *bars, *scripted}


def composed(name: str) -> bool:
    """Whether the class begins as one does that ends in what it says: `aj-at-{{ kind }}`; or it is a status."""
    begun = tuple(set(re.findall(r"aj-[\w-]+-(?={)", markup())))
    statuses = {word for word, _ in ICONS.values()} | {color for _, _, color in PROCESSES.values()}
    return name.startswith(begun) or name.removeprefix("aj-") in statuses


def test_every_class_has_a_rule() -> None:
    assert worn() - styled() == set()


def test_every_rule_is_about_a_class_that_something_has() -> None:
    assert [name for name in styled() - worn() if not composed(name)] == []


def test_the_first_visit_costs_little() -> None:
    *files, together = assets()
    assert {Path(file.name).suffix for file in files} == {".css", ".js"}
    assert together.bytes <= LIMIT
