"""What a child has still to tell the store, kept until the store has it."""

import logging
from itertools import accumulate
from typing import Final, NamedTuple

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError
from asyncjobs.errors import StoreError, StoreOutOfMemory, StoreUnavailable
from asyncjobs.stores.base import Change, Entry, Store
from asyncjobs.worker.runner import Run

logger = logging.getLogger("asyncjobs.worker")

ENTRIES_A_TURN: Final = 500  # each line of a log costs the server a command


class Letter(NamedTuple):
    """A change, and the run it is the end of, unless it is a note on one that goes on."""

    change: Change
    run: Run
    is_end: bool = True


class Outbox:
    """Letters in the order in which they were written."""

    def __init__(self) -> None:
        self._letters: list[Letter] = []

    def __len__(self) -> int:
        return len(self._letters)

    def end(self, run: Run, new: Job) -> None:
        """The run ends, or never begins, and its job becomes `new`."""
        self._letters.append(Letter(Change(run.job, new), run))

    def ended(self, run: Run, change: Change) -> None:
        self._letters.append(Letter(change, run))

    def note(self, run: Run, new: Job, lines: tuple[Entry, ...]) -> None:
        self._letters.append(Letter(Change(run.job, new, lines), run, is_end=False))

    def next(self) -> list[Letter]:
        """As many as go in one turn."""
        entries = accumulate(len(letter.change.entries) for letter in self._letters)
        return self._letters[: max(1, sum(total <= ENTRIES_A_TURN for total in entries))]

    def delivered(self, letters: int) -> None:
        """The first ones need not be sent again."""
        del self._letters[:letters]

    def has_end_of(self, run: Run) -> bool:
        return any(letter.run is run and letter.is_end for letter in self._letters)


def sent_alone(store: Store, letter: Letter, *, now: int) -> tuple[Letter, bool]:
    """The letter as it was sent by itself, and whether it was written.

    A change that the store cannot hold must not keep back the others: its job fails with the store's reason.
    """
    try:
        return letter, _is_written(store, letter)
    except _Refused as refusal:
        if not letter.is_end:  # a line of a log is no reason to fail
            logger.warning("a note was refused: %s", refusal.error, extra={"job_id": letter.run.job.id})
            return letter, True
        message = f"its end could not be stored: {refusal.error.message}"[:1_000]
        why = JobError(code=refusal.error.code, message=message)
    old = letter.change.old
    failed = letter._replace(change=Change(old, transitions.fail(old, why, delay=None, now=now)))
    try:
        return failed, _is_written(store, failed)
    except _Refused:
        return letter, False


class _Refused(Exception):
    """The store is there, and will not have it."""

    def __init__(self, error: StoreError) -> None:
        super().__init__(error)
        self.error = error


def _is_written(store: Store, letter: Letter) -> bool:
    try:
        return store.swap([letter.change])[0]
    except (StoreUnavailable, StoreOutOfMemory):
        raise
    except StoreError as error:
        raise _Refused(error) from error
