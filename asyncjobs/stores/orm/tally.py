"""How many jobs a queue has in each status, and how many ended in each minute, without a row that all writers wait for.

Every batch of changes appends what it moved. Sums are taken when somebody asks, and the oldest rows are folded into
sums from time to time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from asyncjobs.domain.job import TERMINAL, Job, JobStatus
from asyncjobs.stores.base import SERIES_MINUTES, Minute, Pause, QueueCounts
from asyncjobs.stores.orm.database import Cursor, Database, marks

MINUTE_MS: Final = 60_000
FOLD_LIMIT: Final = 1_000  # rows folded at once
FOLD_ABOVE: Final = 2_000  # rows a reader of counts puts up with


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


def record(cursor: Cursor, moves: Iterable[Move], *, now: int) -> None:
    """Counts these moves."""
    amounts: Counter[Place] = Counter()
    ended: Counter[Place] = Counter()
    for (old, new), jobs in Counter(moves).items():
        if old is not None:
            amounts[old] -= jobs
        if new is not None:
            amounts[new] += jobs
        if old is not None and new is not None and new.status in TERMINAL and old.status not in TERMINAL:
            ended[new] += jobs
    rows = [
        (*place, amount, ended[place], minute_of(now)) for place, amount in amounts.items() if amount or ended[place]
    ]
    if rows:
        add(cursor, rows)


def add(cursor: Cursor, rows: list[tuple[str, int, int, int, int]]) -> None:
    """Rows of queue, status, amount, ended, minute."""
    values = ", ".join(["(%s, %s, %s, %s, %s)"] * len(rows))
    sql = f"INSERT INTO asyncjobs_tally (queue, status, amount, ended, at) VALUES {values}"
    cursor.execute(sql, [value for row in rows for value in row])


def backlog(cursor: Cursor, queue: str) -> int:
    """How many jobs of this queue have been accepted and not started."""
    sql = "SELECT sum(amount) FROM asyncjobs_tally WHERE queue = %s AND status IN (100, 150, 200)"
    cursor.execute(sql, [queue])
    return int(cursor.fetchone()[0] or 0)


_COUNTS = """
    SELECT count(*), queue, status, sum(amount) FROM asyncjobs_tally GROUP BY queue, status
"""
_OLDEST = "(SELECT min(position) FROM asyncjobs_job WHERE queue = %s AND status = 100)"


def counts(database: Database, *, now: int) -> list[QueueCounts]:
    """What the tally says, and since when each queue's oldest ready job waits."""
    return database.directly(lambda cursor: _counts(cursor, now))


def _counts(cursor: Cursor, now: int) -> list[QueueCounts]:
    cursor.execute(_COUNTS)
    rows = cursor.fetchall()
    sizes: dict[str, dict[JobStatus, int]] = {}
    for _, queue, status, amount in rows:
        of_queue = sizes.setdefault(queue, {})
        if amount:
            of_queue[JobStatus(status)] = int(amount)
    paused = pauses(cursor)
    queues = sorted(sizes.keys() | paused.keys())
    oldest = _oldest(cursor, [queue for queue in queues if JobStatus.QUEUED in sizes.get(queue, {})])
    return [
        QueueCounts(
            queue=queue,
            by_status=sizes.get(queue, {}),
            oldest_at=oldest.get(queue),
            pause=paused[queue] if queue in paused and paused[queue].holds(now) else None,
        )
        for queue in queues
    ]


def _oldest(cursor: Cursor, queues: list[str]) -> Mapping[str, int]:
    if not queues:
        return {}
    cursor.execute("SELECT " + ", ".join([_OLDEST] * len(queues)), queues)
    return dict(zip(queues, cursor.fetchone(), strict=True))


def pauses(cursor: Cursor) -> dict[str, Pause]:
    """All pauses by queue, those that are over too."""
    cursor.execute("SELECT queue, since, reason, until FROM asyncjobs_pause")
    return {row[0]: Pause(queue=row[0], since=row[1], reason=row[2], until=row[3]) for row in cursor.fetchall()}


_SERIES = """
    SELECT at, queue, status, sum(ended) FROM (
        SELECT at, queue, status, ended FROM asyncjobs_minute WHERE at > %s
        UNION ALL
        SELECT at, queue, status, ended FROM asyncjobs_tally WHERE at > %s AND ended > 0
    ) AS steps GROUP BY at, queue, status
"""


def series(database: Database, minutes: int, *, now: int) -> list[Minute]:
    since = now - min(minutes, SERIES_MINUTES) * MINUTE_MS
    rows = database.directly(lambda cursor: _all(cursor, _SERIES, [since, since]))
    return sorted(Minute(at, queue, JobStatus(status), int(ended)) for at, queue, status, ended in rows)


def _all(cursor: Cursor, sql: str, values: list[int]) -> list[tuple[int, str, int, int]]:
    cursor.execute(sql, values)
    rows: list[tuple[int, str, int, int]] = cursor.fetchall()
    return rows


_UPSERT_MINUTE = {
    "postgresql": "ON CONFLICT (at, queue, status) DO UPDATE SET ended = asyncjobs_minute.ended + excluded.ended",
    "sqlite": "ON CONFLICT (at, queue, status) DO UPDATE SET ended = asyncjobs_minute.ended + excluded.ended",
    "mysql": "ON DUPLICATE KEY UPDATE ended = asyncjobs_minute.ended + VALUES(ended)",
}


def fold(database: Database, *, now: int) -> int:
    """Puts sums in the place of the oldest rows, and forgets minutes past their time; answers how many rows it took."""
    return database.atomically(lambda cursor: _fold(cursor, database, now))


def _fold(cursor: Cursor, database: Database, now: int) -> int:
    cursor.execute(
        "SELECT seq, queue, status, amount, ended, at FROM asyncjobs_tally ORDER BY seq LIMIT %s "
        + database.unlocked_only,
        [FOLD_LIMIT],
    )
    rows = cursor.fetchall()
    if not rows:
        return 0
    cursor.execute(f"DELETE FROM asyncjobs_tally WHERE seq IN ({marks(rows)})", [row[0] for row in rows])
    amounts: Counter[tuple[str, int]] = Counter()
    ended: Counter[tuple[int, str, int]] = Counter()
    for _, queue, status, amount, ends, at in rows:
        amounts[queue, status] += amount
        ended[at, queue, status] += ends
    add(cursor, [(queue, status, amount, 0, 0) for (queue, status), amount in sorted(amounts.items())])
    _fold_minutes(cursor, database, [(*key, ends) for key, ends in sorted(ended.items()) if ends])
    cursor.execute("DELETE FROM asyncjobs_minute WHERE at < %s", [now - SERIES_MINUTES * MINUTE_MS])
    return len(rows)


def _fold_minutes(cursor: Cursor, database: Database, rows: list[tuple[int, str, int, int]]) -> None:
    if not rows:
        return
    sql = "INSERT INTO asyncjobs_minute (at, queue, status, ended) VALUES "
    sql += ", ".join(["(%s, %s, %s, %s)"] * len(rows)) + " " + _UPSERT_MINUTE[database.connection.vendor]
    cursor.execute(sql, [value for row in rows for value in row])
