"""Jobs that rest in the trash: their hashes and journals under keys of their own, until they come back or run out."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from asyncjobs.domain.job import Job
from asyncjobs.stores.base import JOURNAL_LIMITS, Entry, Resting, TrashPage
from asyncjobs.stores.cursor import Cursor
from asyncjobs.stores.redis import codec, keys
from asyncjobs.stores.redis.scripts import parts

if TYPE_CHECKING:
    from asyncjobs.stores.redis.store import RedisStore


def note_arguments(note: Entry | None) -> list[Any]:
    """A note as `lua/note.lua` reads it."""
    return ["", "", "", ""] if note is None else [note.kind, note.at, note.text, JOURNAL_LIMITS[note.kind]]


def restore(store: "RedisStore", ids: Sequence[str], versions: Mapping[str, int] | None, note: Entry | None) -> None:
    """Puts back those of these jobs that rest, if nothing changes meanwhile what they were read as."""
    now = store.now()
    jobs = [resting.job for resting in read(store, ids) if resting is not None]
    if versions is not None:
        jobs = [job for job in jobs if job.version == versions.get(job.id)]
    if jobs:
        returns = (part for job in jobs for part in _return(job, now))
        store.run_again("restore", store._given_now, *note_arguments(note), *returns)


def _return(job: Job, now: int) -> list[Any]:
    key = job.unique_key if job.holds_unique_key(now) else None
    limit = "" if job.unique_until is None else str(job.unique_until)
    place = keys.place(job.status, job.queue, job.priority)
    indexes = keys.indexes(job.queue, job.name, job.owner, job.tags)
    facts = json.dumps([place, job.score, job.queue, job.created_at, limit, *indexes], ensure_ascii=False)
    return [job.id, job.version, job.version + 1, key or "", facts]


def read(store: "RedisStore", ids: Sequence[str]) -> list[Resting | None]:
    return [_read(*row) for part in parts(ids) for row in store.run_again("resting", *part)]


def _read(stored: bytes, at: bytes, until: bytes, number: bytes, fields: list[bytes]) -> Resting | None:
    job = codec.read_if_possible(stored)
    return Resting(job, int(at), int(until), _note(number, fields)) if job is not None else None


def _note(entry_id: bytes, fields: list[bytes]) -> Entry | None:
    if not entry_id:
        return None
    _, at, _, text = fields
    return Entry("action", int(at), text.decode(), number=int(entry_id.partition(b"-")[0]))


def page(store: "RedisStore", after: str, limit: int) -> TrashPage:
    cursor = Cursor.read(after)
    bounds = (cursor.score, cursor.job_id) if cursor else ("", "")
    found = store.run_again("find", "down", *bounds, "-inf", "+inf", limit + 1, keys.TRASH)
    entries = [Cursor(int(until), job_id.decode()) for job_id, until in zip(found[::2], found[1::2], strict=True)]
    resting = read(store, [entry.job_id for entry in entries[:limit]])
    following = entries[limit - 1].text if len(entries) > limit else ""
    return TrashPage([rest for rest in resting if rest is not None], following)
