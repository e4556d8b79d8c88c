"""The database's clock: an estimate for most, and the guarded time by which leases run out."""

import time
from collections.abc import Callable
from dataclasses import replace

from asyncjobs.domain.lease import LeaseClock, tick
from asyncjobs.stores.orm.database import Cursor, Database

REFRESH_SECONDS = 5.0
TRIES = 3

_POSTGRES_NOW = "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint"
_MYSQL_NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000"

_READ = "SELECT {now}, last, set_back, grace FROM asyncjobs_clock WHERE id = 1"
_CREATE = {
    "postgresql": "INSERT INTO asyncjobs_clock VALUES (1, %s, 0, 0) ON CONFLICT DO NOTHING",
    "sqlite": "INSERT OR IGNORE INTO asyncjobs_clock VALUES (1, %s, 0, 0)",
    "mysql": "INSERT IGNORE INTO asyncjobs_clock VALUES (1, %s, 0, 0)",
}
_FREE = "SELECT id FROM asyncjobs_clock WHERE id = 1 AND last = %s AND set_back = %s AND grace = %s {lock}"
_WRITE = "UPDATE asyncjobs_clock SET last = %s, set_back = %s, grace = %s WHERE id = 1 AND last = %s"


class DatabaseClock:
    """Every process asks the same database, so that no worker's own clock decides anything."""

    def __init__(self, database: Database, given: Callable[[], int] | None) -> None:
        self._database = database
        self._given = given
        self._ahead = 0.0  # of the monotonic clock, in seconds
        self._asked_at = float("-inf")
        self._seen: LeaseClock | None = None

    def now(self) -> int:
        """An estimate, asked of the database every few seconds."""
        if self._given is not None:
            return self._given()
        if self._database.is_sqlite:
            return _own_time()
        if time.monotonic() - self._asked_at > REFRESH_SECONDS:
            self._database.directly(self._ask)
        return int((self._ahead + time.monotonic()) * 1000)

    def tick(self, cursor: Cursor, lease: int) -> LeaseClock:
        """The lease clock, looked at now. It is written only when that is news, and never waited for."""
        for _ in range(TRIES):
            now, stored = self._read(cursor)
            known = self._last_look(stored)
            ticked = tick(known, now, lease)
            self._seen = ticked
            odd = (ticked.offset, ticked.grace) != (stored.offset, stored.grace)
            if not odd and 0 <= now - stored.last <= lease / 8:
                break
            if self._write(cursor, stored, ticked):
                break
        return ticked

    def _last_look(self, stored: LeaseClock) -> LeaseClock:
        """With the looks of this process that were no news to the others."""
        seen = self._seen
        if seen is None or seen.offset != stored.offset or seen.last < stored.last:
            return stored
        return replace(stored, last=seen.last)

    def _read(self, cursor: Cursor) -> tuple[int, LeaseClock]:
        cursor.execute(_READ.format(now=self._sql))
        row = cursor.fetchone()
        if row is None:
            cursor.execute(_CREATE[self._database.vendor], [self._ask(cursor)])
            self._seen = None
            return self._read(cursor)
        self._set(row[0])
        return row[0], LeaseClock(*row[1:])

    def _write(self, cursor: Cursor, stored: LeaseClock, ticked: LeaseClock) -> bool:
        """Whether the clock is written: not if another did meanwhile, or is about to."""
        cursor.execute(_FREE.format(lock=self._database.unlocked_only), [stored.last, stored.offset, stored.grace])
        if cursor.fetchone() is None:
            return False
        cursor.execute(_WRITE, [ticked.last, ticked.offset, ticked.grace, stored.last])
        return bool(cursor.rowcount == 1)

    def _ask(self, cursor: Cursor) -> int:
        cursor.execute(f"SELECT {self._sql}")
        now: int = cursor.fetchone()[0]
        self._set(now)
        return now

    def _set(self, now: int) -> None:
        self._asked_at = time.monotonic()
        self._ahead = now / 1000 - self._asked_at

    @property
    def _sql(self) -> str:
        if self._given is not None:
            return str(int(self._given()))
        if self._database.is_sqlite:
            return str(_own_time())  # SQLite runs in this process and has no other clock
        return _POSTGRES_NOW if self._database.is_postgres else _MYSQL_NOW


def _own_time() -> int:
    return time.time_ns() // 1_000_000
