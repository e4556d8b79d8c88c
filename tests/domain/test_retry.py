"""How long before a failed job runs again."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncjobs.domain import retry
from asyncjobs.domain.retry import HOUR_MS, RetryPolicy


def delays_of(policy: RetryPolicy, count: int = 5, chance: float = 1.0) -> list[int | None]:
    return [policy.delay(spent, chance) for spent in range(count)]


def test_none_never_retries() -> None:
    assert delays_of(retry.none()) == [None] * 5


def test_fixed_waits_the_same_every_time() -> None:
    assert delays_of(retry.fixed(2.5), chance=0.0) == [2_500] * 5


def test_linear_waits_longer_by_the_same_step() -> None:
    assert delays_of(retry.linear(2, jitter=False)) == [2_000, 4_000, 6_000, 8_000, 10_000]


def test_exponential_doubles() -> None:
    assert delays_of(retry.exponential(1, jitter=False)) == [1_000, 2_000, 4_000, 8_000, 16_000]


def test_a_list_of_delays_is_gone_through_and_its_last_repeats() -> None:
    assert delays_of(retry.delays(1, 5, 60)) == [1_000, 5_000, 60_000, 60_000, 60_000]


def test_no_delay_is_longer_than_the_cap() -> None:
    assert delays_of(retry.exponential(10, cap=25, jitter=False)) == [10_000, 20_000, 25_000, 25_000, 25_000]
    assert retry.exponential(jitter=False).delay(10_000, 0.0) == HOUR_MS


def test_full_jitter_spreads_over_the_whole_delay() -> None:
    policy = retry.exponential(10)
    assert [policy.delay(0, chance) for chance in (0.0, 0.25, 0.999)] == [0, 2_500, 9_990]


def test_jitter_is_on_where_delays_are_reckoned_and_off_where_they_are_listed() -> None:
    assert [policy.jitter for policy in (retry.linear(1), retry.exponential(1))] == [True, True]
    assert [policy.jitter for policy in (retry.fixed(1), retry.delays(1))] == [False, False]
    assert retry.fixed(1, jitter=True).jitter


@given(
    policy=st.builds(
        RetryPolicy,
        kind=st.sampled_from(["fixed", "linear", "exponential", "delays"]),
        delays=st.lists(st.integers(0, 10**9), min_size=1, max_size=4).map(tuple),
        cap=st.integers(0, 10**9),
        jitter=st.booleans(),
    ),
    spent=st.integers(0, 10**6),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_every_delay_is_within_the_cap(policy: RetryPolicy, spent: int, chance: float) -> None:
    delay = policy.delay(spent, chance)
    assert delay is not None
    assert isinstance(delay, int)
    assert 0 <= delay <= policy.cap


class Flaky(ConnectionError):
    pass


def test_every_error_may_be_tried_again_unless_told_otherwise() -> None:
    assert retry.fixed(1).allows(ValueError)


def test_only_the_named_errors_and_their_kin_are_tried_again() -> None:
    policy = retry.fixed(1, only=(OSError,))
    assert policy.allows(OSError)
    assert policy.allows(Flaky)
    assert not policy.allows(ValueError)


def test_the_named_errors_and_their_kin_fail_at_once() -> None:
    policy = retry.fixed(1, never=(OSError,))
    assert not policy.allows(Flaky)
    assert policy.allows(ValueError)


def test_never_beats_only() -> None:
    policy = retry.fixed(1, only=(OSError,), never=(Flaky,))
    assert policy.allows(OSError)
    assert not policy.allows(Flaky)


def test_errors_may_be_named_by_their_path() -> None:
    policy = retry.fixed(1, never=("builtins.KeyError", f"{__name__}.Flaky"))
    assert not policy.allows(KeyError)
    assert not policy.allows(Flaky)
    assert policy.allows(ConnectionError)


@pytest.mark.parametrize(
    "policy",
    [
        retry.none(),
        retry.fixed(1.5),
        retry.linear(2, cap=9),
        retry.exponential(1, only=(OSError,), never=(Flaky,)),
        retry.delays(1, 2, 3),
    ],
)
def test_a_policy_survives_json(policy: RetryPolicy) -> None:
    assert RetryPolicy.from_json(json.loads(json.dumps(policy.to_json()))) == policy


@pytest.mark.parametrize(
    "wrong",
    [lambda: retry.fixed(-1), lambda: retry.delays(), lambda: retry.delays(1, -2), lambda: retry.linear(1, cap=-1)],
)
def test_a_policy_without_sense_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="retry policy"):
        wrong()
