"""All that is known of one job. Each part is read from the store when a page first shows it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from asyncjobs.actions import read_action
from asyncjobs.dashboard import payloads, relations
from asyncjobs.dashboard.attempts import Attempt, read_attempt
from asyncjobs.dashboard.crews import crews
from asyncjobs.dashboard.people import names_of, pausers
from asyncjobs.dashboard.timeline import Moment, timeline
from asyncjobs.dashboard.tracebacks import Stretch, stretches
from asyncjobs.dashboard.why import Circumstances, Reason, needs_circumstances, reasons
from asyncjobs.domain.job import Job, JobError
from asyncjobs.engine import Engine
from asyncjobs.errors import InvalidJobId, JobNotFound, UnknownHandler
from asyncjobs.registry import lookup
from asyncjobs.stores.base import JOURNAL_LIMITS, Entry, EntryKind

LOG_LINES: Final = JOURNAL_LIMITS["log"]


class Lines(NamedTuple):
    """Lines of a log that a page does not have; `replaces`: all there are, because very many came."""

    entries: Sequence[Entry]
    replaces: bool


class Dossier:
    """A job and what is around it."""

    def __init__(self, engine: Engine, job: Job) -> None:
        self.job = job
        self._engine = engine
        self._store = engine.store

    @property
    def state(self) -> str:
        """Another one whenever something happened to the job, but for progress and what it logs."""
        return f"{self.job.version}.{self.job.cancel_requested or 0}"

    @cached_property
    def attempts(self) -> list[Attempt]:
        """Those that ended badly and are kept, oldest first."""
        return list(map(read_attempt, self._journal("attempt")))

    def newest_attempts(self) -> list[tuple[Attempt, list[Stretch]]]:
        """With their tracebacks, newest first."""
        return [(attempt, stretches(attempt.traceback)) for attempt in reversed(self.attempts)]

    def attempts_after(self, number: int) -> int:
        return sum(attempt.number > number for attempt in self.attempts)

    @property
    def last_attempt(self) -> int:
        return self.attempts[-1].number if self.attempts else 0

    @property
    def other_error(self) -> JobError | None:
        """The job's error, unless it is that of the last attempt."""
        error, last = self.job.error, self.attempts[-1] if self.attempts else None
        is_told = error is not None and last is not None and (last.code, last.message) == (error.code, error.message)
        return None if is_told else error

    @cached_property
    def timeline(self) -> list[Moment]:
        return timeline(self.job, self.attempts, self._actions, self._names)

    @property
    def owner_name(self) -> str:
        """Empty when the owner is no user."""
        return self._names.get(self.job.owner or "", "")

    @cached_property
    def reasons(self) -> list[Reason]:
        """Why the job is not running."""
        return reasons(self.job, self._circumstances())

    @cached_property
    def log(self) -> list[Entry]:
        return self._journal("log")

    @property
    def last_line(self) -> int:
        return self.log[-1].number if self.log else 0

    def log_after(self, number: int) -> Lines:
        """What came after the line with this number."""
        entries = self._journal("log", after=number)
        if entries and entries[-1].number // LOG_LINES != number // LOG_LINES:
            return Lines(self.log, replaces=True)
        return Lines(entries, replaces=False)

    @cached_property
    def twin(self) -> Job | None:
        return relations.twin_of(self._engine, self.job)

    @cached_property
    def similar(self) -> Sequence[Job]:
        return relations.similar_failures(self._engine, self.job)

    @property
    def fault(self) -> str | None:
        return relations.fault_like(self.job)

    @cached_property
    def delivery(self) -> Job | None:
        return relations.delivery_of(self._engine, self.job)

    @property
    def receiver(self) -> str:
        """The host that is told how the job ended."""
        return relations.receiver_of(self.job)

    @cached_property
    def contents(self) -> payloads.Contents:
        return payloads.contents_of(self.job)

    @cached_property
    def _actions(self) -> list[Entry]:
        return self._journal("action")

    @cached_property
    def _names(self) -> dict[str, str]:
        doers = (read_action(entry).get("by") for entry in self._actions)
        return names_of([self.job.owner, *(key for key in doers if isinstance(key, str))])

    def _circumstances(self) -> Circumstances:
        """Those of a job that has ended are in the past."""
        now = self._store.now()
        if not needs_circumstances(self.job):
            return Circumstances(now=now, twin=self.twin)
        queue = next((counts for counts in self._store.counts() if counts.queue == self.job.queue), None)
        return Circumstances(
            now=now,
            queue=queue,
            paused_by=pausers([queue])[self.job.queue] if queue and queue.pause else "",
            workers=crews(self._store.workers(), now=now, lease=self._engine.conf.lease),
            unknown=_unknown(self.job),
            twin=self.twin,
        )

    def _journal(self, kind: EntryKind, *, after: int = 0) -> list[Entry]:
        return self._store.journal(self.job.id, kind, after=after, limit=JOURNAL_LIMITS[kind])


def job_of(engine: Engine, job_id: str) -> Job | None:
    """The job of this id, also where that is none."""
    try:
        return engine.get(job_id)
    except (InvalidJobId, JobNotFound):
        return None


def is_resting(engine: Engine, job_id: str) -> bool:
    """Whether the trash has a job of this id, which may be none."""
    try:
        return engine.rests(job_id) is not None
    except InvalidJobId:
        return False


def _unknown(job: Job) -> UnknownHandler | None:
    try:
        lookup(job.name)
    except UnknownHandler as error:
        return error
    return None
