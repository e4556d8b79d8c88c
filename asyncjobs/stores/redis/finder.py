"""Pages of jobs: entries of the sorted sets that serve the query, merged, then looked up and filtered."""

import re
from collections.abc import Iterator, Sequence
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

    def page(self) -> Page:
        """Looks at up to WINDOW entries, a stretch of them in two round trips."""
        query, seen = self._query, 0
        found: list[Job] = []
        while True:
            stretch = self._stretch(query.limit + 1)
            jobs = map(codec.read_if_possible, self._store.raw([entry.job_id for entry in stretch]))
            for entry, job in zip(stretch, jobs, strict=True):
                if len(found) == query.limit:
                    return Page(found, self._cursor.text if self._cursor else "")
                self._cursor = Cursor(entry.score, entry.tie)
                if job is not None and self._matches(job):
                    found.append(job)
            seen += len(stretch)
            if len(stretch) <= query.limit:
                return Page(found, "")
            if seen >= WINDOW and self._cursor:
                return Page(found, self._cursor.text)

    def _stretch(self, count: int) -> list[Entry]:
        read = self._read_streams if self._query.status == JobStatus.QUEUED else self._read_sets
        sources = self._sources()
        return read(sources, count) if sources else []

    def _sources(self) -> list[str]:
        """The suffixes of the lists that hold every job of the query, and the fewest others."""
        query = self._query
        if query.status is not None:
            queues = self._store._queues() if query.queue is None else [query.queue]
            if query.status == JobStatus.QUEUED:
                return [stream for queue in queues for stream in keys.streams(queue)]
            return [keys.sorted_place(query.status, queue) for queue in queues]
        if query.owner is not None:
            return [keys.owner(query.owner)]
        if query.tag is not None:
            return [keys.tag(query.tag)]
        return list(self._indexes())

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
        if query.status is not None:
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

    def _matches(self, job: Job) -> bool:
        query = self._query
        return (
            query.status in (None, job.status)
            and query.queue in (None, job.queue)
            and query.name in (None, job.name)
            and query.owner in (None, job.owner)
            and (query.tag is None or query.tag in job.tags)
            and (query.created_from is None or job.created_at >= query.created_from)
            and (query.created_to is None or job.created_at < query.created_to)
        )


def _entries(source: str, stored: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> list[Entry]:
    return [_entry(source, entry_id, fields[b"j"].decode()) for entry_id, fields in stored]


def _entry(source: str, entry_id: bytes, job_id: str) -> Entry:
    ms, sequence = entry_id.split(b"-")
    return Entry(int(ms), f"{int(sequence):012d}@{source}", job_id)
