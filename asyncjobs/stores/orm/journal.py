"""The journals of jobs: entries numbered within a job and kind, the oldest of which go first.

Who appends holds the lock on the job's row, so that no number is given twice.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from asyncjobs.stores.base import JOURNAL_LIMITS, Entry, EntryKind
from asyncjobs.stores.orm.database import Cursor, Database, marks

Journal = tuple[int, EntryKind]  # the job's seq

_INSERT: Final = "INSERT INTO asyncjobs_entry (seq, kind, number, at, text) VALUES "
_ROWS: Final = 100  # in one statement: far fewer round trips, and no more values than any database takes
_DROP: Final = "DELETE FROM asyncjobs_entry WHERE seq = %s AND kind = %s AND number <= %s"
_READ: Final = """
    SELECT kind, at, text, number FROM asyncjobs_entry
    WHERE seq = (SELECT seq FROM asyncjobs_job WHERE id = %s) AND kind = %s AND number > %s
    ORDER BY number LIMIT %s
"""
_LAST: Final = """
    SELECT entry.seq, entry.kind, entry.at, entry.text, entry.number FROM asyncjobs_entry AS entry
    JOIN (
        SELECT seq, max(number) AS number FROM asyncjobs_entry WHERE kind = %s AND seq IN ({seqs}) GROUP BY seq
    ) AS newest ON newest.seq = entry.seq AND newest.number = entry.number
    WHERE entry.kind = %s
"""


def read(database: Database, job_id: str, kind: EntryKind, *, after: int, limit: int) -> list[Entry]:
    return database.directly(partial(_read, values=[job_id, kind, after, limit]))


def _read(cursor: Cursor, *, values: list[Any]) -> list[Entry]:
    cursor.execute(_READ, values)
    return [Entry(*row) for row in cursor.fetchall()]


def last(cursor: Cursor, kind: EntryKind, seqs: Sequence[int]) -> dict[int, Entry]:
    """The last entry of this kind of each of these jobs that has one."""
    if not seqs:
        return {}
    cursor.execute(_LAST.format(seqs=marks(seqs)), [kind, *seqs, kind])
    return {seq: Entry(*entry) for seq, *entry in cursor.fetchall()}


def append(cursor: Cursor, database: Database, written: Sequence[tuple[str, Sequence[Entry]]]) -> None:
    """Appends these entries to the journals of these jobs, by id, whose rows are locked."""
    entries = {job_id: more for job_id, more in written if more}
    if not entries:
        return
    cursor.execute(f"SELECT id, seq FROM asyncjobs_job WHERE id IN ({marks(entries)})", list(entries))
    journals: defaultdict[Journal, list[Entry]] = defaultdict(list)
    for job_id, seq in cursor.fetchall():
        for entry in entries[job_id]:
            journals[seq, entry.kind].append(entry)
    _insert(cursor, journals, _last_numbers(cursor, database, sorted({seq for seq, _ in journals})))


def _last_numbers(cursor: Cursor, database: Database, seqs: list[int]) -> dict[Journal, int]:
    sql = f"SELECT seq, kind, max(number) FROM asyncjobs_entry WHERE seq IN ({marks(seqs)}) GROUP BY seq, kind"
    cursor.execute(f"{sql} {database.current}", seqs)
    return {(seq, kind): number for seq, kind, number in cursor.fetchall()}


def _insert(cursor: Cursor, journals: Mapping[Journal, list[Entry]], last: Mapping[Journal, int]) -> None:
    rows: list[Any] = []
    dropped: list[Any] = []
    for (seq, kind), entries in sorted(journals.items()):
        before, most = last.get((seq, kind), 0), JOURNAL_LIMITS[kind]
        numbered = [(seq, kind, number, entry.at, entry.text) for number, entry in enumerate(entries, before + 1)]
        rows += numbered[-most:]
        if before and before + len(entries) > most:
            dropped.append((seq, kind, before + len(entries) - most))
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        values = ", ".join(["(%s, %s, %s, %s, %s)"] * len(some))
        cursor.execute(_INSERT + values, [part for row in some for part in row])
    if dropped:
        cursor.executemany(_DROP, dropped)


def remove(cursor: Cursor, seqs: Sequence[int]) -> None:
    """Removes the journals of these jobs."""
    cursor.execute(f"DELETE FROM asyncjobs_entry WHERE seq IN ({marks(seqs)})", list(seqs))
