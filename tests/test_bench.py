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
