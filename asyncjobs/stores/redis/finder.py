"""Pages of jobs: entries of the sorted sets that serve the query, merged, then looked up and filtered."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import Page, Query
from asyncjobs.stores.cursor import Cursor, InvalidCursor
from asyncjobs.stores.redis import codec, connection, keys

if TYPE_CHECKING:
    from asyncjobs.stores.redis.store import RedisStore

_SEQUENCE = re.compile("[0-9]{1,19}")
WINDOW = 1_000  # entries one page looks at when a filter has no index of its own
GROWTH = 4  # of a stretch over the one before


class Entry(NamedTuple):
    """A job's entry in a list: what orders it (a time, then a tie-break), and its id."""

    score: int
    tie: str
    job_id: str


class Finder:
    """Finds one page. Ready jobs are read from their streams, in the order in which they became ready."""

    def __init__(self, store: "RedisStore", query: Query) -> None:
        self._store = store
        self._query = query
        self._cursor = Cursor.read(query.after)
        self._sign = b"" if query.name is None else f"Name{codec.SEPARATOR}{query.name}".encode()

    def page(self) -> Page:
        """Looks at up to WINDOW entries, in longer and longer stretches, because few of them may match."""
        query, seen, length = self._query, 0, self._query.limit + 1
        found: list[Job] = []
        cursors: list[str] = []
        while True:
            stretch = self._stretch(length)
            jobs = map(self._read, self._store.raw([entry.job_id for entry in stretch]))
            for entry, job in zip(stretch, jobs, strict=True):
                if len(found) == query.limit:
                    return Page(found, self._cursor.text if self._cursor else "", cursors)
                self._cursor = Cursor(entry.score, entry.tie)
                if job is not None and query.fits(job):
                    found.append(job)
                    cursors.append(self._cursor.text)
            seen += len(stretch)
            if len(stretch) < length:
                return Page(found, "", cursors)
            if seen >= WINDOW and self._cursor:
                return Page(found, self._cursor.text, cursors)
            length = min(GROWTH * length, WINDOW - seen)

    def _read(self, stored: bytes) -> Job | None:
        """The job, unless a glance tells that it is of another handler: to read it takes twenty times as long."""
        return codec.read_if_possible(stored) if self._sign in stored else None

    def _stretch(self, count: int) -> list[Entry]:
        if not self._sources:
            return []
        ready = self._query.goes_by_score and self._query.status == JobStatus.QUEUED and self._query.fault is None
        return self._read_streams(self._sources, count) if ready else self._read_sets(self._sources, count)

    @cached_property
    def _sources(self) -> list[str]:
        """The suffixes of the lists that hold every job of the query, and the fewest others."""
        query = self._query
        if query.owner is not None:
            return [keys.owner(query.owner)]
        if query.fault is not None:
            return [keys.fault(query.fault)]
        if query.status is not None:
            if query.status == JobStatus.QUEUED:
                return [stream for queue in self._queues() for stream in keys.streams(queue)]
            return [keys.sorted_place(query.status, queue) for queue in self._queues()]
        if query.tag is not None:
            return [keys.tag(query.tag)]
        return list(self._indexes())

    def _queues(self) -> list[str]:
        """Those that may have jobs of the query."""
        query = self._query
        if query.queue is not None:
            return [query.queue]
        if query.name is None:
            return self._store._queues()
        end = f":{query.name}"
        return [index.removesuffix(end).split(":", 2)[2] for index in self._all_indexes() if index.endswith(end)]

    @connection.translated
    def _all_indexes(self) -> list[str]:
        stored = self._store.client.smembers(self._store.key(keys.INDEXES))
        return sorted(index.decode() for index in stored)

    def _indexes(self) -> Iterator[str]:
        for index in self._all_indexes():
            _, _, queue, name = index.split(":", 3)
            if self._query.queue in (None, queue) and self._query.name in (None, name):
                yield index

    def _read_sets(self, sources: list[str], count: int) -> list[Entry]:
        after = (self._cursor.score, self._cursor.job_id) if self._cursor else ("", "")
        direction = "up" if self._query.oldest_first else "down"
        answer = self._store.run_again("find", direction, *after, *self._bounds(), count, *sources)
        ids = (job_id.decode() for job_id in answer[::2])
        return [Entry(int(score), job_id, job_id) for job_id, score in zip(ids, answer[1::2], strict=True)]

    def _bounds(self) -> tuple[str, str]:
        """The scores to look between; only lists by creation time can use the range of it."""
        query = self._query
        if query.goes_by_score:
            return "-inf", "+inf"
        lowest = "-inf" if query.created_from is None else str(query.created_from)
        return lowest, "+inf" if query.created_to is None else f"({query.created_to}"

    @connection.translated
    def _read_streams(self, sources: list[str], count: int) -> list[Entry]:
        pipeline = self._store.client.pipeline(transaction=False)
        for source in sources:
            key = self._store.key(source)
            if self._query.oldest_first:
                pipeline.xrange(key, self._stream_bound(source, "-"), "+", count)
            else:
                pipeline.xrevrange(key, self._stream_bound(source, "+"), "-", count)
        lists = [_entries(source, stored) for source, stored in zip(sources, pipeline.execute(), strict=True)]
        return list(islice(merge(*lists, reverse=not self._query.oldest_first), count))

    def _stream_bound(self, source: str, start: str) -> str:
        """Entries of the cursor's own stream go on behind it, those of others on their side of it in the merge."""
        if self._cursor is None:
            return start
        sequence, _, stream = self._cursor.job_id.partition("@")
        if self._cursor.score < 1 or not _SEQUENCE.fullmatch(sequence):
            raise InvalidCursor(f"not a cursor of ready jobs: {self._query.after[:80]!r}")
        bound = f"{self._cursor.score}-{int(sequence)}"
        is_beyond = source > stream if self._query.oldest_first else source < stream
        return bound if is_beyond else f"({bound}"


def _entries(source: str, stored: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> list[Entry]:
    return [_entry(source, entry_id, fields[b"j"].decode()) for entry_id, fields in stored]


def _entry(source: str, entry_id: bytes, job_id: str) -> Entry:
    ms, sequence = entry_id.split(b"-")
    return Entry(int(ms), f"{int(sequence):012d}@{source}", job_id)
