"""What the benchmark makes of what it sees."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings

from asyncjobs.benchmark import steady_rate


def test_the_rate_is_that_between_the_first_and_the_last_tenth() -> None:
    looks = [(0.0, 0), (3.0, 0), (3.1, 10), (3.5, 50), (3.9, 90), (9.0, 100)]
    assert steady_rate(looks, 100) == pytest.approx(100)


def test_a_rate_is_answered_however_few_looks_there_were() -> None:
    assert steady_rate([(0.0, 0), (0.5, 100)], 100) == pytest.approx(200)


@override_settings(ASYNCJOBS={"STORE": "memory"})
def test_jobs_in_memory_are_not_measured() -> None:
    with pytest.raises(CommandError, match="set STORE") as refused:
        call_command("benchjobs")
    assert refused.value.returncode == 2


@pytest.mark.parametrize("wrong", ["--jobs=9", "--jobs=x", "--processes=0", "--processes=", "--samples=0"])
def test_bad_sizes_are_wrong_usage(wrong: str) -> None:
    with pytest.raises(CommandError, match="is no number"):
        call_command("benchjobs", wrong)
