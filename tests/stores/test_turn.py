"""`turn`: one of many does what is to be done from time to time."""

from functools import partial

from asyncjobs.stores.base import Store
from tests.backends import Backend
from tests.clock import Clock
from tests.threads import in_threads


def test_one_of_all_who_ask_gets_the_turn(store: Store, backend: Backend, clock: Clock) -> None:
    other = backend.open(clock=clock)
    assert [store.turn("prune", every=1_000), other.turn("prune", every=1_000)] == [True, False]


def test_the_next_turn_comes_that_long_after_it(store: Store, clock: Clock) -> None:
    assert store.turn("prune", every=1_000)
    clock.advance(999)
    assert not store.turn("prune", every=1_000)
    clock.advance(1)
    assert store.turn("prune", every=1_000)
    assert not store.turn("prune", every=1_000)


def test_names_take_turns_of_their_own(store: Store) -> None:
    assert store.turn("prune", every=1_000)
    assert store.turn("fold", every=1_000)


def test_a_clock_set_back_by_more_than_that_gives_a_turn(store: Store, clock: Clock) -> None:
    assert store.turn("prune", every=1_000)
    clock.advance(-500)
    assert not store.turn("prune", every=2_000)
    clock.advance(-501)
    assert store.turn("prune", every=1_000)


def test_many_who_ask_at_once_get_one_turn(backend: Backend, store: Store, clock: Clock) -> None:
    stores = [backend.open(clock=clock) for _ in range(8)]
    for _ in range(3):
        turns = in_threads(*[partial(one.turn, "prune", every=1_000) for one in stores])
        assert sum(turns) == 1
        clock.advance(1_000)
