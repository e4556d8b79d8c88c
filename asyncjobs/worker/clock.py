"""The store's clock, for threads that must not ask the store."""

import time

from asyncjobs.stores.base import Store
from asyncjobs.worker.held import monotonic_ms


class Clock:
    """An estimate: one thread asks the store from time to time, all others reckon on."""

    def __init__(self) -> None:
        self._ahead = time.time_ns() // 1_000_000 - monotonic_ms()

    def ask(self, store: Store) -> None:
        self._ahead = store.now() - monotonic_ms()

    def now(self) -> int:
        return monotonic_ms() + self._ahead
