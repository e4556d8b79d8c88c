"""What is left of jobs with an owner that were removed."""

from collections.abc import Sequence
from typing import Final

from asyncjobs.stores.base import GONE_MS, Gone
from asyncjobs.stores.orm.database import Cursor, Database, marks

_LEAVE: Final = {
    "postgresql": "INSERT INTO asyncjobs_gone (id, owner, at) VALUES {rows} ON CONFLICT DO NOTHING",
    "sqlite": "INSERT OR IGNORE INTO asyncjobs_gone (id, owner, at) VALUES {rows}",
    "mysql": "INSERT IGNORE INTO asyncjobs_gone (id, owner, at) VALUES {rows}",
}


def read(database: Database, job_id: str, *, now: int) -> Gone | None:
    def work(cursor: Cursor) -> Gone | None:
        sql = "SELECT owner, at FROM asyncjobs_gone WHERE id = %s AND at > %s"
        cursor.execute(sql, [job_id, now - GONE_MS])
        row = cursor.fetchone()
        return Gone(*row) if row else None

    return database.directly(work)


def leave(cursor: Cursor, database: Database, owned: Sequence[tuple[str, str]], *, now: int) -> None:
    """Notes of these jobs, each with its owner, that they went now."""
    if not owned:
        return
    sql = _LEAVE[database.vendor].format(rows=", ".join(["(%s, %s, %s)"] * len(owned)))
    cursor.execute(sql, [value for job_id, owner in owned for value in (job_id, owner, now)])


def take_back(cursor: Cursor, ids: Sequence[str]) -> None:
    """These jobs are there again."""
    cursor.execute(f"DELETE FROM asyncjobs_gone WHERE id IN ({marks(ids)})", list(ids))
