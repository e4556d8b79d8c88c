"""Queues whose claims are stopped."""

from collections.abc import Sequence

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Pause
from asyncjobs.stores.orm import tally
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.listening import RING


def pauses(cursor: Cursor) -> dict[str, Pause]:
    """All pauses by queue, those that are over too."""
    cursor.execute("SELECT queue, since, reason, until, paused_by FROM asyncjobs_pause")
    return {
        queue: Pause(queue=queue, since=since, reason=reason, until=until, by=by)
        for queue, since, reason, until, by in cursor.fetchall()
    }


def open_queues(cursor: Cursor, queues: Sequence[str], *, now: int) -> list[str]:
    """These queues without the paused ones, each once."""
    paused = {queue for queue, pause in pauses(cursor).items() if pause.holds(now)}
    return [queue for queue in dict.fromkeys(queues) if queue not in paused]


def pause(database: Database, pause: Pause) -> None:
    row = {
        "queue": pause.queue,
        "since": pause.since,
        "reason": pause.reason,
        "until": pause.until,
        "paused_by": pause.by,
    }

    def work(cursor: Cursor) -> None:
        database.put(cursor, "asyncjobs_pause", row, key="queue")
        # The queue is known from now on, even without a job.
        tally.add(cursor, [(pause.queue, JobStatus.QUEUED.value, 0, 0, 0)])

    database.atomically(work)


def resume(database: Database, queue: str, *, now: int) -> bool:
    def work(cursor: Cursor) -> bool:
        stopped = pauses(cursor).get(queue)
        cursor.execute("DELETE FROM asyncjobs_pause WHERE queue = %s", [queue])
        if database.is_postgres:
            cursor.execute(RING, [queue])
        return stopped is not None and stopped.holds(now)

    return database.atomically(work)
