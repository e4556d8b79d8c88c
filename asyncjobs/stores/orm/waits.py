"""Waiting for work: by notifications where the database sends them, else by looking at growing intervals."""

import threading
import time
from collections.abc import Sequence
from functools import partial

from asyncjobs.stores.orm.clock import DatabaseClock
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.listening import Deaf, Ear, listen
from asyncjobs.stores.orm.pauses import pauses
from asyncjobs.stores.waking import readable

FIRST_LOOK_MS = 10
LONGEST_LOOK_MS = 250

_NEXT = """
    SELECT (SELECT min(position) FROM asyncjobs_job WHERE queue = %s AND status = 100),
           (SELECT min(position) FROM asyncjobs_job WHERE queue = %s AND status = 200)
"""


class Waiter(threading.local):
    """Waits on the thread's own connection."""

    def __init__(self, database: Database, clock: DatabaseClock) -> None:
        self._database = database
        self._clock = clock
        self._ear: Ear | Deaf | None = None

    def wait(self, queues: Sequence[str], *, timeout: int, wake: int | None) -> None:
        end = time.monotonic() + timeout / 1000
        pause = FIRST_LOOK_MS
        while True:
            due_in = self._database.directly(partial(self._look, queues))
            left = min((end - time.monotonic()) * 1000, due_in)
            if left <= 0 or not self._goes_on(queues, left, pause, wake):
                return
            pause = min(pause * 2, LONGEST_LOOK_MS)

    def _look(self, queues: Sequence[str], cursor: Cursor) -> float:
        """Listens first, so that nothing comes unnoticed after the look."""
        self._ear = listen(self._database, cursor, self._ear)
        if isinstance(self._ear, Ear):
            self._ear.forget()
        return _due_in(cursor, queues, self._clock.now())

    def _goes_on(self, queues: Sequence[str], left: float, pause: float, wake: int | None) -> bool:
        """Whether there may be something new, or nobody would say so."""
        ear = self._ear
        if not isinstance(ear, Ear):
            return not readable(wake, timeout=min(pause, left))

        def hear(cursor: Cursor) -> bool:
            with self._database.connection.wrap_database_errors:
                return ear.hears(queues, timeout=left, wake=wake)

        return self._database.directly(hear)


def _due_in(cursor: Cursor, queues: Sequence[str], now: int) -> float:
    """Milliseconds until a job of these queues may be claimed; 0 when one may be now."""
    soonest = float("inf")
    paused = pauses(cursor)
    for queue in dict.fromkeys(queues):
        pause = paused.get(queue)
        if pause is not None and pause.holds(now):
            due = pause.until
        else:
            cursor.execute(_NEXT, [queue, queue])
            ready, due = cursor.fetchone()
            if ready is not None:
                return 0
        if due is not None:
            soonest = min(soonest, max(0, due - now))
    return soonest
