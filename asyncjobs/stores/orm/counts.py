"""What the tally says: jobs by queue and status, and ends by minute."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import SERIES_MINUTES, Minute, QueueCounts
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.pauses import pauses
from asyncjobs.stores.orm.tally import MINUTE_MS

_STATUSES: Final = {int(status): status for status in JobStatus}

_SUMS = "SELECT queue, status, sum(amount), count(*) FROM asyncjobs_tally GROUP BY queue, status"
_OLDEST = "(SELECT min(position) FROM asyncjobs_job WHERE queue = %s AND status = 100)"
_ENDED = """
    SELECT at, queue, status, sum(ended) FROM (
        SELECT at, queue, status, ended FROM asyncjobs_minute WHERE at > %s
        UNION ALL
        SELECT at, queue, status, ended FROM asyncjobs_tally WHERE at > %s AND ended > 0
    ) AS step GROUP BY at, queue, status
"""


def counts(database: Database, *, now: int) -> tuple[list[QueueCounts], int]:
    """Every queue's counts, and how many rows of tally they took."""
    return database.directly(partial(_counts, now=now))


def _counts(cursor: Cursor, *, now: int) -> tuple[list[QueueCounts], int]:
    cursor.execute(_SUMS)
    rows = cursor.fetchall()
    paused = pauses(cursor)
    sizes: dict[str, dict[JobStatus, int]] = {queue: {} for queue in sorted({row[0] for row in rows} | paused.keys())}
    for queue, status, amount, _ in rows:
        if amount and status in _STATUSES:
            sizes[queue][_STATUSES[status]] = int(amount)
    oldest = _oldest(cursor, [queue for queue, by_status in sizes.items() if JobStatus.QUEUED in by_status])
    counted = [
        QueueCounts(
            queue=queue,
            by_status=by_status,
            oldest_at=oldest.get(queue),
            pause=paused[queue] if queue in paused and paused[queue].holds(now) else None,
        )
        for queue, by_status in sizes.items()
    ]
    return counted, sum(row[3] for row in rows)


def _oldest(cursor: Cursor, queues: list[str]) -> Mapping[str, int]:
    """Since when each queue's oldest ready job waits."""
    if not queues:
        return {}
    cursor.execute("SELECT " + ", ".join([_OLDEST] * len(queues)), queues)
    return dict(zip(queues, cursor.fetchone(), strict=True))


def series(database: Database, minutes: int, *, now: int) -> list[Minute]:
    return database.directly(partial(_series, since=now - min(minutes, SERIES_MINUTES) * MINUTE_MS))


def _series(cursor: Cursor, *, since: int) -> list[Minute]:
    cursor.execute(_ENDED, [since, since])
    return sorted(Minute(at, queue, _STATUSES[status], int(ended)) for at, queue, status, ended in cursor.fetchall())
