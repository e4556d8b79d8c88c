"""The trash: rows of removed jobs, under the same seq, so that their journals stay theirs until they come back."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import FIELDS, Job
from asyncjobs.stores.base import Entry, Resting, TrashPage
from asyncjobs.stores.cursor import Cursor as PageEnd
from asyncjobs.stores.orm import adds, faults, gone, journal, pages, tally, unique
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.listening import RING_IF_AWAITED
from asyncjobs.stores.orm.rows import JOB_COLUMNS, readable

RESTORE_LIMIT: Final = 1_000  # jobs one transaction puts back, at most

_COLUMNS: Final = ", ".join([*FIELDS, "position"])
_LAY: Final = f"""
    INSERT INTO asyncjobs_trash (seq, deleted_at, rests_until, {_COLUMNS})
    SELECT seq, %s, %s, {_COLUMNS} FROM asyncjobs_job WHERE seq IN ({{seqs}})
"""
_FRESH: Final = ", ".join("version + 1" if name == "version" else name for name in [*FIELDS, "position"])
_INTO: Final = f"INTO asyncjobs_job (seq, {_COLUMNS}) SELECT seq, {_FRESH} FROM asyncjobs_trash WHERE seq IN ({{seqs}})"
_PUT_BACK: Final = {
    "postgresql": f"INSERT {_INTO} ON CONFLICT DO NOTHING RETURNING {RING_IF_AWAITED}",
    "sqlite": f"INSERT OR IGNORE {_INTO}",
    "mysql": f"INSERT IGNORE {_INTO}",
}
_RESTING: Final = f"SELECT {JOB_COLUMNS}, job.seq FROM asyncjobs_trash AS job WHERE id IN ({{ids}}) ORDER BY seq"
_READ: Final = f"SELECT {JOB_COLUMNS}, job.seq, job.deleted_at, job.rests_until FROM asyncjobs_trash AS job"
_PAGE: Final = f"{_READ} WHERE {{where}} ORDER BY rests_until DESC, seq DESC LIMIT %s"


class Rest(NamedTuple):
    """Until when removed jobs rest, and what their journals say of it."""

    until: int
    note: Entry | None = None


def lay(cursor: Cursor, database: Database, rows: Sequence[Any], rest: Rest, *, now: int) -> None:
    """Copies these jobs (seq, id, …), whose rows are locked and about to go."""
    seqs, ids = [row[0] for row in rows], [row[1] for row in rows]
    cursor.execute(f"SELECT seq FROM asyncjobs_trash WHERE id IN ({marks(ids)})", ids)
    _drop(cursor, [row[0] for row in cursor.fetchall()])
    if rest.note is not None:
        journal.append(cursor, database, [(job_id, [rest.note]) for job_id in ids])
    cursor.execute(_LAY.format(seqs=marks(seqs)), [now, rest.until, *seqs])


def _drop(cursor: Cursor, seqs: Sequence[int]) -> None:
    if seqs:
        cursor.execute(f"DELETE FROM asyncjobs_trash WHERE seq IN ({marks(seqs)})", list(seqs))
        journal.remove(cursor, seqs)


def empty(cursor: Cursor, *, database: Database, limit: int, now: int) -> int:
    """Removes up to `limit` jobs that ran out, the earliest first, and answers how many."""
    sql = "SELECT seq FROM asyncjobs_trash WHERE rests_until <= %s ORDER BY rests_until, seq LIMIT %s"
    cursor.execute(f"{sql} {database.unlocked_only}", [now, limit])
    seqs = [row[0] for row in cursor.fetchall()]
    _drop(cursor, seqs)
    return len(seqs)


def restore(
    database: Database, ids: Sequence[str], *, versions: Mapping[str, int] | None, note: Entry | None, now: int
) -> list[Job | None]:
    stored: list[Job | None] = []
    for start in range(0, len(ids), RESTORE_LIMIT):
        step = ids[start : start + RESTORE_LIMIT]
        back = partial(_restore, database=database, ids=step, versions=versions, note=note, now=now)
        stored += database.atomically(back)
    return stored


def _restore(
    cursor: Cursor,
    *,
    database: Database,
    ids: Sequence[str],
    versions: Mapping[str, int] | None,
    note: Entry | None,
    now: int,
) -> list[Job | None]:
    cursor.execute(f"{_RESTING.format(ids=marks(ids))} {database.locked}", list(ids))
    resting = {seq: job for job, seq in readable(cursor.fetchall())}
    if versions is not None:
        resting = {seq: job for seq, job in resting.items() if job.version == versions.get(job.id)}
    if resting:
        back = [resting[seq] for seq in _put_back(cursor, database, list(resting))]
        _enter(cursor, database, back, now)
        journal.append(cursor, database, [(job.id, [note]) for job in back if note])
    return pages.by_id(cursor, ids, current=database.current)


def _put_back(cursor: Cursor, database: Database, seqs: list[int]) -> list[int]:
    """Moves these rows back, those whose id is free, and answers which."""
    cursor.execute(_PUT_BACK[database.vendor].format(seqs=marks(seqs)), seqs)
    cursor.execute(f"SELECT seq FROM asyncjobs_job WHERE seq IN ({marks(seqs)})", seqs)
    back = [row[0] for row in cursor.fetchall()]
    if back:
        cursor.execute(f"DELETE FROM asyncjobs_trash WHERE seq IN ({marks(back)})", back)
    return back


def _enter(cursor: Cursor, database: Database, jobs: Sequence[Job], now: int) -> None:
    """Whatever must be true with a stored job, of these, which are stored again."""
    if not jobs:
        return
    tally.record(cursor, [tally.Move(None, tally.place_of(job)) for job in jobs], now=now)
    faults.record(cursor, died=faults.deaths_of(jobs))
    adds.tag(cursor, jobs)
    gone.take_back(cursor, [job.id for job in jobs])
    unique.take(cursor, database, [job for job in jobs if job.holds_unique_key(now)], now=now)


def read(database: Database, job_id: str) -> Resting | None:
    found = database.directly(partial(_read, sql=f"{_READ} WHERE id = %s", values=[job_id]))
    return found[0][1] if found else None


def page(database: Database, after: str, limit: int) -> TrashPage:
    end = PageEnd.read(after)
    beyond = [end.score, end.score, pages.seq_of(end)] if end else []
    where = "rests_until <= %s AND (rests_until < %s OR seq < %s)" if end else "1 = 1"
    found = database.directly(partial(_read, sql=_PAGE.format(where=where), values=[*beyond, limit + 1]))
    following = found[limit - 1][0] if len(found) > limit else ""
    return TrashPage([resting for _, resting in found[:limit]], following)


def _read(cursor: Cursor, *, sql: str, values: list[Any]) -> list[tuple[str, Resting]]:
    """What rests, each with the end of a page that ends with it."""
    cursor.execute(sql, values)
    rows = [(*row[:-3], row[-3:]) for row in cursor.fetchall()]
    notes = journal.last(cursor, "action", [row[-1][0] for row in rows])
    return [
        (PageEnd(until, str(seq)).text, Resting(job, at, until, notes.get(seq)))
        for job, (seq, at, until) in readable(rows)
    ]
