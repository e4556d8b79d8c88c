"""Writing changes: each over the version it was made from, a batch with as few statements as the database allows."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from django.db import IntegrityError, transaction

from asyncjobs.domain.job import FIELDS, Job, values_of
from asyncjobs.stores.base import Change
from asyncjobs.stores.orm import tally
from asyncjobs.stores.orm.adds import let_go_of_expired
from asyncjobs.stores.orm.database import Cursor, Database
from asyncjobs.stores.orm.rows import json_text, postgres_type, written
from asyncjobs.stores.orm.tally import Move, minute_of

Names = tuple[str, ...]
Key = Literal["keep", "let go", "take"]


class Delta(NamedTuple):
    """What one change of a batch writes: these columns, and what becomes of the unique key."""

    turn: int
    old: Job
    new: Job
    names: Names
    key: Key

    @property
    def shape(self) -> tuple[Names, Key]:
        return self.names, self.key

    def value(self, name: str) -> Any:
        return self.new.score if name == "position" else written(name, getattr(self.new, name))

    @property
    def move(self) -> Move:
        return Move(tally.place_of(self.old), tally.place_of(self.new))


def swap(
    database: Database, changes: Sequence[Change], *, now: int, get: Callable[[Sequence[str]], list[Job | None]]
) -> list[bool]:
    done: set[int] = set()
    for wave in _waves(changes):
        deltas = [delta for delta in (_delta(turn, change, now) for turn, change in wave) if delta.names]
        if deltas:
            done |= _write(database, deltas, now)
    stale = [index for index in range(len(changes)) if index not in done]
    if stale:
        stored = get([changes[index].new.id for index in stale])
        done |= {index for index, job in zip(stale, stored, strict=True) if _is_stored(job, changes[index])}
    return [index in done for index in range(len(changes))]


def _waves(changes: Sequence[Change]) -> Iterator[list[tuple[int, Change]]]:
    """The changes in their order, parted so that none has two changes of one job."""
    waves: defaultdict[int, list[tuple[int, Change]]] = defaultdict(list)
    seen: defaultdict[str, int] = defaultdict(int)
    for index, change in enumerate(changes):
        waves[seen[change.new.id]].append((index, change))
        seen[change.new.id] += 1
    yield from waves.values()


def _delta(turn: int, change: Change, now: int) -> Delta:
    old, new = change
    names = [
        name
        for name, before, after in zip(FIELDS, values_of(old), values_of(new), strict=True)
        if before is not after and before != after
    ]
    if old.score != new.score:
        names.append("position")
    return Delta(turn, old, new, tuple(names), _key(old, new, now))


def _key(old: Job, new: Job, now: int) -> Key:
    if old.unique_key is None and new.unique_key is None:
        return "keep"
    if not new.holds_unique_key(now):
        return "let go"
    return "keep" if old.holds_unique_key(now) and old.unique_key == new.unique_key else "take"


def _is_stored(stored: Job | None, change: Change) -> bool:
    """Whether this change has been written before."""
    return stored is not None and all(
        getattr(stored, name) == after
        for name, before, after in zip(FIELDS, values_of(change.old), values_of(change.new), strict=True)
        if before != after
    )


def _write(database: Database, deltas: list[Delta], now: int) -> set[int]:
    """The indexes of those written."""
    if not database.is_postgres:
        return database.atomically(lambda cursor: _write_rows(cursor, database, deltas, now))
    groups = _groups(deltas)
    if len(groups) == 1 and deltas[0].key != "take":
        return database.directly(lambda cursor: _write_group(cursor, deltas, now))
    return database.atomically(lambda cursor: _write_groups(cursor, database, groups, now))


def _groups(deltas: list[Delta]) -> list[list[Delta]]:
    """Those that write the same columns together; unique keys are let go before others are taken."""
    groups: defaultdict[tuple[Names, Key], list[Delta]] = defaultdict(list)
    for delta in deltas:
        groups[delta.shape].append(delta)
    return sorted(groups.values(), key=lambda group: group[0].key == "take")


def _write_groups(cursor: Cursor, database: Database, groups: list[list[Delta]], now: int) -> set[int]:
    done: set[int] = set()
    for group in groups:
        indexes = _write_group(cursor, group, now)
        done |= indexes
        _take_keys(cursor, database, [delta for delta in group if delta.turn in indexes], now)
    return done


def _write_group(cursor: Cursor, group: list[Delta], now: int) -> set[int]:
    names, key = group[0].shape
    rows = [
        {"turn": delta.turn, "old_id": delta.new.id, "old_version": delta.old.version, "old_queue": delta.old.queue,
         "old_status": delta.old.status, **{name: delta.value(name) for name in names}}
        for delta in group
    ]  # fmt: skip
    cursor.execute(_update_on_postgres(names, key), [json_text(rows), minute_of(now)])
    return {row[0] for row in cursor.fetchall()}


_COUNTED = """
    INSERT INTO asyncjobs_tally (queue, status, amount, ended, at)
    SELECT queue, status, sum(amount), sum(ended), %s FROM (
        SELECT old_queue AS queue, old_status AS status, -1 AS amount, 0 AS ended FROM changed
        UNION ALL
        SELECT queue, status, 1, CASE WHEN status >= 400 AND old_status < 400 THEN 1 ELSE 0 END FROM changed
    ) AS step
    GROUP BY queue, status HAVING sum(amount) <> 0 OR sum(ended) <> 0
"""


@lru_cache(maxsize=256)
def _update_on_postgres(names: Names, key: Key) -> str:
    """One statement for a whole group: it writes, counts, and answers which rows it found at their version."""
    columns = ", ".join(map(postgres_type, names))
    sets = [f"{name} = new.{name}" for name in names] + (["unique_held = NULL"] if key == "let go" else [])
    return f"""
        WITH changed AS (
            UPDATE asyncjobs_job AS job SET {", ".join(sets)}
            FROM json_to_recordset(%s) AS new (
                turn bigint, old_id text, old_version bigint, old_queue text, old_status bigint, {columns}
            )
            WHERE job.id = new.old_id AND job.version = new.old_version
            RETURNING new.turn, new.old_queue, new.old_status, job.queue, job.status
        ), counted AS ({_COUNTED})
        SELECT turn FROM changed
    """


def _write_rows(cursor: Cursor, database: Database, deltas: list[Delta], now: int) -> set[int]:
    done = [delta for delta in deltas if _write_row(cursor, delta)]
    tally.record(cursor, [delta.move for delta in done], now=now)
    _take_keys(cursor, database, done, now)
    return {delta.turn for delta in done}


def _write_row(cursor: Cursor, delta: Delta) -> bool:
    values = [delta.value(name) for name in delta.names]
    cursor.execute(_update(delta.names, delta.key), [*values, delta.new.id, delta.old.version])
    return bool(cursor.rowcount == 1)


@lru_cache(maxsize=256)
def _update(names: Names, key: Key) -> str:
    sets = [f"{name} = %s" for name in names] + (["unique_held = NULL"] if key == "let go" else [])
    return f"UPDATE asyncjobs_job SET {', '.join(sets)} WHERE id = %s AND version = %s"


def _take_keys(cursor: Cursor, database: Database, deltas: list[Delta], now: int) -> None:
    """The jobs that hold their unique key again take it, each if it is free."""
    for delta in deltas:
        if delta.key != "take":
            continue
        let_go_of_expired(cursor, [delta.new.unique_key or ""], now=now)
        try:
            with transaction.atomic(using=database.alias):
                cursor.execute("UPDATE asyncjobs_job SET unique_held = unique_key WHERE id = %s", [delta.new.id])
        except IntegrityError:
            continue
