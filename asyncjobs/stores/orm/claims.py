"""Claiming: due jobs are promoted, ready ones leased, each to one worker, without waiting for other claimers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from asyncjobs.domain import transitions
from asyncjobs.domain.job import INDEX, Job, JobStatus
from asyncjobs.stores.base import PROMOTE_LIMIT
from asyncjobs.stores.orm import tally
from asyncjobs.stores.orm.clock import DatabaseClock
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.pauses import open_queues
from asyncjobs.stores.orm.rows import JOB_COLUMNS, readable
from asyncjobs.stores.orm.tally import Move, Place, minute_of

_QUEUE = INDEX["queue"]


class Claim(NamedTuple):
    """Who takes how many jobs, from which open queues, until when."""

    queues: list[str]
    worker: str
    limit: int
    until: int
    now: int


def claim(
    database: Database, clock: DatabaseClock, queues: Sequence[str], *, worker: str, limit: int, lease: int
) -> list[Job]:
    def work(cursor: Cursor) -> list[Job]:
        leases = clock.tick(cursor, lease)
        wanted = open_queues(cursor, queues, now=leases.last)
        if not wanted or limit < 1:
            return []
        claim = Claim(wanted, worker, limit, leases.time + lease, leases.last)
        if database.is_postgres:
            return _take_on_postgres(cursor, claim)
        return _take(cursor, claim, database.unlocked_only)

    if database.is_postgres:
        return database.directly(work)
    return database.atomically(work)


_COUNTED = """
    counted AS (
        INSERT INTO asyncjobs_tally (queue, status, amount, ended, at)
        SELECT moved.queue, place.status, place.sign * moved.jobs, 0, %(minute)s
        FROM (SELECT queue, count(*) AS jobs FROM {changed} GROUP BY queue) AS moved
        CROSS JOIN (VALUES ({old}, -1), ({new}, 1)) AS place (status, sign)
    )
"""
_PROMOTE_ON_POSTGRES = f"""
    WITH due AS (
        SELECT job.seq FROM unnest(%(queues)s::text[]) AS wanted (queue)
        CROSS JOIN LATERAL (
            SELECT seq FROM asyncjobs_job
            WHERE queue = wanted.queue AND status = 200 AND position <= %(now)s
            ORDER BY position, seq LIMIT {PROMOTE_LIMIT} FOR UPDATE SKIP LOCKED
        ) AS job
    ), promoted AS (
        UPDATE asyncjobs_job AS job SET status = 100, version = version + 1, updated_at = %(now)s
        FROM due WHERE job.seq = due.seq RETURNING job.queue
    ), {_COUNTED.format(changed="promoted", old=200, new=100)}
    SELECT count(*) FROM promoted
"""
_TAKE_ON_POSTGRES = f"""
    WITH ready AS (
        SELECT job.seq FROM unnest(%(queues)s::text[]) AS wanted (queue)
        CROSS JOIN LATERAL (
            SELECT seq FROM asyncjobs_job
            WHERE queue = wanted.queue AND status = 100
            ORDER BY priority DESC, position, seq LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ) AS job
        LIMIT %(limit)s
    ), started AS (
        UPDATE asyncjobs_job AS job SET
            status = 300, version = version + 1, attempt = attempt + 1, worker = %(worker)s,
            claimed_until = %(until)s, position = %(until)s, started_at = %(now)s, updated_at = %(now)s,
            unique_held = CASE WHEN unique_while = 'pending' THEN NULL ELSE unique_held END
        FROM ready WHERE job.seq = ready.seq RETURNING {JOB_COLUMNS}, job.seq
    ), {_COUNTED.format(changed="started", old=100, new=300)}
    SELECT {JOB_COLUMNS}, job.seq FROM started AS job
"""


def _take_on_postgres(cursor: Cursor, claim: Claim) -> list[Job]:
    values = {**claim._asdict(), "minute": minute_of(claim.now)}
    cursor.execute(_PROMOTE_ON_POSTGRES, values)
    cursor.execute(_TAKE_ON_POSTGRES, values)
    turns = {queue: turn for turn, queue in enumerate(claim.queues)}
    rows = readable(cursor.fetchall())
    rows.sort(key=lambda row: (turns[row[0].queue], -row[0].priority, row[0].ready_at, row[1]))
    return [job for job, _ in rows]


_DUE = """
    SELECT seq FROM asyncjobs_job WHERE status = 200 AND queue = %s AND position <= %s
    ORDER BY position, seq LIMIT %s
"""
_READY = f"""
    SELECT {JOB_COLUMNS}, job.seq FROM asyncjobs_job AS job WHERE status = 100 AND queue = %s
    ORDER BY priority DESC, position, seq LIMIT %s
"""
_START = """
    UPDATE asyncjobs_job SET status = 300, version = version + 1, attempt = attempt + 1, worker = %s,
        claimed_until = %s, position = %s, started_at = %s, updated_at = %s,
        unique_held = CASE WHEN unique_while = 'pending' THEN NULL ELSE unique_held END
    WHERE status = 100 AND seq IN ({seqs})
"""
_PROMOTE = """
    UPDATE asyncjobs_job SET status = 100, version = version + 1, updated_at = %s
    WHERE status = 200 AND seq IN ({seqs})
"""


def _take(cursor: Cursor, claim: Claim, unlocked_only: str) -> list[Job]:
    rows: list[Any] = []
    for queue in claim.queues:
        _promote(cursor, claim, queue, unlocked_only)
        cursor.execute(_READY + unlocked_only, [queue, claim.limit - len(rows)])
        rows += cursor.fetchall()
        if len(rows) >= claim.limit:
            break
    jobs = [job for job, _ in readable(rows)]
    _start(cursor, claim, rows)
    return [transitions.start(job, worker=claim.worker, until=claim.until, now=claim.now) for job in jobs]


def _promote(cursor: Cursor, claim: Claim, queue: str, unlocked_only: str) -> None:
    cursor.execute(_DUE + unlocked_only, [queue, claim.now, PROMOTE_LIMIT])
    seqs = [row[0] for row in cursor.fetchall()]
    if not seqs:
        return
    cursor.execute(_PROMOTE.format(seqs=marks(seqs)), [claim.now, *seqs])
    move = Move(Place(queue, JobStatus.SCHEDULED.value), Place(queue, JobStatus.QUEUED.value))
    tally.record(cursor, [move] * cursor.rowcount, now=claim.now)


def _start(cursor: Cursor, claim: Claim, rows: list[Any]) -> None:
    if not rows:
        return
    values = [claim.worker, claim.until, claim.until, claim.now, claim.now, *(row[-1] for row in rows)]
    cursor.execute(_START.format(seqs=marks(rows)), values)
    queues = [row[_QUEUE] for row in rows]
    moves = [Move(Place(queue, JobStatus.QUEUED.value), Place(queue, JobStatus.IN_PROGRESS.value)) for queue in queues]
    tally.record(cursor, moves, now=claim.now)
