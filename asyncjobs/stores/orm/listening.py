"""PostgreSQL's notifications: who makes a job ready names its queue at commit, and who waits hears it."""

import time
from collections.abc import Collection
from typing import Any, Final

from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.waking import readable

CHANNEL: Final = "asyncjobs"
RING: Final = f"SELECT pg_notify('{CHANNEL}', %s)"
# For each row whose job may be claimed, or will be. Of equal ones in a transaction the database sends one.
RING_IF_AWAITED: Final = f"CASE WHEN status IN (100, 200) THEN pg_notify('{CHANNEL}', queue) END"


class Ear:
    """Hears which queues are rung, on one connection of the driver."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._rung: set[str] = set()
        driver.add_notify_handler(lambda notify: self._rung.add(notify.payload))

    def forget(self) -> None:
        """What was rung until now is looked at next."""
        self._rung.clear()

    def hears(self, queues: Collection[str], *, timeout: float, wake: int | None) -> bool:
        """Whether one of these was rung, before `wake` could be read and before `timeout` milliseconds were over."""
        end = time.monotonic() + timeout / 1000
        while not self._rung.intersection(queues):
            ready = readable(self.driver.fileno(), wake, timeout=(end - time.monotonic()) * 1000)
            if not ready or wake in ready:
                return False
            self.driver.pgconn.consume_input()
            while notify := self.driver.pgconn.notifies():
                self._rung.add(notify.extra.decode())
        return True


class Deaf:
    """A connection that hears nothing."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver


def listen(database: Database, cursor: Cursor, known: Ear | Deaf | None) -> Ear | Deaf | None:
    """The ear on the thread's connection; None while a transaction is open, in which nothing would be heard."""
    driver = database.connection.connection
    if database.is_in_transaction or not database.connection.get_autocommit():
        return None
    if known is not None and known.driver is driver:
        return known
    if not _may_hear(database, cursor, driver):
        return Deaf(driver)
    cursor.execute(f"LISTEN {CHANNEL}")
    return Ear(driver)


def _may_hear(database: Database, cursor: Cursor, driver: Any) -> bool:
    """Not through a pooler, whose next statement may be another connection's. It gives out process ids of its own."""
    if not database.is_postgres or not hasattr(driver, "pgconn"):
        return False
    if database.connection.settings_dict["OPTIONS"].get("pool"):
        return False
    cursor.execute("SELECT pg_backend_pid()")
    return bool(cursor.fetchone()[0] == driver.pgconn.backend_pid)
