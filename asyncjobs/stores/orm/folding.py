"""Keeping the tallies short: sums take the place of their oldest rows, ended jobs go to their minutes."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from asyncjobs.errors import StoreError
from asyncjobs.stores.base import SERIES_MINUTES
from asyncjobs.stores.orm import faults, tally
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.tally import FOLD_LIMIT

FOLD_ABOVE: Final = 2_000  # rows a reader puts up with
FOLD_EVERY: Final = 300  # batches one process writes before it folds: fewer rows than one fold takes
FOLDS: Final = 10  # in a row, at most

_ADD = "ended = asyncjobs_minute.ended +"
_ADD_TO_MINUTE: Final = {
    "postgresql": f"ON CONFLICT (at, queue, status) DO UPDATE SET {_ADD} excluded.ended",
    "sqlite": f"ON CONFLICT (at, queue, status) DO UPDATE SET {_ADD} excluded.ended",
    "mysql": f"ON DUPLICATE KEY UPDATE {_ADD} VALUES(ended)",
}


class Folder:
    """Folds after so many writes, and when a reader finds too much; never in the caller's transaction."""

    def __init__(self, database: Database, now: Callable[[], int]) -> None:
        self._database = database
        self._now = now
        self._writes = 0

    def wrote(self) -> None:
        """Takes note of a batch that was written."""
        self._writes += 1
        if self._writes >= FOLD_EVERY:
            self._fold_down()

    def read(self, rows: int) -> None:
        """Takes note of how many rows a reader had to add up."""
        if rows > FOLD_ABOVE:
            self._fold_down()

    def fold(self) -> int:
        """One fold of each tally; answers how many rows fewer the one that gained most has now."""
        return max(
            self._database.atomically(partial(fold, database=self._database, now=self._now())) for fold in _FOLDS
        )

    def _fold_down(self) -> None:
        """Folds until there is little to gain. What was done before stays done when this fails: others fold later."""
        if self._database.is_in_transaction:
            return
        self._writes = 0
        with suppress(StoreError):
            for _ in range(FOLDS):
                if self.fold() < FOLD_LIMIT // 2:
                    return


def fold(cursor: Cursor, *, database: Database, now: int) -> int:
    rows = tally.take_oldest(cursor, database, "asyncjobs_tally", "queue, status, amount, ended, at")
    if not rows:
        return 0
    amounts: Counter[tuple[str, int]] = Counter()
    ended: Counter[tuple[int, str, int]] = Counter()
    for _, queue, status, amount, ends, at in rows:
        amounts[queue, status] += amount
        ended[at, queue, status] += ends
    tally.add(cursor, [(*place, amount, 0, 0) for place, amount in sorted(amounts.items())])
    _add_to_minutes(cursor, database, [(*key, ends) for key, ends in sorted(ended.items()) if ends])
    cursor.execute("DELETE FROM asyncjobs_minute WHERE at < %s", [now - SERIES_MINUTES * tally.MINUTE_MS])
    return len(rows) - len(amounts)


def _add_to_minutes(cursor: Cursor, database: Database, rows: list[tuple[int, str, int, int]]) -> None:
    if not rows:
        return
    values = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
    sql = f"INSERT INTO asyncjobs_minute (at, queue, status, ended) VALUES {values} {_ADD_TO_MINUTE[database.vendor]}"
    cursor.execute(sql, [value for row in rows for value in row])


_FOLDS: Final = (fold, faults.fold)
