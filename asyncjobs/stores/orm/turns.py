"""Turns: what one of many does from time to time."""

from asyncjobs.stores.orm.database import Cursor, Database

_UNTIL = "SELECT until FROM asyncjobs_turn WHERE name = %s"
_TAKE = "UPDATE asyncjobs_turn SET until = %s WHERE name = %s AND until = %s"
_FIRST = {
    "postgresql": "INSERT INTO asyncjobs_turn (name, until) VALUES (%s, %s) ON CONFLICT DO NOTHING",
    "sqlite": "INSERT OR IGNORE INTO asyncjobs_turn (name, until) VALUES (%s, %s)",
    "mysql": "INSERT IGNORE INTO asyncjobs_turn (name, until) VALUES (%s, %s)",
}


def turn(database: Database, name: str, *, every: int, now: int) -> bool:
    """Whether it is the caller's. Those who have to wait write nothing."""

    def work(cursor: Cursor) -> bool:
        cursor.execute(_UNTIL, [name])
        row = cursor.fetchone()
        if row is None:
            cursor.execute(_FIRST[database.vendor], [name, now + every])
        elif 0 < row[0] - now <= every:
            return False
        else:
            cursor.execute(_TAKE, [now + every, name, row[0]])
        return bool(cursor.rowcount == 1)

    return database.directly(work)
