"""How many jobs a queue has in each status, without a row that all writers wait for.

Every batch of changes appends what it moved, in its own transaction. Sums are taken when somebody asks, and from time
to time the oldest rows are folded into sums.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import Job
from asyncjobs.stores.orm.database import Cursor, Database, marks

FOLD_LIMIT: Final = 1_000  # rows folded at once
MINUTE_MS: Final = 60_000

Row = tuple[str, int, int, int, int]  # queue, status, amount, ended, minute


class Place(NamedTuple):
    """Where a job is counted."""

    queue: str
    status: int


class Move(NamedTuple):
    """A job's way from one place to another; None: from nowhere, or to nowhere."""

    old: Place | None
    new: Place | None


def place_of(job: Job) -> Place:
    return Place(job.queue, int(job.status))


def minute_of(now: int) -> int:
    return now // MINUTE_MS * MINUTE_MS


def record(cursor: Cursor, moves: Iterable[Move], *, ended: Iterable[Place] = (), now: int) -> None:
    """Counts these moves, and the jobs that ended in these places."""
    amounts: Counter[Place] = Counter()
    for move, jobs in Counter(moves).items():
        if move.old is not None:
            amounts[move.old] -= jobs
        if move.new is not None:
            amounts[move.new] += jobs
    ends = Counter(ended)
    places = amounts.keys() | ends.keys()
    add(cursor, [(*place, amounts[place], ends[place], minute_of(now)) for place in places])


def add(cursor: Cursor, rows: list[Row]) -> None:
    if not rows:
        return
    values = ", ".join(["(%s, %s, %s, %s, %s)"] * len(rows))
    sql = f"INSERT INTO asyncjobs_tally (queue, status, amount, ended, at) VALUES {values}"
    cursor.execute(sql, [value for row in rows for value in row])


def take_oldest(cursor: Cursor, database: Database, table: str, columns: str) -> list[Any]:
    """The oldest rows of a tally, each with its number first: removed, for sums to take their place."""
    cursor.execute(f"SELECT seq, {columns} FROM {table} ORDER BY seq LIMIT %s {database.unlocked_only}", [FOLD_LIMIT])
    rows: list[Any] = cursor.fetchall()
    if rows:
        cursor.execute(f"DELETE FROM {table} WHERE seq IN ({marks(rows)})", [row[0] for row in rows])
    return rows


def backlog(cursor: Cursor, queue: str) -> int:
    """How many jobs of this queue have been accepted and not started."""
    sql = "SELECT sum(amount) FROM asyncjobs_tally WHERE queue = %s AND status IN (100, 150, 200)"
    cursor.execute(sql, [queue])
    return int(cursor.fetchone()[0] or 0)
