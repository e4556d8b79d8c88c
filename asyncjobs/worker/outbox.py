"""What a child has still to tell the store, kept until the store has it."""

from typing import NamedTuple

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobError
from asyncjobs.errors import StoreError, StoreOutOfMemory, StoreUnavailable
from asyncjobs.stores.base import Change, Store
from asyncjobs.worker.runner import Run


class Letter(NamedTuple):
    """A change, and the run it is the end of, unless it is a note on one that goes on."""

    change: Change
    run: Run
    is_end: bool = True


def refused_alone(store: Store, letter: Letter, *, now: int) -> tuple[Letter, bool | None]:
    """The letter as it was sent by itself, and whether it was written; None: nothing of it can be stored.

    One change that the store cannot hold must not keep back the others: its job fails with the store's reason.
    """
    try:
        return letter, store.swap([letter.change])[0]
    except (StoreUnavailable, StoreOutOfMemory):
        raise
    except StoreError as refusal:
        why = JobError(code=refusal.code, message=f"its end could not be stored: {refusal.message}"[:1_000])
    failed = Change(letter.change.old, transitions.fail(letter.change.old, why, delay=None, now=now))
    try:
        return letter._replace(change=failed), store.swap([failed])[0]
    except (StoreUnavailable, StoreOutOfMemory):
        raise
    except StoreError:
        return letter, None
