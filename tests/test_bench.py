"""The benchmarks run. What they measure is for people to read."""

import pytest

from tests.bench import buckets
from tests.bench.layouts import LAYOUTS


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
