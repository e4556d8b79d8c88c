"""Waiting for work by looking, at growing intervals, whether there is any."""

import time
from collections.abc import Sequence

from asyncjobs.stores.orm.clock import DatabaseClock
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.pauses import open_queues

FIRST_LOOK_MS = 10
LONGEST_LOOK_MS = 250

_NEXT = """
    SELECT (SELECT min(position) FROM asyncjobs_job WHERE queue = %s AND status = 100),
           (SELECT min(position) FROM asyncjobs_job WHERE queue = %s AND status = 200)
"""


def wait(database: Database, clock: DatabaseClock, queues: Sequence[str], *, timeout: int) -> None:
    end = time.monotonic() + timeout / 1000
    pause = FIRST_LOOK_MS
    while True:
        due_in = database.directly(lambda cursor: _due_in(cursor, queues, clock.now()))
        left = (end - time.monotonic()) * 1000
        if due_in == 0 or left <= 0:
            return
        time.sleep(min(pause, left, due_in) / 1000)
        pause = min(pause * 2, LONGEST_LOOK_MS)


def _due_in(cursor: Cursor, queues: Sequence[str], now: int) -> float:
    """Milliseconds until a job of these queues is ready; 0 when one is."""
    soonest = float("inf")
    for queue in open_queues(cursor, queues, now=now):
        cursor.execute(_NEXT, [queue, queue])
        ready, due = cursor.fetchone()
        if ready is not None:
            return 0
        if due is not None:
            soonest = min(soonest, max(0, due - now))
    return soonest
