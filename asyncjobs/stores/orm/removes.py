"""Removing jobs: one by one, and the finished ones past their time."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import TERMINAL, Job, JobStatus
from asyncjobs.stores.base import DAY_MS, GONE_MS
from asyncjobs.stores.orm import faults, gone, journal, tally, trash
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.rows import tags_of

FORGET_LIMIT: Final = 1_000  # rows of a table that one `prune` forgets, at most

_COLUMNS = "seq, id, version, queue, status, created_at, tags, owner, fault, position"


def delete(database: Database, jobs: Sequence[Job], *, rest: trash.Rest | None, now: int) -> list[bool]:
    if not jobs:
        return []
    return database.atomically(lambda cursor: _delete(cursor, database, jobs, rest, now))


def _delete(cursor: Cursor, database: Database, jobs: Sequence[Job], rest: trash.Rest | None, now: int) -> list[bool]:
    sql = f"SELECT {_COLUMNS} FROM asyncjobs_job WHERE id IN ({marks(jobs)}) ORDER BY seq {database.locked}"
    cursor.execute(sql, [job.id for job in jobs])
    stored = {row[1]: row for row in cursor.fetchall()}
    versions = {(row[1], row[2]) for row in stored.values()}
    removed = {job.id for job in jobs if (job.id, job.version) in versions}
    rows = [stored[job_id] for job_id in removed]
    if rest is None:
        _remove(cursor, database, rows, now)
    elif rows:
        trash.lay(cursor, database, rows, rest, now=now)
        _uproot(cursor, database, rows, now)
    return [job.id in removed or job.id not in stored for job in jobs]


def _remove(cursor: Cursor, database: Database, rows: Sequence[Any], now: int) -> None:
    if rows:
        _uproot(cursor, database, rows, now)
        journal.remove(cursor, [row[0] for row in rows])


def _uproot(cursor: Cursor, database: Database, rows: Sequence[Any], now: int) -> None:
    """Removes these jobs; their journals are left."""
    cursor.execute(f"DELETE FROM asyncjobs_job WHERE seq IN ({marks(rows)})", [row[0] for row in rows])
    tally.record(cursor, [tally.Move(tally.Place(row[3], row[4]), None) for row in rows], now=now)
    faults.record(cursor, left=[faults.Death.at(row[8], row[9]) for row in rows if row[8] is not None])
    tags = [(tag, row[5], row[0]) for row in rows for tag in tags_of(row[6]) or ()]
    gone.leave(cursor, database, [(row[1], row[7]) for row in rows if row[7] is not None], now=now)
    if tags:
        cursor.executemany("DELETE FROM asyncjobs_tag WHERE tag = %s AND created_at = %s AND seq = %s", tags)


def prune(database: Database, before: Mapping[JobStatus, int], *, limit: int, now: int) -> int:
    """Removes up to `limit` jobs, a status after the other, each oldest first, and then out of the trash."""
    removed = 0
    for status in sorted(TERMINAL & before.keys()):
        left = limit - removed
        prune_status = partial(_prune, database=database, past=(status, before[status]), limit=left, now=now)
        removed += database.atomically(prune_status)
    removed += database.atomically(partial(trash.empty, database=database, limit=limit - removed, now=now))
    for passing in _PASSING:
        database.atomically(partial(_forget, database=database, passing=passing, now=now))
    return removed


def _prune(cursor: Cursor, *, database: Database, past: tuple[int, int], limit: int, now: int) -> int:
    cursor.execute(
        f"SELECT {_COLUMNS} FROM asyncjobs_job WHERE status = %s AND position < %s"
        f" ORDER BY position, seq LIMIT %s {database.unlocked_only}",
        [*past, limit],
    )
    rows = cursor.fetchall()
    _remove(cursor, database, rows, now)
    return len(rows)


class Passing(NamedTuple):
    """A table whose rows mean nothing any more so long after the time in them."""

    table: str
    key: str
    time: str
    age: int


_PASSING: Final = (
    Passing("asyncjobs_receipt", "id", "until", 0),
    Passing("asyncjobs_gone", "id", "at", GONE_MS),
    Passing("asyncjobs_worker", "worker", "beat_at", DAY_MS),
)


def _forget(cursor: Cursor, *, database: Database, passing: Passing, now: int) -> None:
    """Removes the rows of a table that mean nothing any more, the oldest first."""
    table, key, time, age = passing
    sql = f"SELECT {key} FROM {table} WHERE {time} <= %s ORDER BY {time} LIMIT %s {database.unlocked_only}"
    cursor.execute(sql, [now - age, FORGET_LIMIT])
    keys = [row[0] for row in cursor.fetchall()]
    if keys:
        cursor.execute(f"DELETE FROM {table} WHERE {key} IN ({marks(keys)})", keys)
