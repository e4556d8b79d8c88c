"""The documentation says what the code does, and its links lead somewhere."""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import DEFAULTS, FIELDS, INDEX, Job, JobError, JobStatus
from asyncjobs.errors import InvalidTransition
from asyncjobs.stores.base import Store
from asyncjobs.stores.redis import codec, keys

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]

Arrow = tuple[str, str]


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the page's table whose first column has this head, the head among them, without backquotes."""
    blocks = (DOCS / page).read_text().replace("`", "").split("\n\n")
    (block,) = (block for block in blocks if block.lstrip().startswith(f"| {head} |"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.strip().splitlines()]
    return [row for row in rows if set(row[0]) != {"-"}]


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    """The files this page links to, each with the anchor in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            yield (page.parent / path).resolve() if path else page, anchor


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in links_of(page):
        assert target.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors_of(target), f"{page.name} links to #{anchor} of {target.name}"


def test_every_page_is_linked_from_the_index() -> None:
    linked = {target for target, _ in links_of(DOCS / "index.md")}
    assert set(DOCS.rglob("*.md")) - linked == {DOCS / "index.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_example_is_python(page: Path) -> None:
    for example in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        ast.parse(example)


VERBS: dict[str, list[Callable[[Job], Job]]] = {
    "start": [lambda job: transitions.start(job, worker="w", until=9, now=5)],
    "complete": [lambda job: transitions.complete(job, None, now=5)],
    "fail": [
        lambda job: transitions.fail(job, JobError(code="E", message=""), delay=1, now=5),
        lambda job: transitions.fail(job, JobError(code="E", message=""), delay=None, now=5),
    ],
    "release": [lambda job: transitions.release(job, now=5)],
    "snooze": [lambda job: transitions.snooze(job, 9, now=5)],
    "rescue": [lambda job: transitions.rescue(job, now=5)],
    "crash": [lambda job: transitions.crash(job, now=5)],
    "cancel": [lambda job: transitions.cancel(job, now=5)],
    "retry": [lambda job: transitions.retry(job, now=5), lambda job: transitions.retry(job, now=5, hold=5)],
    "promote": [lambda job: transitions.promote(job, now=5)],
    "run_now": [lambda job: transitions.run_now(job, now=5)],
    "reschedule": [lambda job: transitions.reschedule(job, 9, now=5)],
    "ready": [lambda job: transitions.ready(job, now=5)],
}
NOTES = {"request_cancel", "report"}
BACK = "undo"  # along any arrow


def jobs() -> Iterator[Job]:
    """A job in every status, with no, some and all of its budgets spent, asked to cancel or not."""
    for status, spent, asked in product(JobStatus, (0, 2, 4), (None, 3)):
        budgets: dict[str, Any] = {"retry_count": spent, "crashes": spent, "lapses": spent, "cancel_requested": asked}
        yield Job(id="1", name="n", status=status, due_at=4, **budgets)


def arrows_of_the_code() -> dict[Arrow, set[str]]:
    arrows = defaultdict(set)
    for job, (name, calls) in product(list(jobs()), VERBS.items()):
        for call in calls:
            try:
                arrows[job.status.name, call(job).status.name].add(name)
            except InvalidTransition:
                continue
    return dict(arrows)


def test_the_state_chart_is_the_state_machine() -> None:
    chart = (DOCS / "explanation/state-machine.md").read_text()
    drawn = re.findall(r"^    ([A-Z_]+) --> ([A-Z_]+): (.+)$", chart, re.MULTILINE)
    assert {(old, new): set(names.split(", ")) for old, new, names in drawn} == arrows_of_the_code()


def test_the_state_machine_page_explains_every_transition() -> None:
    explained = {name for row in table("explanation/state-machine.md", "transition") for name in row[0].split(", ")}
    public = {
        name
        for name, value in vars(transitions).items()
        if getattr(value, "__module__", "") == transitions.__name__ and not name.startswith("_")
    }
    assert public - NOTES - {BACK} == set(VERBS)
    assert {*VERBS, BACK} <= explained


def test_the_table_of_statuses_is_complete() -> None:
    said = {row[0]: row[1] for row in table("reference/jobs.md", "status")[1:]}
    assert said == {status.name: str(int(status)) for status in JobStatus}


def test_the_table_of_fields_names_each_field_as_the_hash_does() -> None:
    said = {row[0]: row[1] for row in table("reference/jobs.md", "field")[1:]}
    assert said == {name: codec.BY_ATTRIBUTE[name].name for name in FIELDS}


def test_the_table_of_fields_tells_the_defaults() -> None:
    words = {"none": (None, ()), "the handler's": (None,), '""': ("",)}
    for name, _, said, _ in table("reference/jobs.md", "field")[1:]:
        default = DEFAULTS[INDEX[name]]
        written = getattr(default, "name", str(default))
        assert default is MISSING or not said or said == written or default in words[said], name


def test_the_table_of_lanes_is_what_redis_does() -> None:
    ranges, lanes = table("reference/jobs.md", "priority")
    for bounds, lane in zip(ranges[1:], lanes[1:], strict=True):
        low, high = (int(bound.replace("−", "-")) for bound in bounds.split(" … "))
        assert {keys.lane(priority) for priority in range(low, high + 1)} == {int(lane)}


def test_the_store_page_names_every_method() -> None:
    named = {name for row in table("reference/store.md", "method") for name in re.findall(r"(\w+)\(", row[0])}
    assert named == {name for name in vars(Store) if not name.startswith("_") and callable(getattr(Store, name))}
