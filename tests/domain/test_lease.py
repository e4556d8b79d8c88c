"""The clock of leases: away, set forward, set back."""

from hypothesis import given
from hypothesis import strategies as st

from asyncjobs.domain.lease import CLOCK_JITTER_MS, LeaseClock, tick

LEASE = 10_000
CLOCK = LeaseClock(last=1_000_000)


def test_a_clock_looked_at_often_tells_the_time() -> None:
    clock = tick(CLOCK, 1_004_000, LEASE)
    assert (clock.time, clock.in_grace) == (1_004_000, False)


def test_half_a_lease_unseen_is_no_jump() -> None:
    assert not tick(CLOCK, CLOCK.last + LEASE // 2, LEASE).in_grace


def test_more_than_half_a_lease_unseen_starts_one_lease_of_grace() -> None:
    clock = tick(CLOCK, CLOCK.last + LEASE // 2 + 1, LEASE)
    assert clock.in_grace
    assert clock.grace == clock.time + LEASE


def test_grace_ends_after_one_lease() -> None:
    clock = tick(CLOCK, CLOCK.last + 60_000, LEASE)
    for _ in range(4):
        assert clock.in_grace
        clock = tick(clock, clock.last + LEASE // 4, LEASE)
    assert not clock.in_grace


def test_a_clock_set_back_goes_on_as_if_it_were_not() -> None:
    clock = tick(CLOCK, CLOCK.last - 3_600_000, LEASE)
    assert clock.time == CLOCK.time
    clock = tick(clock, clock.last + 500, LEASE)
    assert clock.time == CLOCK.time + 500
    assert not clock.in_grace


def test_a_little_jitter_is_not_made_up_for() -> None:
    clock = tick(CLOCK, CLOCK.last - CLOCK_JITTER_MS, LEASE)
    assert (clock.offset, clock.time) == (0, CLOCK.last - CLOCK_JITTER_MS)
    assert tick(CLOCK, CLOCK.last - CLOCK_JITTER_MS - 1, LEASE).offset == CLOCK_JITTER_MS + 1


def test_a_clock_set_forward_again_idles_but_does_not_lose_time() -> None:
    back = tick(CLOCK, CLOCK.last - 3_600_000, LEASE)
    forth = tick(back, CLOCK.last, LEASE)
    assert forth.time == CLOCK.last + 3_600_000
    assert forth.in_grace


@given(steps=st.lists(st.integers(-5_000_000, 5_000_000), max_size=20))
def test_the_time_of_leases_never_goes_back_by_more_than_jitter(steps: list[int]) -> None:
    clock, now = CLOCK, CLOCK.last
    for step in steps:
        now += step
        later = tick(clock, now, LEASE)
        assert later.time >= clock.time - CLOCK_JITTER_MS
        assert later.last == now
        clock = later
