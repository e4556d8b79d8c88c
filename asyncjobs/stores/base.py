"""The contract of a job store. The docstrings are its specification, and `tests/stores` its proof.

A store places jobs and counts them; it never decides what becomes of one. A caller reads a job, makes the next
value with a pure function of `domain.transitions`, and hands both to `swap`, which writes the new one only over
the old one's version.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, NamedTuple

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJob, InvalidQuery

MAX_PAGE: Final = 1_000  # jobs on one page
MAX_BATCH: Final = 1_000  # jobs in one `add`, which is all or none
PROMOTE_LIMIT: Final = 100  # due jobs one claim promotes, at most, per queue
SERIES_MINUTES: Final = 24 * 60  # how long per-minute figures are kept
MAX_ENTRY: Final = 16 * 1024  # bytes of one entry's text, in UTF-8

_LARGEST_TIME: Final = 2**53
_UNFIT: Final = re.compile(r"[\x00\ud800-\udfff]")  # what some store cannot be asked for

Twins = Literal["return", "refuse"]


EntryKind = Literal["log", "attempt"]
JOURNAL_LIMITS: Final[Mapping[EntryKind, int]] = {"log": 500, "attempt": 50}
"""How many entries of a kind are kept with a job; the oldest go first."""


class Entry(NamedTuple):
    """A line of a job's journal.

    `number` is 1, 2, 3 … within a job and kind, given by the store: a gap at the beginning says that older ones
    were dropped.
    """

    kind: EntryKind
    at: int  # milliseconds by the store's clock, as given by the writer
    text: str  # at most MAX_ENTRY
    number: int = 0


class Change(NamedTuple):
    """`new` is to replace `old`. Equal versions mark a note on a running job; else `new.version == old.version + 1`.

    `entries` are appended to the job's journal with it; a note may carry them alone, and change nothing else.
    """

    old: Job
    new: Job
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which jobs, in which order. Filters combine with "and".

    With a status, jobs come in the order of `Job.score`, else of `created_at`; largest first unless `oldest_first`.
    """

    status: JobStatus | None = None
    queue: str | None = None
    name: str | None = None
    owner: str | None = None
    tag: str | None = None
    created_from: int | None = None  # inclusive
    created_to: int | None = None  # exclusive
    after: str = ""  # the `next` of the page before
    limit: int = 50  # 1 to MAX_PAGE
    oldest_first: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_PAGE:
            raise InvalidQuery(f"a page has 1 to {MAX_PAGE} jobs, not {self.limit!r:.40}")
        if any(_UNFIT.search(text) for text in (self.queue, self.name, self.owner, self.tag) if text):
            raise InvalidQuery("a filter contains a NUL character or a lone surrogate")
        if any(abs(time) > _LARGEST_TIME for time in (self.created_from, self.created_to) if time):
            raise InvalidQuery("a filter names a time that no job can have")


class Page(NamedTuple):
    """Some jobs, and where to go on: "" at the end.

    A page may hold fewer jobs than asked for, even none, and still have a `next`: the store looks through a
    bounded number of entries for the filters it has no index for.
    """

    jobs: list[Job]
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A queue's claims are stopped: since when, why, and until when (None: until resumed)."""

    queue: str
    since: int
    reason: str = ""
    until: int | None = None

    def holds(self, now: int) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """How many jobs a queue has in each status (absent: none), since when its oldest ready job waits, and its pause."""

    queue: str
    by_status: Mapping[JobStatus, int]
    oldest_at: int | None = None
    pause: Pause | None = None

    @property
    def backlog(self) -> int:
        """Jobs accepted and not yet started."""
        statuses = (JobStatus.QUEUED, JobStatus.SCHEDULED, JobStatus.WAITING)
        return sum(self.by_status.get(status, 0) for status in statuses)


class Minute(NamedTuple):
    """How many jobs of a queue ended in one minute, by terminal status. `at` is its first millisecond."""

    at: int
    queue: str
    status: JobStatus
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks a minute for


class Beat(NamedTuple):
    """What a heartbeat learned: ids whose lease is gone (stop working on them), and ids asked to cancel."""

    lost: list[str]
    cancels: list[str]


class WorkerRecord(NamedTuple):
    """What a worker last said of itself (`about` is the worker's own text) and when."""

    worker: str
    beat_at: int
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A disagreement between a job and an index that `check` found, and whether it was healed."""

    code: str
    message: str
    job_id: str | None = None
    fixed: bool = False


class Store(ABC):
    """Where jobs live.

    Whatever goes wrong on the way to a server is raised as a `StoreError`; after one, repeating the call is safe.
    Every change is atomic with everything that must be true with it: index entries, counts, the unique key.
    """

    transactional: ClassVar[bool] = False
    """Whether `add` joins the caller's database transaction. If not, the engine adds on commit."""

    @abstractmethod
    def now(self) -> int:
        """The store's clock in milliseconds. It may be an estimate, and never decides a lease."""

    @abstractmethod
    def add(
        self, jobs: Sequence[Job], *, limits: Mapping[str, int] | None = None, twins: Twins = "return"
    ) -> list[Job]:
        """Stores these jobs (at most MAX_BATCH) as they are, all or none, and answers what is stored, in their order.

        - An id that is stored already is answered as stored and left alone, so that repeating is safe. An id whose
          job was deleted is not used again: changes of the old job would fit the versions of the new one.
        - A job whose unique key is held is not stored: its twin is answered in its place, or, with
          `twins="refuse"`, `DuplicateJob` is raised. Two jobs of one call are twins of each other too.
        - `limits` names the most unstarted jobs a queue may hold; with one more than that: `QueueFull`.
        """

    @abstractmethod
    def claim(self, queues: Sequence[str], *, worker: str, limit: int, lease: int) -> list[Job]:
        """Leases up to `limit` ready jobs to `worker` for `lease` milliseconds, and answers them as started.

        Queues come in the order given, and in a queue higher priority first (a lane at a time where the store has
        lanes), then oldest first. Jobs that have fallen due are promoted before, at most PROMOTE_LIMIT a queue.
        Paused queues are skipped. A unique key held "while pending" is let go.
        """

    @abstractmethod
    def swap(self, changes: Sequence[Change]) -> list[bool]:
        """Writes each `new` whose `old.version` is the stored one; answers which are stored now.

        Only the fields in which `new` differs from `old` are written: a cancel requested meanwhile survives.
        Each change is atomic by itself, the batch is one round trip. A change that is stored already counts as
        written, so that repeating is safe. A stale one writes nothing. A job that enters a terminal status is
        counted in `series`. The unique key is let go when `new` no longer holds it, and taken again, if free,
        when it holds it again.

        The entries of a change are appended in the same step, if it is written now: not when it is stale, nor when
        it counts as written because it was stored already. A change that writes no field is never that: it is
        written, and its entries appended, while the version is the stored one, else stale. So a note that is
        repeated after a lost answer may append its entries twice: log lines are kept at least once, what comes with
        a transition exactly once. An entry larger than MAX_ENTRY is an `InvalidJob`, and nothing is written.
        """

    def exchange(
        self, changes: Sequence[Change], queues: Sequence[str], *, worker: str, limit: int, lease: int
    ) -> tuple[list[bool], list[Job]]:
        """`swap`, then `claim`, in one round trip where the store can."""
        return self.swap(changes), self.claim(queues, worker=worker, limit=limit, lease=lease)

    @abstractmethod
    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        """Records that `worker` lives, and extends its leases on the jobs in `held` (id → version).

        A job that is not in progress under this worker and version is lost: its lease is left alone.
        """

    @abstractmethod
    def lapsed(self, limit: int, *, lease: int) -> list[Job]:
        """Jobs whose lease has run out, longest ago first; `lease` is how long leases are.

        When nobody claimed, beat or asked for more than half a lease (the server was paused, restarted or failed
        over, or its clock jumped), the answer stays empty for one lease, so that live workers can beat first.
        A clock set back does not stretch leases.
        """

    @abstractmethod
    def held(self, worker: str) -> list[Job]:
        """All jobs the store has leased to `worker`: also those whose claim's answer never arrived."""

    @abstractmethod
    def wait(self, queues: Sequence[str], *, timeout: int, wake: int | None = None) -> None:
        """Returns when a job of these queues may be ready, when a byte can be read from the file descriptor `wake`, or
        after `timeout` milliseconds. A hint, never a promise: it may return early for no reason.

        Where the store can, a job that becomes ready wakes one of those who wait and not all of them. The byte is left
        to be read by the caller.
        """

    @abstractmethod
    def turn(self, name: str, *, every: int) -> bool:
        """True for one of all who ask within `every` milliseconds; the next turn is that long after it.

        A turn whose answer was lost is lost, and the next one comes. A clock set back by more than `every` gives one.
        """

    @abstractmethod
    def get(self, ids: Sequence[str]) -> list[Job | None]:
        """These jobs as stored, in the order asked, None where there is none."""

    @abstractmethod
    def find(self, query: Query) -> Page:
        """One page of jobs. Going on from page to page meets every job that stays in place exactly once."""

    @abstractmethod
    def journal(self, job_id: str, kind: EntryKind, *, after: int = 0, limit: int = 100) -> list[Entry]:
        """Up to `limit` (1 to MAX_PAGE) entries of this job and kind with a number above `after`, oldest first."""

    @abstractmethod
    def counts(self) -> list[QueueCounts]:
        """Every queue that was ever used, by name, in a time that does not depend on the number of jobs."""

    @abstractmethod
    def series(self, minutes: int) -> list[Minute]:
        """How many jobs ended in each of the last `minutes` (at most SERIES_MINUTES), oldest first, no empty ones."""

    @abstractmethod
    def workers(self) -> list[WorkerRecord]:
        """Workers by id, those heard from in the last day."""

    @abstractmethod
    def pause(self, pause: Pause) -> None:
        """Stops claims from a queue. A pause with an end is over by itself."""

    @abstractmethod
    def resume(self, queue: str) -> bool:
        """Ends a pause; False when there was none."""

    @abstractmethod
    def delete(self, jobs: Sequence[Job]) -> list[bool]:
        """Removes each job stored with this version, its unique key and journal too; answers which are gone now."""

    @abstractmethod
    def prune(self, before: Mapping[JobStatus, int], *, limit: int) -> int:
        """Removes up to `limit` finished jobs completed before the time given for their status, with their journals.

        Answers how many.
        """

    @abstractmethod
    def check(self, *, fix: bool = False) -> list[Finding]:
        """Compares every job with every index, the fsck: what it finds, healed when `fix` is set.

        A healthy store has no findings, whatever goes on beside the check.
        """


def require_short_entries(changes: Sequence[Change]) -> None:
    """Raises `InvalidJob` when a change has an entry that is too large."""
    for change in changes:
        for entry in change.entries:
            size = len(entry.text.encode(errors="surrogatepass"))
            if size > MAX_ENTRY:
                message = f"an entry has at most {MAX_ENTRY} bytes, not {size}"
                raise InvalidJob(message, job_id=change.new.id)


def require_page(*, after: int, limit: int) -> None:
    """Raises `InvalidQuery` when no page of a journal can be asked for so."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidQuery(f"a page has 1 to {MAX_PAGE} entries, not {limit!r:.40}")
    if not 0 <= after <= _LARGEST_TIME:
        raise InvalidQuery(f"no entry has the number {after!r:.40}")
