"""Turns jobs into script arguments. Jobs that write the same values travel as one group, so that a batch of a
thousand alike costs little more than its ids and payloads. `lua/group.lua` reads what is written here."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import FIELDS, TERMINAL, Job, JobStatus, values_of
from asyncjobs.stores.base import Change
from asyncjobs.stores.redis import codec, keys

Arg = str | int

_OWN: Final = tuple(field for field in codec.FIELDS if field.own and field.attribute not in {"id", "payload"})
_SHARED: Final = tuple(field for field in codec.FIELDS if not field.own)
_own_of: Final = attrgetter(*(field.attribute for field in _OWN))
_shared_of: Final = attrgetter(*(field.attribute for field in _SHARED))
_NO_OWN: Final = (None,) * len(_OWN)


class Batch(NamedTuple):
    """Script arguments, and which of the given jobs each of their rows is."""

    args: list[Arg]
    rows: list[int]


def new_jobs(jobs: Sequence[Job]) -> Batch:
    """The arguments of `add`."""
    groups: dict[Any, list[int]] = {}
    for position, job in enumerate(jobs):
        own = _own_of(job)
        shape = () if own == _NO_OWN else tuple(value is None for value in own)
        groups.setdefault((_shared_of(job), shape), []).append(position)
    batch = Batch([], [])
    for positions in groups.values():
        batch.args.extend(_new_group([jobs[position] for position in positions]))
        batch.rows.extend(positions)
    return batch


def _new_group(jobs: list[Job]) -> Iterator[Arg]:
    first = jobs[0]
    own = [field for field, value in zip(_OWN, _own_of(first), strict=True) if value is not None]
    limit = "" if first.unique_until is None else first.unique_until
    facts = [
        keys.place(first.status, first.queue, first.priority),
        first.score,
        first.queue,
        first.created_at,
        limit,
        *keys.indexes(first),
    ]
    empty = [field.name for field in _OWN if field.always and field not in own]
    shared = [*_pairs(_SHARED, _shared_of(first)), *(part for name in empty for part in (name, ""))]
    yield from _group_head(len(jobs), facts, shared, ["Payload", *(field.name for field in own)], [])
    for job in jobs:
        yield job.id
        yield ""
        yield job.payload
        for field in own:
            yield field.write(getattr(job, field.attribute))


def _pairs(fields: Iterable[codec.Field], values: Iterable[Any]) -> Iterator[Arg]:
    for field, value in zip(fields, values, strict=True):
        text = codec.write(field, value)
        if text is not None:
            yield field.name
            yield text


def _group_head(
    count: int, facts: Sequence[Arg], shared: Sequence[Arg], own: Sequence[str], gone: Sequence[str]
) -> Iterator[Arg]:
    yield count
    for part in (facts, shared, own, gone):
        yield len(part)
        yield from part


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
    for position, (old, new) in enumerate(changes):
        old_values, new_values = values_of(old), values_of(new)
        changed = tuple(
            [place for place, value in enumerate(new_values) if value is not old_values[place] and value != old_values[place]]
        )
        shared = _plan(changed).shared_of(new_values)[:-2]
        unique = new.id if new.unique_key is not None else None
        groups.setdefault((changed, shared, old.status, old.queue, old.priority, unique), []).append(position)
    batch = Batch([], [])
    for key, positions in groups.items():
        batch.args.extend(_changed_group([changes[position] for position in positions], _plan(key[0]), now))
        batch.rows.extend(positions)
    return batch


def _changed_group(changes: list[Change], plan: _Plan, now: int) -> Iterator[Arg]:
    old, new = changes[0]
    shared: list[Arg] = []
    gone: list[str] = []
    for field in plan.shared:
        text = codec.write(field, getattr(new, field.attribute))
        shared.extend((field.name, text)) if text is not None else gone.append(field.name)
    own = [field for field in plan.own if field.always or getattr(new, field.attribute) is not None]
    gone.extend(field.name for field in plan.own if field not in own)
    yield from _group_head(len(changes), _facts(old, new, now), shared, [field.name for field in own], gone)
    for old, new in changes:
        yield new.id
        yield old.version
        for field in own:
            value = getattr(new, field.attribute)
            yield "" if value is None else field.write(value)


def _facts(old: Job, new: Job, now: int) -> list[Arg]:
    places = ["", "", ""] if old.version == new.version else [_place(old), _place(new), new.score]
    ended = int(new.status) if new.status in TERMINAL and old.status not in TERMINAL else ""
    return [*places, ended, new.queue, new.version - old.version, *_unique_facts(old, new, now)]


def _place(job: Job) -> str:
    return keys.place(job.status, job.queue, job.priority)


def _unique_facts(old: Job, new: Job, now: int) -> list[Arg]:
    """The unique key to drop, the one to take, and until when."""
    if new.unique_key is None:
        return ["", "", ""]
    limit = "" if new.unique_until is None else new.unique_until
    if new.holds_unique_key(now):
        return ["", new.unique_key, limit]
    return [new.unique_key if new.unique_while != "ttl" else "", "", limit]
