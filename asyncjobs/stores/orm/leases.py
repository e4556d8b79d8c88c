"""Leases: extended by heartbeats, and lapsed without them. Also what a worker holds, and who lives."""

from collections.abc import Mapping

from asyncjobs.domain.job import Job
from asyncjobs.stores.base import DAY_MS, Beat, WorkerRecord
from asyncjobs.stores.orm.clock import DatabaseClock
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.rows import JOB_COLUMNS, readable

_LAPSED = f"""
    SELECT {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE status = 300 AND position <= %s
    ORDER BY position, seq LIMIT %s
"""
_HELD = f"SELECT {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE status = 300 AND worker = %s ORDER BY position, seq"


def beat(
    database: Database, clock: DatabaseClock, worker: str, held: Mapping[str, int], *, lease: int, about: str
) -> Beat:
    def work(cursor: Cursor) -> Beat:
        leases = clock.tick(cursor, lease)
        row = {"worker": worker, "beat_at": leases.last, "about": about}
        database.put(cursor, "asyncjobs_worker", row, key="worker")
        beat = _extend(cursor, database, worker, held, until=leases.time + lease)
        cursor.execute("SELECT coalesce(ordered, '') FROM asyncjobs_worker WHERE worker = %s", [worker])
        return beat._replace(order=cursor.fetchone()[0])

    return database.atomically(work)


def _extend(cursor: Cursor, database: Database, worker: str, held: Mapping[str, int], *, until: int) -> Beat:
    if not held:
        return Beat([], [])
    cursor.execute(
        "SELECT id, version, cancel_requested, seq FROM asyncjobs_job"
        f" WHERE status = 300 AND worker = %s AND id IN ({marks(held)}) ORDER BY seq {database.locked}",
        [worker, *held],
    )
    rows = {row[0]: row for row in cursor.fetchall() if row[1] == held[row[0]]}
    if rows:
        sql = f"UPDATE asyncjobs_job SET claimed_until = %s, position = %s WHERE seq IN ({marks(rows)})"
        cursor.execute(sql, [until, until, *(row[3] for row in rows.values())])
    lost = [job_id for job_id in held if job_id not in rows]
    return Beat(lost, [job_id for job_id in held if job_id in rows and rows[job_id][2] is not None])


def lapsed(database: Database, clock: DatabaseClock, limit: int, *, lease: int) -> list[Job]:
    def work(cursor: Cursor) -> list[Job]:
        leases = clock.tick(cursor, lease)
        if leases.in_grace:
            return []
        cursor.execute(_LAPSED, [leases.time, limit])
        return [job for job, _ in readable(cursor.fetchall())]

    return database.atomically(work)


def held(database: Database, worker: str) -> list[Job]:
    def work(cursor: Cursor) -> list[Job]:
        cursor.execute(_HELD, [worker])
        return [job for job, _ in readable(cursor.fetchall())]

    return database.directly(work)


def workers(database: Database, *, now: int) -> list[WorkerRecord]:
    def work(cursor: Cursor) -> list[WorkerRecord]:
        cursor.execute(
            "SELECT worker, beat_at, about, coalesce(ordered, '') FROM asyncjobs_worker WHERE beat_at > %s",
            [now - DAY_MS],
        )
        return sorted(WorkerRecord(*row) for row in cursor.fetchall())

    return database.directly(work)


def order(database: Database, worker: str, order: str, *, now: int) -> bool:
    def work(cursor: Cursor) -> bool:
        cursor.execute(
            "UPDATE asyncjobs_worker SET ordered = %s WHERE worker = %s AND beat_at > %s",
            [order, worker, now - DAY_MS],
        )
        return bool(cursor.rowcount)

    return database.atomically(work)
