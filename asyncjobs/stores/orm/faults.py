"""How many jobs are dead of each fault, by the day they failed on: a tally of its own, kept as the one of counts is."""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple, Self

from asyncjobs.domain.job import Job
from asyncjobs.stores.base import DAY_MS, Fault, fault_days
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.tally import take_oldest

DAYS_APART: Final = 9  # so many days are told apart: more than are asked for, because a clock may be set back
LONG_PAST: Final = 0  # the day of all others
NOBODY: Final = -1  # the time at which a fault struck whose jobs have left: to ask for NULL would be to look twice

_SUMS = "SELECT fault, day, sum(amount) FROM asyncjobs_fault WHERE fault IN ({faults}) GROUP BY fault, day"
_FOLDABLE = "SELECT sum(n - 1) FROM (SELECT count(*) AS n FROM asyncjobs_fault GROUP BY fault, day) AS sums"
_END = "(SELECT {column} FROM asyncjobs_job WHERE fault = {fault} ORDER BY position {way}, seq {way} LIMIT 1)"
_LAST = _END.format(column="position", fault="known.fault", way="DESC")
_NEWEST: Final = f"""
    SELECT struck.fault, struck.last_at,
        {_END.format(column="position", fault="struck.fault", way="ASC")},
        {_END.format(column="id", fault="struck.fault", way="DESC")}
    FROM (
        SELECT known.fault, coalesce({_LAST}, {NOBODY}) AS last_at
        FROM (SELECT fault FROM asyncjobs_fault GROUP BY fault HAVING sum(amount) > 0) AS known
        ORDER BY last_at DESC, known.fault DESC LIMIT %s
    ) AS struck
    WHERE struck.last_at <> {NOBODY}
    ORDER BY struck.last_at DESC, struck.fault DESC
"""


class Death(NamedTuple):
    """Where a dead job is counted."""

    fault: str
    day: int

    @classmethod
    def at(cls, fault: str, time: int) -> Self:
        return cls(fault, time - time % DAY_MS)


def deaths_of(jobs: Iterable[Job]) -> list[Death]:
    """Where those of these jobs are counted that are dead."""
    return [Death.at(job.fault, job.score) for job in jobs if job.fault is not None]


def record(cursor: Cursor, *, died: Iterable[Death] = (), left: Iterable[Death] = ()) -> None:
    """Counts the jobs that died, and those that are dead no more."""
    amounts = Counter(died)
    amounts.subtract(left)
    add(cursor, amounts)


def add(cursor: Cursor, amounts: Counter[Death]) -> None:
    rows = [(*death, amount) for death, amount in sorted(amounts.items()) if amount]
    if not rows:
        return
    values = ", ".join(["(%s, %s, %s)"] * len(rows))
    sql = f"INSERT INTO asyncjobs_fault (fault, day, amount) VALUES {values}"
    cursor.execute(sql, [value for row in rows for value in row])


def fold(cursor: Cursor, *, database: Database, now: int) -> int:
    """One fold; answers how many rows fewer there are now."""
    rows = take_oldest(cursor, database, "asyncjobs_fault", "fault, day, amount")
    first = fault_days(now, DAYS_APART)[0]
    amounts: Counter[Death] = Counter()
    for _, fault, day, amount in rows:
        amounts[Death(fault, day if day >= first else LONG_PAST)] += amount
    add(cursor, amounts)
    return len(rows) - sum(1 for amount in amounts.values() if amount)


def faults(database: Database, limit: int, *, now: int) -> tuple[list[Fault], int]:
    """The faults that struck last, and how many rows of tally could be folded."""
    return database.directly(partial(_faults, limit=limit, days=fault_days(now)))


def _faults(cursor: Cursor, *, limit: int, days: list[int]) -> tuple[list[Fault], int]:
    cursor.execute(_NEWEST, [limit])
    newest = cursor.fetchall()
    by_day = _by_day(cursor, [row[0] for row in newest], last=days[-1])
    cursor.execute(_FOLDABLE)
    [foldable] = cursor.fetchone()
    found = [
        Fault(
            fault=fault,
            count=by_day[fault].total(),
            first_at=first_at,
            last_at=last_at,
            days=tuple(by_day[fault][day] for day in days),
            newest=job_id,
        )
        for fault, last_at, first_at, job_id in newest
        if by_day[fault].total() > 0  # some of its jobs may have left since the first look
    ]
    return found, int(foldable or 0)


def _by_day(cursor: Cursor, faults: list[str], *, last: int) -> dict[str, Counter[int]]:
    """How many jobs are dead of each of these faults, by day; what is of the `last` day or later counts as of that."""
    by_day: dict[str, Counter[int]] = {fault: Counter() for fault in faults}
    if faults:
        cursor.execute(_SUMS.format(faults=marks(faults)), faults)
        for fault, day, amount in cursor.fetchall():
            by_day[fault][min(day, last)] += int(amount)
    return by_day
