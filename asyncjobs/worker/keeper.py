"""What the supervisor does with the store, in a thread of its own: a store that hangs must not blind it."""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from asyncjobs.errors import AsyncJobsError
from asyncjobs.worker.duties import Duty
from asyncjobs.worker.hygiene import let_go, tidy
from asyncjobs.worker.pipes import Bell

logger = logging.getLogger("asyncjobs.worker")

FIRST_RETRY: Final = 0.1
LAST_RETRY: Final = 1.0


class Keeper:
    """Performs duties as they fall due, and stands still, without a connection, while the supervisor forks."""

    def __init__(self, duties: Sequence[Duty], *, lease: int) -> None:
        self._duties = duties
        self._failures: Counter[Duty] = Counter()
        self._last_retry = min(LAST_RETRY, lease / 20_000)  # a server that is back for a moment is to hear of us
        self._bell = Bell()
        self._is_over = False
        self._is_wanted = threading.Event()  # to stand still
        self._is_parked = threading.Event()
        self._may_go = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True, name="asyncjobs-keeper")
        self._thread.start()

    def hurry(self, duty: Duty) -> None:
        """Has this duty performed now."""
        duty.due = 0.0
        self._bell.ring()

    def park(self, *, patience: float) -> bool:
        """Whether it stands still now. It does not while the store keeps it waiting."""
        if self._thread is None:
            return True
        self._may_go.clear()
        self._is_wanted.set()
        self._bell.ring()
        if self._is_parked.wait(patience):
            return True
        self.go_on()
        return False

    def go_on(self) -> None:
        self._is_wanted.clear()
        self._is_parked.clear()
        self._may_go.set()

    def stop(self, *, patience: float) -> None:
        self._is_over = True
        self._bell.ring()
        if self._thread is not None:
            self._thread.join(patience)

    def _run(self) -> None:
        while not self._is_over:
            if self._is_wanted.is_set():
                self._stand_still()
            for duty in self._duties:
                if time.monotonic() >= duty.due and not self._is_wanted.is_set():
                    self._perform(duty)
            tidy()
            self._bell.wait(min(duty.due for duty in self._duties) - time.monotonic())
            self._bell.silence()
        let_go()

    def _perform(self, duty: Duty) -> None:
        duty.due = float("inf")  # before it is performed, so that to hurry it meanwhile has it performed again
        try:
            pause = duty.perform()
            self._failures[duty] = 0
        except AsyncJobsError as error:
            logger.warning("%s: %s", type(duty).__name__.lower(), error)
            pause = self._pause_after_failure(duty)
        except BaseException:  # without this thread every lease runs out
            logger.exception("%s failed", type(duty).__name__.lower())
            pause = self._pause_after_failure(duty)
        duty.due = min(duty.due, time.monotonic() + pause)

    def _pause_after_failure(self, duty: Duty) -> float:
        """Short at first: a broken connection is found out by its use, and the next one is new."""
        pause = FIRST_RETRY * 2.0 ** min(self._failures[duty], 10)
        self._failures[duty] += 1
        return min(self._last_retry, pause) * random.uniform(0.5, 1)

    def _stand_still(self) -> None:
        """A connection that two processes share is ended by the first that closes it."""
        let_go()
        self._is_parked.set()
        self._may_go.wait()
        self._is_parked.clear()
