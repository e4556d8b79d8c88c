"""Queues whose claims are stopped."""

from asyncjobs.stores.base import Pause
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.tally import Place, add, pauses


def pause(database: Database, pause: Pause) -> None:
    def work(cursor: Cursor) -> None:
        cursor.execute("DELETE FROM asyncjobs_pause WHERE queue = %s", [pause.queue])
        cursor.execute(
            "INSERT INTO asyncjobs_pause (queue, since, reason, until) VALUES (%s, %s, %s, %s)",
            [pause.queue, pause.since, pause.reason, pause.until],
        )
        # The queue is known from now on, even without a job.
        add(cursor, [(*Place(pause.queue, 100), 0, 0, 0)])

    database.atomically(work)


def resume(database: Database, queue: str, *, now: int) -> bool:
    def work(cursor: Cursor) -> bool:
        stopped = pauses(cursor).get(queue)
        cursor.execute("DELETE FROM asyncjobs_pause WHERE queue = %s", [queue])
        return stopped is not None and stopped.holds(now)

    return database.atomically(work)
