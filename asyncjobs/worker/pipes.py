"""A bell between threads and processes that wait for it."""

import os
import weakref
from contextlib import suppress

from asyncjobs.stores.waking import readable


class Bell:
    """Rings however often it is rung until it is silenced. Works across a fork, and in signal handlers."""

    def __init__(self) -> None:
        self.fd, self._end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._end, False)
        weakref.finalize(self, _close, self.fd, self._end)  # not sooner: another thread may be about to ring

    def ring(self) -> None:
        with suppress(BlockingIOError):  # it rings already
            os.write(self._end, b"\0")

    def silence(self) -> bool:
        """Whether it rang."""
        rang = False
        with suppress(BlockingIOError):
            while os.read(self.fd, 4096):
                rang = True
        return rang

    def wait(self, seconds: float) -> None:
        """Returns when it rings, or after that time."""
        readable(self.fd, timeout=max(0.0, seconds) * 1000)

    def listen_to_signals(self) -> int:
        """For `signal.set_wakeup_fd`."""
        return self._end


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
