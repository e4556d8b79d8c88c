"""Receipts: what was answered to a request, kept in the transaction that stores its jobs."""

import json
from collections.abc import Sequence
from typing import Final

from asyncjobs.domain.job import Job
from asyncjobs.errors import StoreError
from asyncjobs.stores.base import Receipt, Repeated
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.rows import json_text

TRIES: Final = 5  # the one that is kept may go between our insert and our look

_COLUMNS: Final = "id, fingerprint, text, until, twins"
_INSERT: Final = f"INTO asyncjobs_receipt ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s)"
_KEEP: Final = {
    "postgresql": f"INSERT {_INSERT} ON CONFLICT DO NOTHING",
    "sqlite": f"INSERT OR IGNORE {_INSERT}",
    "mysql": f"INSERT IGNORE {_INSERT}",
}
_REPLACE: Final = """
    UPDATE asyncjobs_receipt SET fingerprint = %s, text = %s, until = %s, twins = %s WHERE id = %s AND until <= %s
"""


def keep(cursor: Cursor, database: Database, receipt: Receipt, *, now: int) -> None:
    """Keeps the receipt, or raises the one that is kept under its key already as `Repeated`.

    To come first in a transaction: others with the same key wait here for its end, and hold nothing meanwhile.
    """
    key, *rest, twins = receipt
    row = [*rest, json_text(twins)]
    for _ in range(TRIES):
        cursor.execute(_KEEP[database.vendor], [key, *row])
        if cursor.rowcount == 1:
            return
        kept = _kept(cursor, key, current=database.current)
        if kept is not None and kept.until > now:
            raise Repeated(kept)
        cursor.execute(_REPLACE, [*row, key, now])
        if cursor.rowcount == 1:
            return
    raise StoreError("receipts with this key come and go too fast")


def read(database: Database, key: str, *, now: int) -> Receipt | None:
    kept = database.directly(lambda cursor: _kept(cursor, key))
    return kept if kept is not None and kept.until > now else None


def _kept(cursor: Cursor, key: str, *, current: str = "") -> Receipt | None:
    cursor.execute(f"SELECT {_COLUMNS} FROM asyncjobs_receipt WHERE id = %s {current}", [key])
    row = cursor.fetchone()
    if row is None:
        return None
    _, fingerprint, text, until, twins = row
    return Receipt(key, fingerprint, text, until, tuple((position, job_id) for position, job_id in json.loads(twins)))


def note_twins(cursor: Cursor, receipt: Receipt, jobs: Sequence[Job], stored: Sequence[Job]) -> None:
    """Adds the twins of these jobs to a receipt that is kept."""
    found = [(position, twin.id) for position, twin in enumerate(stored) if twin.id != jobs[position].id]
    if found:
        twins = json_text([*receipt.twins, *found])
        cursor.execute("UPDATE asyncjobs_receipt SET twins = %s WHERE id = %s", [twins, receipt.key])
