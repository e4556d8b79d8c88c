"""The thread that deals with the store: it stands still when asked, and goes on whatever happens."""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from asyncjobs.errors import StoreUnavailable
from asyncjobs.worker.duties import Duty
from asyncjobs.worker.keeper import Keeper
from asyncjobs.worker.pipes import Bell
from tests.workers import PATIENCE, until

LEASE = 30_000


class Counted(Duty):
    """Is due again at once, and can be held up or made to fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__()
        self.times = 0
        self.may_go = threading.Event()
        self.may_go.set()
        self._error = error

    def perform(self) -> float:
        self.times += 1
        self.may_go.wait(PATIENCE)
        if self._error is not None:
            raise self._error
        return 0.001


@contextmanager
def kept(duty: Duty) -> Iterator[Keeper]:
    keeper = Keeper([duty], lease=LEASE)
    keeper.start()
    yield keeper
    keeper.stop(patience=PATIENCE)


def goes_on(duty: Counted) -> None:
    before = duty.times
    until(lambda: duty.times > before)


def test_it_performs_what_is_due_again_and_again() -> None:
    duty = Counted()
    with kept(duty):
        goes_on(duty)
        goes_on(duty)


def test_it_stands_still_while_it_is_parked() -> None:
    duty = Counted()
    with kept(duty) as keeper:
        goes_on(duty)
        assert keeper.park(patience=PATIENCE)
        before = duty.times
        keeper.hurry(duty)
        assert duty.times == before
        keeper.go_on()
        goes_on(duty)


def test_who_does_not_wait_for_it_to_stand_still_leaves_it_going() -> None:
    duty = Counted()
    with kept(duty) as keeper:
        goes_on(duty)
        duty.may_go.clear()
        goes_on(duty)
        assert not keeper.park(patience=0.01)
        duty.may_go.set()
        goes_on(duty)
        assert keeper.park(patience=PATIENCE)
        keeper.go_on()


@pytest.mark.parametrize("error", [StoreUnavailable("away"), ValueError("a defect"), SystemExit(1)])
def test_a_duty_that_fails_is_tried_again(error: BaseException) -> None:
    duty = Counted(error)
    with kept(duty):
        goes_on(duty)
        goes_on(duty)


def test_a_bell_nobody_has_any_more_takes_no_descriptors() -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        Bell()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
