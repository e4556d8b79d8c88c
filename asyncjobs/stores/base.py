"""The contract of a job store. The docstrings are its specification, and `tests/stores` its proof.

A store places jobs and counts them; it never decides what becomes of one. A caller reads a job, makes the next
value with a pure function of `domain.transitions`, and hands both to `swap`, which writes the new one only over
the old one's version.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, NamedTuple

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import AsyncJobsError, DeserializationError, InvalidQuery

MAX_PAGE: Final = 1_000  # jobs on one page
MAX_BATCH: Final = 1_000  # jobs in one `add`, which is all or none
PROMOTE_LIMIT: Final = 100  # due jobs one claim promotes, at most, per queue
SERIES_MINUTES: Final = 24 * 60  # how long per-minute figures are kept
MAX_ENTRY: Final = 16 * 1024  # bytes of one entry's text, in UTF-8
DAY_MS: Final = 24 * 60 * 60_000
MAX_FAULTS: Final = 500  # faults in one answer
MAX_EDGES: Final = 100  # times that say of which spans `due` counts the jobs
MAX_DUE: Final = 1_000  # jobs of a span that are counted
FAULT_DAYS: Final = 7  # for how many days it is said how many jobs failed
GONE_MS: Final = 7 * DAY_MS  # how long it is known of a job with an owner that it was removed
LARGEST_TIME: Final = 2**53
UNFIT: Final = re.compile(r"[\x00\ud800-\udfff]")  # what some store cannot be asked for

Twins = Literal["return", "refuse"]
EntryKind = Literal["log", "attempt", "action", "chunk"]
JOURNAL_LIMITS: Final[Mapping[EntryKind, int]] = {"log": 500, "attempt": 50, "action": 50, "chunk": 10_000}
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

    @property
    def is_end(self) -> bool:
        """Whether the job ends with it: it does not when it goes back to an end it has had before."""
        is_over = self.new.is_terminal and not self.old.is_terminal
        return is_over and self.new.completed_at == self.new.updated_at


class Receipt(NamedTuple):
    """What was answered to a request, kept so that its repetition gets the same answer.

    `text` is opaque, and another one for every call: it names the jobs of this one.
    """

    key: str  # which request: a digest, of at most 64 characters of [0-9a-f]
    fingerprint: str  # of what was asked for, likewise: the same key with another one is another request
    text: str
    until: int  # milliseconds by the store's clock: forgotten then
    twins: tuple[tuple[int, str], ...] = ()
    """(position in the call, id) of each job answered by another one: the store adds those it finds."""


class Repeated(AsyncJobsError):
    """The request was answered before; `receipt` says how."""

    code = "REPEATED"

    def __init__(self, receipt: Receipt) -> None:
        super().__init__("this request was answered before")
        self.receipt = receipt


class Gone(NamedTuple):
    """What is left of a job that was removed."""

    owner: str
    at: int  # milliseconds by the store's clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which jobs, in which order. Filters combine with "and".

    With a status and no owner, jobs come in the order of `Job.score`, else of `created_at`; largest first unless
    `oldest_first`. So an owner's page costs no more when others have many jobs of that status.

    Only FAILED jobs have a fault: to ask for one is to ask for that status, if no other is given.
    """

    status: JobStatus | None = None
    queue: str | None = None
    name: str | None = None
    owner: str | None = None
    tag: str | None = None
    fault: str | None = None
    created_from: int | None = None  # inclusive
    created_to: int | None = None  # exclusive
    after: str = ""  # the `next` of the page before
    limit: int = 50  # 1 to MAX_PAGE
    oldest_first: bool = False

    def __post_init__(self) -> None:
        if self.fault is not None and self.status is None:
            object.__setattr__(self, "status", JobStatus.FAILED)
        if not 1 <= self.limit <= MAX_PAGE:
            raise InvalidQuery(f"a page has 1 to {MAX_PAGE} jobs, not {self.limit!r:.40}")
        if any(UNFIT.search(text) for text in self._texts if text):
            raise InvalidQuery("a filter contains a NUL character or a lone surrogate")
        if any(abs(time) > LARGEST_TIME for time in (self.created_from, self.created_to) if time):
            raise InvalidQuery("a filter names a time that no job can have")

    @property
    def _texts(self) -> tuple[str | None, ...]:
        return self.queue, self.name, self.owner, self.tag, self.fault

    def fits(self, job: Job) -> bool:
        """Whether this is one of the jobs asked for."""
        return (
            self.status in (None, job.status)
            and self.queue in (None, job.queue)
            and self.name in (None, job.name)
            and self.owner in (None, job.owner)
            and (self.tag is None or self.tag in job.tags)
            and self.fault in (None, job.fault)
            and (self.created_from is None or job.created_at >= self.created_from)
            and (self.created_to is None or job.created_at < self.created_to)
        )

    @property
    def goes_by_score(self) -> bool:
        """Whether jobs come in the order of `Job.score`."""
        return self.status is not None and self.owner is None


class Page(NamedTuple):
    """Some jobs, and where to go on: "" at the end.

    A page may hold fewer jobs than asked for, even none, and still have a `next`: the store looks through a
    bounded number of entries for the filters it has no index for.

    `cursors` has one for each job: a query goes on `after` it, in either direction.
    """

    jobs: list[Job]
    next: str
    cursors: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A queue's claims are stopped: since when, why, until when (None: until resumed), and by whom if that is known."""

    queue: str
    since: int
    reason: str = ""
    until: int | None = None
    by: str | None = None  # a user, as jobs have it whose owner that is

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


class Resting(NamedTuple):
    """A removed job that rests in the trash."""

    job: Job
    at: int  # milliseconds by the store's clock: when it was removed
    until: int  # likewise: `prune` may remove it for good then
    note: Entry | None = None  # the last of what people did to it


class TrashPage(NamedTuple):
    """Some of what rests in the trash, and where to go on: "" at the end."""

    resting: list[Resting]
    next: str


class Minute(NamedTuple):
    """How many jobs of a queue ended in one minute, by terminal status. `at` is its first millisecond."""

    at: int
    queue: str
    status: JobStatus
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks a minute for


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is known of the jobs that are dead now and failed alike."""

    fault: str  # see `domain.faults`
    count: int
    first_at: int  # when the first one failed, and the last one
    last_at: int
    days: tuple[int, ...]  # of them, how many failed on each of the last FAULT_DAYS (UTC), today last
    newest: str  # the id of one that failed last


class Beat(NamedTuple):
    """What a heartbeat learned: ids whose lease is gone (stop working on them), ids asked to cancel, and the order.

    `order` is what was last ordered of this worker, and "" if nothing was: the same again with every beat.
    """

    lost: list[str]
    cancels: list[str]
    order: str = ""


class WorkerRecord(NamedTuple):
    """What a worker last said of itself (`about` is the worker's own text) and when, and what was ordered of it."""

    worker: str
    beat_at: int
    about: str
    order: str = ""


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
        self,
        jobs: Sequence[Job],
        *,
        limits: Mapping[str, int] | None = None,
        twins: Twins = "return",
        receipt: Receipt | None = None,
    ) -> list[Job]:
        """Stores these jobs (at most MAX_BATCH) as they are, all or none, and answers what is stored, in their order.

        - An id that is stored already is answered as stored and left alone, so that repeating is safe. An id whose
          job was deleted is not used again: changes of the old job would fit the versions of the new one.
        - A job whose unique key is held is not stored: its twin is answered in its place, or, with
          `twins="refuse"`, `DuplicateJob` is raised. Two jobs of one call are twins of each other too.
        - `limits` names the most unstarted jobs a queue may hold; with one more than that: `QueueFull`.
        - `receipt` is kept under its key in the same step, also without jobs; not when they are refused. While one
          is kept there already, nothing is stored: `Repeated`, whatever else might be said of the jobs. If that is
          the receipt of this very call (same fingerprint and text), its answer was lost, and is given again. Of
          those who come at once with one key, one stores its jobs, and the others wait for what becomes of him.
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
        written, so that repeating is safe. A stale one writes nothing. A job that ends (`Change.is_end`) is counted in
        `series`. The unique key is let go when `new` no longer holds it, and taken again, if free, when it holds it
        again.

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
        """These jobs as stored, in the order asked, None where there is none.

        One that cannot be read, perhaps a later release's, is a `DeserializationError`.
        """

    def get_readable(self, ids: Sequence[str]) -> list[Job | None]:
        """The same, and None for one that cannot be read: it must not hold up the others."""
        try:
            return self.get(ids)
        except DeserializationError:
            half = len(ids) // 2
            return [*self.get_readable(ids[:half]), *self.get_readable(ids[half:])] if half else [None]

    @abstractmethod
    def receipt(self, key: str) -> Receipt | None:
        """The receipt that is kept under this key."""

    @abstractmethod
    def gone(self, job_id: str) -> Gone | None:
        """Whose this job was that is not stored any more; None of one without an owner, or GONE_MS after it went."""

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
    def due(self, edges: Sequence[int], *, queue: str | None = None) -> list[int]:
        """How many SCHEDULED jobs, of this queue or of all, fall due from each edge on and before the next one.

        Edges are 2 to MAX_EDGES times by the store's clock that ascend. Each span is counted up to MAX_DUE: so many, or
        more. What should have been promoted already counts, and what a pause holds up. The time it takes does not
        depend on the number of jobs.
        """

    @abstractmethod
    def series(self, minutes: int) -> list[Minute]:
        """How many jobs ended in each of the last `minutes` (at most SERIES_MINUTES), oldest first, no empty ones."""

    @abstractmethod
    def faults(self, limit: int) -> list[Fault]:
        """Up to `limit` (1 to MAX_FAULTS) faults of the jobs that are dead now, the one that struck last first.

        It takes a time that does not depend on how many jobs have a fault.
        """

    @abstractmethod
    def workers(self) -> list[WorkerRecord]:
        """Workers by id, those heard from in the last day."""

    @abstractmethod
    def order(self, worker: str, order: str) -> bool:
        """Keeps an order (up to 20 letters) for this worker's next beats, instead of the one before.

        False when the worker was not heard from in the last day: then nothing is kept.
        """

    @abstractmethod
    def pause(self, pause: Pause) -> None:
        """Stops claims from a queue. A pause with an end is over by itself."""

    @abstractmethod
    def resume(self, queue: str) -> bool:
        """Ends a pause; False when there was none."""

    @abstractmethod
    def delete(self, jobs: Sequence[Job], *, rest_until: int | None = None, note: Entry | None = None) -> list[bool]:
        """Removes each job stored with this version, its unique key and journal too; answers which are gone now.

        Of one with an owner it stays known for GONE_MS that it is `gone`.

        With `rest_until`, each rests in the trash until then (milliseconds by the store's clock), in the place of
        one that rests there under its id, and with its journal, to which `note` is appended in the same step. What
        rests is met by `trash`, `rests` and `restore` alone: all others take it for removed.
        """

    @abstractmethod
    def restore(
        self, ids: Sequence[str], *, versions: Mapping[str, int] | None = None, note: Entry | None = None
    ) -> list[Job | None]:
        """Puts back each of these jobs that rests in the trash; answers what is stored under each id now.

        A job comes back as it was, with its journal, in the next version, so that changes made of the old one stay
        stale; `note` is appended to the journal in the same step. It holds its unique key again if that is free, and
        is not `gone` any more. No depth limit keeps it out.

        With `versions`, by id, only a job that rests in its version comes back: one that was restored and deleted again
        stays where it is.

        A job that is stored under its id is never overwritten: it is what is answered. So repeating is safe.
        """

    @abstractmethod
    def rests(self, job_id: str) -> Resting | None:
        """The job that rests in the trash under this id."""

    @abstractmethod
    def trash(self, *, after: str = "", limit: int = 50) -> TrashPage:
        """Up to `limit` (1 to MAX_PAGE) of the jobs that rest in the trash, going on `after` the `next` of a page.

        Those that rest longest come first: the last deleted ones, if all are given the same time to rest.
        """

    @abstractmethod
    def prune(self, before: Mapping[JobStatus, int], *, limit: int) -> int:
        """Removes up to `limit` jobs for good, and answers how many.

        First finished ones completed before the time given for their status, as `delete` does; then those that ran
        out of the trash, the earliest first. Receipts that ran out, and what was known of jobs and workers long gone,
        are removed beside them.
        """

    @abstractmethod
    def check(self, *, fix: bool = False) -> list[Finding]:
        """Compares every job with every index, the fsck: what it finds, healed when `fix` is set.

        A healthy store has no findings, whatever goes on beside the check.
        """


def fault_days(now: int, days: int = FAULT_DAYS) -> list[int]:
    """The first milliseconds of the last days (UTC), today's last."""
    today = now - now % DAY_MS
    return [today - ago * DAY_MS for ago in reversed(range(days))]


def answered_again(
    jobs: Sequence[Job], receipt: Receipt, kept: Receipt, get: Callable[[Sequence[str]], list[Job | None]]
) -> list[Job]:
    """The answer to this very call, whose receipt is kept already; `Repeated` if that is the receipt of another one."""
    if (kept.fingerprint, kept.text) != (receipt.fingerprint, receipt.text):
        raise Repeated(kept)
    ids = [job.id for job in jobs]
    for position, twin in kept.twins[len(receipt.twins) :]:
        ids[position] = twin
    return [stored or job for job, stored in zip(jobs, get(ids), strict=True)]
