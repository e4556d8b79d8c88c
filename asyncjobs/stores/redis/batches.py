"""Turns jobs into script arguments. Jobs that write the same values travel as one group, so that a batch of a
thousand alike costs little more than its ids and payloads. `lua/group.lua` reads what is written here."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import compress, groupby
from operator import attrgetter, is_not, itemgetter, ne
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import FIELDS, Job, values_of
from asyncjobs.stores.base import JOURNAL_LIMITS, Change
from asyncjobs.stores.redis import codec, keys
from asyncjobs.stores.redis.codec import time_text

Arg = str | int

_TIMES: Final = ("created_at", "updated_at", "due_at", "unique_until")
_OWN: Final = tuple(field for field in codec.FIELDS if field.own and field.attribute not in {"id", "payload"})
_SHARED: Final = tuple(field for field in codec.FIELDS if not field.own and field.attribute not in _TIMES)
_own_of: Final = attrgetter(*(field.attribute for field in _OWN))
_shared_of: Final = attrgetter(*(field.attribute for field in _SHARED))
_stamps_of: Final = attrgetter(*_TIMES)
_POSITIONS: Final = range(len(FIELDS))
_NO_OWN: Final = (None,) * len(_OWN)


class Batch(NamedTuple):
    """Script arguments, and which of the given jobs each of their rows is."""

    args: list[Arg]
    rows: list[int]


class _Kind(NamedTuple):
    """What new jobs of one handler have in common, as parts of a JSON list: worth remembering from batch to batch."""

    queue: str
    place: str
    indexes: str
    shared: str
    own: tuple[codec.Field, ...]
    own_names: str


def new_jobs(jobs: Sequence[Job], *, in_order: bool = False) -> Batch:
    """The arguments of `add`, the rows in the order of the jobs if that matters."""
    group = _in_order if in_order or _has_twins(jobs) else _together
    batch = Batch([], [])
    for (shared, shape, _), positions in group(map(_alike, jobs)):
        batch.args.extend(_new_group([jobs[position] for position in positions], _kind(shared, shape)))
        batch.rows.extend(positions)
    return batch


def _alike(job: Job) -> Any:
    """Jobs for which this is equal can travel as one group."""
    own = _own_of(job)
    shape = () if own == _NO_OWN else tuple([value is not None for value in own])
    return _shared_of(job), shape, _stamps_of(job)


def _has_twins(jobs: Sequence[Job]) -> bool:
    keys = [job.unique_key for job in jobs if job.unique_key is not None]
    return len(set(keys)) < len(keys)


def _together(alike: Iterable[Any]) -> Iterable[tuple[Any, list[int]]]:
    groups: dict[Any, list[int]] = {}
    for position, key in enumerate(alike):
        groups.setdefault(key, []).append(position)
    return groups.items()


def _in_order(alike: Iterable[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Only neighbors: of twins in one call, the first one is stored."""
    for key, neighbors in groupby(enumerate(alike), key=itemgetter(1)):
        yield key, [position for position, _ in neighbors]


@lru_cache(maxsize=1024)
def _kind(values: tuple[Any, ...], shape: tuple[bool, ...]) -> _Kind:
    of = {field.attribute: value for field, value in zip(_SHARED, values, strict=True)}
    own = tuple(compress(_OWN, shape))
    empty = [part for field in _OWN if field.always and field not in own for part in (field.name, "")]
    return _Kind(
        queue=listed([of["queue"]]),
        place=listed([keys.place(of["status"], of["queue"], of["priority"])]),
        indexes=listed(keys.indexes(of["queue"], of["name"], of["owner"], of["tags"])),
        shared=listed([*_pairs(_SHARED, values), *empty]),
        own=own,
        own_names=listed(["Payload", *[field.name for field in own]]),
    )


def _new_group(jobs: list[Job], kind: _Kind) -> list[Arg]:
    first = jobs[0]
    limit = "" if first.unique_until is None else first.unique_until
    facts = f'{kind.place},{first.score},{kind.queue},{first.created_at},"{limit}",{kind.indexes}'
    args: list[Arg] = [f"[{len(jobs)},[{facts}],[{kind.shared},{_stamps(first)}],[{kind.own_names}],[]]"]
    for job in jobs:
        args += (job.id, "", job.payload)
        if kind.own:
            args += [field.write(getattr(job, field.attribute)) for field in kind.own]
    return args


def _stamps(job: Job) -> str:
    """The times as the inside of a JSON list. Their texts need no quoting, and an encoder costs more than the rest."""
    due = "" if job.due_at is None else time_text(job.due_at)
    until = "" if job.unique_until is None else f',"UniqueUntil","{time_text(job.unique_until)}"'
    created, updated = time_text(job.created_at), time_text(job.updated_at)
    return f'"CreatedAt","{created}","LastUpdatedAt","{updated}","RetryDelayUntil","{due}"{until}'


def _pairs(fields: Iterable[codec.Field], values: Iterable[Any]) -> Iterator[Arg]:
    for field, value in zip(fields, values, strict=True):
        text = codec.write(field, value)
        if text is not None:
            yield field.name
            yield text


def listed(items: Iterable[Arg]) -> str:
    """The inside of a JSON list, to be put into a group's head."""
    return _dumps(list(items))[1:-1]


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class _Plan(NamedTuple):
    """Which fields a change writes, taken from the positions at which two jobs differ."""

    shared: tuple[codec.Field, ...]
    shared_of: Any
    own: tuple[codec.Field, ...]


@cache
def _plan(changed: tuple[int, ...]) -> _Plan:
    fields = [codec.BY_ATTRIBUTE[FIELDS[position]] for position in changed if FIELDS[position] != "version"]
    shared = tuple(field for field in fields if not field.own)
    positions = [FIELDS.index(field.attribute) for field in shared]
    # Two positions at least, so that itemgetter always answers a tuple.
    return _Plan(shared, itemgetter(*positions, 0, 0), tuple(field for field in fields if field.own))


def changed_jobs(changes: Sequence[Change], now: int) -> Batch:
    """The arguments of `swap`."""
    groups: dict[Any, list[int]] = {}
    for position, (old, new, entries) in enumerate(changes):
        new_values = values_of(new)
        # A transition may write what is the same already; a note that does would be stale when it is repeated.
        differs = ne if new.version == old.version else is_not
        changed = tuple(compress(_POSITIONS, map(differs, new_values, values_of(old))))
        shared = _plan(changed).shared_of(new_values)[:-2]
        unique = new.id if new.unique_key is not None else None
        kinds = tuple([entry.kind for entry in entries]) if entries else ()
        alike = (changed, shared, old.status, old.queue, old.priority, old.fault, new.score, unique, kinds)
        groups.setdefault(alike, []).append(position)
    batch = Batch([], [])
    for key, positions in groups.items():
        batch.args.extend(_changed_group([changes[position] for position in positions], _plan(key[0]), now))
        batch.rows.extend(positions)
    return batch


def _changed_group(changes: list[Change], plan: _Plan, now: int) -> list[Arg]:
    old, new, entries = changes[0]
    shared: list[Arg] = []
    gone: list[str] = []
    for field in plan.shared:
        text = codec.write(field, getattr(new, field.attribute))
        shared.extend((field.name, text)) if text is not None else gone.append(field.name)
    own = [field for field in plan.own if field.always or getattr(new, field.attribute) is not None]
    gone.extend(field.name for field in plan.own if field not in own)
    names = [field.name for field in own]
    journal = [[entry.kind for entry in entries], JOURNAL_LIMITS] if entries else []
    args: list[Arg] = [_dumps([len(changes), _facts(old, new, now), shared, names, gone, *journal])]
    for old, new, entries in changes:
        args += (new.id, old.version)
        for field in own:
            value = getattr(new, field.attribute)
            args.append("" if value is None else field.write(value))
        for entry in entries:
            args += (entry.at, entry.text)
    return args


def _facts(old: Job, new: Job, now: int) -> list[Arg]:
    places = ["", "", ""] if old.version == new.version else [_place(old), _place(new), new.score]
    ended = int(new.status) if Change(old, new).is_end else ""
    before = [str(int(old.status)), str(old.priority)]
    faults: list[Arg] = [old.fault or "", new.fault or ""] if old.fault != new.fault else []
    return [*places, ended, new.queue, new.version - old.version, *_unique_facts(old, new, now), *before, *faults]


def _place(job: Job) -> str:
    return keys.place(job.status, job.queue, job.priority)


def _unique_facts(old: Job, new: Job, now: int) -> list[Arg]:
    """The unique key to drop, the one to take, and until when."""
    if new.unique_key is None:
        return ["", "", ""]
    limit = "" if new.unique_until is None else str(new.unique_until)
    if new.holds_unique_key(now):
        return ["", new.unique_key, limit]
    return [new.unique_key, "", limit]
