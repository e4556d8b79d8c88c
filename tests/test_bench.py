"""The benchmarks run. What they measure is for people to read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import buckets
from tests.bench.layouts import LAYOUTS
from tests.servers import postgres_settings

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_every_layout_of_delayed_jobs_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    buckets.main(["--jobs", "1000", "--burst", "500"])
    head, *rows = capsys.readouterr().out.splitlines()
    assert all(layout.name in head for layout in LAYOUTS)
    assert [row.split(",")[0] for row in rows] == [
        "insert",
        "memory",
        "remove one",
        "next 50",
        "insert",
        "promote these",
        "slowest call of that",
        "remove one of these",
        "next 50 of these",
    ]


WORKER = ["drain, one child", "drain, two children"]
SLOW = ["10 ms handlers on 8 threads", "200 async handlers of 100 ms"]
LATENCY = ["pick-up latency, p50", "pick-up latency, p99"]
BESIDE = ["drain, one child, beside 10,000 delayed jobs"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "figures"),
    [
        ("valkey", [*WORKER, *SLOW, *LATENCY, *BESIDE]),
        ("postgres", [*WORKER, *LATENCY, *BESIDE]),
        ("sqlite", WORKER[:1]),
    ],
)
def test_workers_are_measured_on_every_store(store: str, figures: list[str]) -> None:
    if store == "postgres":
        postgres_settings()  # or the test is skipped
    command = [sys.executable, "-m", "tests.bench", f"--stores={store}", "--jobs=200", "--stored=", "--json"]
    flags = ["--delayed=10000"] if store != "sqlite" else []
    bench = subprocess.run([*command, *flags], cwd=ROOT, capture_output=True, text=True, check=False)
    assert bench.returncode == 0, bench.stderr
    documents = [json.loads(line) for line in bench.stdout.splitlines()]
    assert [figure["name"] for figure in documents if figure["section"] == "worker"] == figures
    assert all(figure["value"] > 0 for figure in documents)


@pytest.mark.slow
def test_the_api_is_measured_beside_an_empty_view() -> None:
    command = [sys.executable, "-m", "tests.bench", "--api", "--stores=valkey", "--jobs=200", "--json"]
    bench = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert bench.returncode == 0, bench.stderr
    figures = {figure["name"]: figure for figure in map(json.loads, bench.stdout.splitlines())}
    assert {name for name in figures if "p50 above" in name} == {
        "submit, p50 above that",
        "submit with a key, p50 above that",
        "poll, p50 above that",
        "poll, 304, p50 above that",
    }
    assert figures["batches of 1,000"]["value"] > 0


@pytest.mark.slow
def test_every_page_of_the_dashboard_is_measured() -> None:
    command = [sys.executable, "-m", "tests.bench.dashboard", "--stores=valkey", "--jobs=500", "--turns=6", "--json"]
    bench = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert bench.returncode == 0, bench.stderr
    documents = [json.loads(line) for line in bench.stdout.splitlines()]
    pages = {figure["name"] for figure in documents if figure.get("p95", 0) > 0}
    assert {"overview", "jobs, status failed, deep", "job, failed", "delayed", "queue", "workers"} <= pages
    assert {name for name in pages if name.endswith("poll")} >= {"overview, poll", "jobs, poll", "workers, poll"}
    others = {figure["name"] for figure in documents if "section" in figure}
    assert {"htmx-2.min.js", "retry of all dead jobs"} <= others
