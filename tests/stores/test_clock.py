"""`now` and `wait`: what the store says of time."""

import threading
import time

from asyncjobs.stores.base import Pause, Store
from tests.backends import Backend
from tests.scene import Scene
from tests.threads import in_threads

SOON = 5.0  # seconds; far less than what `wait` was told, far more than it should need
LONG = 60_000


def seconds(store: Store, *queues: str, timeout: int) -> float:
    began = time.monotonic()
    store.wait(queues, timeout=timeout)
    return time.monotonic() - began


def test_now_is_the_clock_it_was_given(scene: Scene) -> None:
    assert scene.store.now() == scene.clock()
    scene.clock.advance(1_234)
    assert scene.store.now() == scene.clock()


def test_now_is_close_to_the_time_of_day_and_goes_on(live_store: Store) -> None:
    before = live_store.now()
    assert abs(before - time.time() * 1_000) < 60_000
    deadline = time.monotonic() + SOON
    while live_store.now() == before:
        assert time.monotonic() < deadline


def test_waiting_ends_with_its_timeout(live_store: Store) -> None:
    assert seconds(live_store, "default", timeout=20) < SOON


def test_waiting_ends_at_once_when_a_job_is_ready(live_store: Store) -> None:
    scene = Scene(live_store, live_store.now)
    scene.add(queue="b")
    assert seconds(live_store, "a", "b", timeout=LONG) < SOON


def test_waiting_ends_when_a_job_comes(backend: Backend, live_store: Store) -> None:
    waits = threading.Event()

    def wait() -> None:
        waits.set()
        assert seconds(backend.open(), "default", timeout=LONG) < SOON

    def add() -> None:
        assert waits.wait(SOON)
        Scene(backend.open(), live_store.now).add()

    in_threads(wait, add)


def test_waiting_on_a_paused_queue_ends_with_its_timeout(live_store: Store) -> None:
    Scene(live_store, live_store.now).add()
    live_store.pause(Pause(queue="default", since=live_store.now()))
    assert seconds(live_store, "default", timeout=20) < SOON
