"""What an operation writes down before it does it: which jobs are next, and what they are before.

So a run that was interrupted is gone on with, and what was done can be taken back.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Final, NamedTuple

from asyncjobs.domain.job import Job, JobError, JobStatus, Progress
from asyncjobs.domain.past import Past
from asyncjobs.errors import LeaseLost
from asyncjobs.stores.base import MAX_ENTRY, Change, Entry, Store

Place = tuple[int, str]
START: Final[Place] = (0, "")

_PART: Final = MAX_ENTRY - 32  # which part it is stands before it

_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "status": JobStatus,
    "error": lambda error: error and JobError(**error),
    "progress": lambda progress: progress and Progress(**progress),
}


class Touched(NamedTuple):
    """A job as it was met: in which version, and what can be undone of what is done to it."""

    job_id: str
    version: int
    past: Past | None = None


class Chunk(NamedTuple):
    """Some jobs that something is done to at one moment, and where to go on after them."""

    at: int
    place: Place
    before: Counter[str]  # what became of all jobs of the chunks before
    touched: Sequence[Touched]


class _Part(NamedTuple):
    """A part of a chunk, in an entry of its own: so many parts are before it, of so many."""

    number: int
    before: int
    of: int
    text: str


class Chunks:
    """The chunks of an operation, in its journal. Only who holds the operation's job can add one."""

    def __init__(self, store: Store, operation: Job) -> None:
        self._store = store
        self._operation = operation

    def append(self, chunk: Chunk) -> None:
        """In as many entries as it takes. One that is not written to its end is none: nothing was done of it."""
        job = self._operation
        for text in _parts(_written(chunk)):
            if not all(self._store.swap([Change(job, job, (Entry("chunk", chunk.at, text),))])):
                raise LeaseLost(f"operation {job.id} is no longer held by {job.worker}", job_id=job.id)

    def after(self, number: int) -> Iterator[tuple[int, Chunk]]:
        """All chunks after this entry, each with the number of its last one."""
        texts: list[str] = []
        for part in self._parts(number):
            texts = [*texts[: part.before], part.text]  # what was not written to its end is written anew
            if len(texts) == part.of:
                yield part.number, _read("".join(texts))

    def first(self) -> Chunk | None:
        return next((chunk for _, chunk in self.after(0)), None)

    def last(self) -> Chunk | None:
        """The chunk that an interrupted run may have left half done."""
        number = self._last_number()
        while number:
            part = next(self._parts(number - 1))
            if part.before + 1 == part.of:
                return next((chunk for _, chunk in self.after(number - part.of)), None)
            number -= part.before + 1
        return None

    def size(self) -> int:
        """How many jobs it has come to so far, at most: those that were left alone, too."""
        last = self.last()
        return last.before.total() + len(last.touched) if last else 0

    def _parts(self, after: int) -> Iterator[_Part]:
        while entries := self._store.journal(self._operation.id, "chunk", after=after, limit=1):
            [entry] = entries
            after = entry.number
            before, of, text = entry.text.split(" ", 2)
            yield _Part(after, int(before), int(of), text)

    def _last_number(self) -> int:
        """Numbers have no gaps after the first."""
        below, above = 0, 1
        while self._is_beyond(above - 1):
            below, above = above, 2 * above
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (middle, above) if self._is_beyond(middle - 1) else (below, middle)
        return below

    def _is_beyond(self, number: int) -> bool:
        return bool(self._store.journal(self._operation.id, "chunk", after=number, limit=1))


def _parts(text: str) -> list[str]:
    texts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
    return [f"{before} {len(texts)} {text}" for before, text in enumerate(texts)]


def _written(chunk: Chunk) -> str:
    touched = [(job_id, version, past and _written_past(past)) for job_id, version, past in chunk.touched]
    text = json.dumps([chunk.at, chunk.place, chunk.before, touched], separators=(",", ":"))
    return base64.b85encode(zlib.compress(text.encode())).decode()


def _read(text: str) -> Chunk:
    at, place, before, touched = json.loads(zlib.decompress(base64.b85decode(text)))
    read = [Touched(job_id, version, past and _read_past(*past)) for job_id, version, past in touched]
    return Chunk(at, (place[0], place[1]), Counter(before), read)


def _written_past(past: Past) -> tuple[Any, ...]:
    was = {name: asdict(value) if is_dataclass(value) else value for name, value in past.was.items()}  # type: ignore[arg-type]  # no class
    return past.version, past.status, past.at, past.due_at, was


def _read_past(version: int, status: int, at: int, due_at: int | None, was: Mapping[str, Any]) -> Past:
    read = {name: _READERS[name](value) if name in _READERS else value for name, value in was.items()}
    return Past(version=version, status=JobStatus(status), at=at, due_at=due_at, was=read)
