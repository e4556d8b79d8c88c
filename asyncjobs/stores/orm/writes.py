"""Writing changes: each over the version it was made from, only the fields it changes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, Literal, NamedTuple

from asyncjobs.domain.job import FIELDS, Job, JobStatus, values_of
from asyncjobs.stores.base import Change, Entry
from asyncjobs.stores.orm import faults, journal, tally, unique
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.listening import RING_IF_AWAITED
from asyncjobs.stores.orm.rows import JOB_COLUMNS, json_text, postgres_type, readable, score_of, written
from asyncjobs.stores.orm.tally import Move, Place, minute_of

Names = tuple[str, ...]
Key = Literal["keep", "let go", "take"]

_AWAITED: Final = frozenset({JobStatus.QUEUED, JobStatus.SCHEDULED})
_ORDERING: Final = frozenset({"status", "due_at", "created_at", "claimed_until", "completed_at"})


class Delta(NamedTuple):
    """What one change of a batch writes: these fields, what becomes of the unique key, entries for the journal."""

    turn: int
    old: Job
    new: Job
    names: Names
    key: Key
    entries: tuple[Entry, ...]

    @property
    def end(self) -> Place | None:
        """Where the job is counted among those that ended."""
        return tally.place_of(self.new) if Change(self.old, self.new).is_end else None

    def is_in(self, stored: Job) -> bool:
        """Whether all that is to be written is stored already."""
        return bool(self.names) and self.applied_to(stored) == stored

    def applied_to(self, stored: Job) -> Job:
        return stored.replace(**{name: getattr(self.new, name) for name in self.names})


def swap(database: Database, changes: Sequence[Change], *, now: int) -> list[bool]:
    done: set[int] = set()
    for wave in _waves([_delta(turn, change, now) for turn, change in enumerate(changes)]):
        write = _write_on_postgres if database.is_postgres else _write
        done |= write(database, wave, now)
        stale = [delta for delta in wave if delta.turn not in done]
        stored = database.directly(partial(_stored, deltas=stale)) if stale else {}
        # What is stored as it would be after the change has been written before: the answer was lost.
        done |= {delta.turn for delta in stale if delta.new.id in stored and delta.is_in(stored[delta.new.id])}
    return [turn in done for turn in range(len(changes))]


def _delta(turn: int, change: Change, now: int) -> Delta:
    old, new, entries = change
    names = tuple(
        name
        for name, before, after in zip(FIELDS, values_of(old), values_of(new), strict=True)
        if before is not after and before != after
    )
    return Delta(turn, old, new, names, _key(old, new, now), entries)


def _key(old: Job, new: Job, now: int) -> Key:
    if old.unique_key is None and new.unique_key is None:
        return "keep"
    if not new.holds_unique_key(now):
        return "let go"
    return "keep" if old.holds_unique_key(now) and old.unique_key == new.unique_key else "take"


def _waves(deltas: Iterable[Delta]) -> Iterator[list[Delta]]:
    """The deltas in their order, parted so that none has two of one job."""
    waves: defaultdict[int, list[Delta]] = defaultdict(list)
    seen: defaultdict[str, int] = defaultdict(int)
    for delta in deltas:
        waves[seen[delta.new.id]].append(delta)
        seen[delta.new.id] += 1
    yield from waves.values()


def _write(database: Database, deltas: list[Delta], now: int) -> set[int]:
    """The turns of those written, in one transaction: row by row, over rows that are locked."""
    return database.atomically(partial(_write_rows, database=database, deltas=deltas, now=now))


def _stored(cursor: Cursor, *, deltas: list[Delta], lock: str = "") -> dict[str, Job]:
    """The jobs as stored, by id. One that cannot be read counts as one that others have changed."""
    sql = f"SELECT {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE id IN ({marks(deltas)}) ORDER BY seq {lock}"
    cursor.execute(sql, [delta.new.id for delta in deltas])
    return {job.id: job for job, _ in readable(cursor.fetchall())}


def _write_rows(cursor: Cursor, *, database: Database, deltas: list[Delta], now: int) -> set[int]:
    stored = _stored(cursor, deltas=deltas, lock=database.locked)
    fresh = [delta for delta in deltas if delta.new.id in stored and stored[delta.new.id].version == delta.old.version]
    done = [(delta, stored[delta.new.id]) for delta in fresh if _write_row(cursor, delta, stored[delta.new.id])]
    moves = [Move(tally.place_of(job), tally.place_of(delta.applied_to(job))) for delta, job in done]
    tally.record(cursor, moves, ended=[delta.end for delta, _ in done if delta.end], now=now)
    _take_keys(cursor, database, [delta for delta, _ in done], now)
    _record_faults(cursor, [delta for delta, _ in done])
    _append_entries(cursor, database, [delta for delta, _ in done])
    return {delta.turn for delta, _ in done}


def _record_faults(cursor: Cursor, deltas: list[Delta]) -> None:
    """Of the deltas that were written: what was stored before differs in nothing that counts."""
    changed = [delta for delta in deltas if "fault" in delta.names]
    died = faults.deaths_of(delta.new for delta in changed)
    faults.record(cursor, died=died, left=faults.deaths_of(delta.old for delta in changed))


def _append_entries(cursor: Cursor, database: Database, deltas: list[Delta]) -> None:
    journal.append(cursor, database, [(delta.new.id, delta.entries) for delta in deltas])


def _write_row(cursor: Cursor, delta: Delta, stored: Job) -> bool:
    if not delta.names:
        return True
    values = [written(name, getattr(delta.new, name)) for name in delta.names]
    if _ORDERING.intersection(delta.names):
        values.append(delta.applied_to(stored).score)
    cursor.execute(_update(delta.names, delta.key), [*values, delta.new.id, delta.old.version])
    return bool(cursor.rowcount == 1)


@lru_cache(maxsize=256)
def _update(names: Names, key: Key) -> str:
    columns = [*names, "position"] if _ORDERING.intersection(names) else names
    sets = [f"{name} = %s" for name in columns] + (["unique_held = NULL"] if key == "let go" else [])
    return f"UPDATE asyncjobs_job SET {', '.join(sets)} WHERE id = %s AND version = %s"


def _write_on_postgres(database: Database, deltas: list[Delta], now: int) -> set[int]:
    """The turns of those written: one statement for all that write the same fields."""
    groups = _groups(deltas)
    is_simple = deltas[0].key != "take" and "fault" not in deltas[0].names
    if len(groups) == 1 and is_simple and not any(delta.entries for delta in deltas):
        return database.directly(partial(_write_group, group=groups[0], now=now))
    return database.atomically(partial(_write_groups, database=database, groups=groups, now=now))


def _groups(deltas: list[Delta]) -> list[list[Delta]]:
    """Unique keys are let go before others are taken."""
    groups: defaultdict[tuple[Names, Key], list[Delta]] = defaultdict(list)
    for delta in deltas:
        groups[delta.names, delta.key].append(delta)
    return sorted(groups.values(), key=lambda group: group[0].key == "take")


def _write_groups(cursor: Cursor, *, database: Database, groups: list[list[Delta]], now: int) -> set[int]:
    done: set[int] = set()
    for group in groups:
        turns = _write_group(cursor, group=group, now=now)
        _take_keys(cursor, database, [delta for delta in group if delta.turn in turns], now)
        done |= turns
    deltas = [delta for group in groups for delta in group if delta.turn in done]
    _record_faults(cursor, deltas)
    _append_entries(cursor, database, deltas)
    return done


def _write_group(cursor: Cursor, *, group: list[Delta], now: int) -> set[int]:
    names, key = group[0].names, group[0].key
    if not names:
        return _lock_group(cursor, group)
    rows = [
        {"turn": delta.turn, "old_id": delta.new.id, "old_version": delta.old.version}
        | {"ends": delta.end and delta.end.queue}
        | {name: written(name, getattr(delta.new, name)) for name in names}
        for delta in group
    ]
    rings = any(delta.new.status in _AWAITED for delta in group)
    cursor.execute(_update_on_postgres(names, key, rings), {"rows": json_text(rows), "minute": minute_of(now)})
    return {row[0] for row in cursor.fetchall()}


def _lock_group(cursor: Cursor, group: list[Delta]) -> set[int]:
    """The turns of those found at their version, of changes that write nothing but entries."""
    sql = f"SELECT id, version FROM asyncjobs_job WHERE id IN ({marks(group)}) ORDER BY seq FOR UPDATE"
    cursor.execute(sql, [delta.new.id for delta in group])
    found = set(cursor.fetchall())
    return {delta.turn for delta in group if (delta.new.id, delta.old.version) in found}


_COUNTED: Final = """
    INSERT INTO asyncjobs_tally (queue, status, amount, ended, at)
    SELECT queue, status, sum(amount), sum(ended), %(minute)s FROM (
        SELECT old_queue AS queue, old_status AS status, -1 AS amount, 0 AS ended FROM changed
        UNION ALL SELECT queue, status, 1, 0 FROM changed
        UNION ALL SELECT ends, status, 0, 1 FROM changed WHERE ends IS NOT NULL
    ) AS step
    GROUP BY queue, status HAVING sum(amount) <> 0 OR sum(ended) <> 0
"""


@lru_cache(maxsize=256)
def _update_on_postgres(names: Names, key: Key, rings: bool) -> str:  # noqa: FBT001 - a part of the cache's key
    """Writes, counts, and answers which rows were found at their version.

    `stored` is the row before: PostgreSQL below 18 does not return it otherwise.
    """
    sets = [f"{name} = new.{name}" for name in names] + (["unique_held = NULL"] if key == "let go" else [])
    if _ORDERING.intersection(names):
        score = score_of({name: f"new.{name}" if name in names else f"job.{name}" for name in _ORDERING})
        sets.append(f"position = {score}")
    return f"""
        WITH changed AS (
            UPDATE asyncjobs_job AS job SET {", ".join(sets)}
            FROM json_to_recordset(%(rows)s) AS new (
                turn bigint, old_id text, old_version bigint, ends text, {", ".join(map(postgres_type, names))}
            ), asyncjobs_job AS stored
            WHERE job.id = new.old_id AND job.version = new.old_version AND stored.seq = job.seq
            RETURNING new.turn, new.ends, stored.queue AS old_queue, stored.status AS old_status, job.queue, job.status
        ), counted AS ({_COUNTED})
        SELECT turn{", " + RING_IF_AWAITED if rings else ""} FROM changed
    """


def _take_keys(cursor: Cursor, database: Database, deltas: list[Delta], now: int) -> None:
    unique.take(cursor, database, [delta.new for delta in deltas if delta.key == "take"], now=now)
