"""What the threads that run handlers leave for the child's main thread, and how they wake it."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from asyncjobs.worker.clock import Clock
from asyncjobs.worker.context import JobContext
from asyncjobs.worker.held import HeldTable, monotonic_ms
from asyncjobs.worker.pipes import Bell
from asyncjobs.worker.runner import Run

KILL_MARGIN_MS: Final = 400  # what a coroutine gets to end, canceled for its timeout


class Inbox:
    """Runs that ended, and runs that have progress or log lines to store."""

    def __init__(self, table: HeldTable, clock: Clock, *, bell: Bell, supervisor: Bell) -> None:
        self._table = table
        self._clock = clock
        self._bell = bell
        self._supervisor = supervisor
        self._ended: deque[Run] = deque()
        self._noted: dict[JobContext, Run] = {}
        self._is_resting = False

    def new_context(self, run: Run) -> JobContext:
        """Called where the run begins, which the supervisor is to see."""
        now, deadline = monotonic_ms(), 0
        if run.job.timeout_ms:
            deadline = now + run.job.timeout_ms + (KILL_MARGIN_MS if run.is_async else 0)
        self._table.start(run.slot, now, deadline)
        if deadline and deadline < self._table.read("look_at"):
            self._supervisor.ring()
        return JobContext(
            run.job, now=self._clock.now, flags=partial(self._table.flags, run.slot), noted=partial(self._note, run)
        )

    def end(self, run: Run) -> None:
        """Called where the run ended."""
        self._table.finish(run.slot)
        self._ended.append(run)
        self._wake()

    def ended(self) -> Iterator[Run]:
        while self._ended:
            run = self._ended.popleft()
            if run.context is not None:
                self._noted.pop(run.context, None)
            yield run

    @property
    def has_notes(self) -> bool:
        return bool(self._noted)

    def noted(self) -> Iterator[tuple[Run, JobContext]]:
        """Each before it is read: what is noted meanwhile is noted again."""
        for context, run in list(self._noted.items()):
            del self._noted[context]
            yield run, context

    @contextmanager
    def resting(self) -> Iterator[bool]:
        """Within this block the bell is rung for whatever comes; answers whether something has come already."""
        self._is_resting = True
        try:
            yield bool(self._ended)
        finally:
            self._is_resting = False

    def _note(self, run: Run, context: JobContext) -> None:
        is_first = not self._noted
        self._noted[context] = run
        if is_first:
            self._wake()

    def _wake(self) -> None:
        if self._is_resting:
            self._bell.ring()
