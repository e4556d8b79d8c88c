"""How many jobs a child takes ahead: few enough that none waits for long, enough that nobody is idle."""

import pytest

from asyncjobs.worker.pace import AHEAD_SECONDS, MOST_AHEAD, Pace


def after(*runs: float, times: int = 1) -> Pace:
    pace = Pace()
    for seconds in runs * times:
        pace.ran(seconds)
    return pace


def test_nothing_is_taken_ahead_before_anything_is_known() -> None:
    assert Pace().ahead(1) == 0
    assert Pace().ahead(8) == 0


def test_many_short_runs_have_more_taken_ahead() -> None:
    assert after(0.001, times=10).ahead(1) < after(0.001, times=100).ahead(1)
    assert 30 <= after(0.001, times=200).ahead(1) <= 50


def test_there_is_a_bound_to_it() -> None:
    assert after(0.0, times=1_000).ahead(1) == MOST_AHEAD
    assert after(0.0, times=1_000).ahead(100) == MOST_AHEAD


def test_one_slow_run_is_believed_at_once() -> None:
    pace = after(0.001, times=200)
    pace.ran(1.0)
    assert pace.ahead(1) == 0


def test_one_fast_run_among_slow_ones_changes_nothing() -> None:
    pace = after(1.0, times=10)
    pace.ran(0.0)
    assert pace.ahead(1) == 0


def test_slow_runs_have_nothing_taken_ahead() -> None:
    assert after(1.0, times=100).ahead(4) == 0


@pytest.mark.parametrize("places", [1, 4, 100])
def test_what_is_taken_ahead_begins_in_time(places: int) -> None:
    seconds = 0.005
    ahead = after(seconds, times=500).ahead(places)
    assert ahead > 0
    assert ahead / places * seconds <= AHEAD_SECONDS
