"""What a running handler can ask about its job, and say of its progress."""

import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Literal, NoReturn

from asyncjobs.domain.job import Job, Progress
from asyncjobs.errors import InvalidJob
from asyncjobs.ids import new_ids
from asyncjobs.outcome import storable
from asyncjobs.stores.base import JOURNAL_LIMITS, Entry
from asyncjobs.times import Duration, duration_ms
from asyncjobs.worker.held import Flag

Reason = Literal["canceled", "timeout", "lost", "left", "snoozed"]

MAX_LINE: Final = 4_000
MAX_MESSAGE: Final = 200
MAX_COUNT: Final = 2**53

_current: ContextVar["JobContext"] = ContextVar("asyncjobs_context")


class Interrupted(BaseException):
    """Ends a run from within. It is no `Exception`, so that the `except Exception` of a handler lets it through."""

    def __init__(self, reason: Reason, *, delay: int = 0) -> None:
        super().__init__(f"the run was ended: {reason}")
        self.reason = reason
        self.delay = delay


class JobContext:
    """A run, as its handler sees it: `job_context()` answers it anywhere within."""

    def __init__(
        self,
        job: Job,
        *,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        flags: Callable[[], int] = lambda: 0,
        noted: Callable[["JobContext"], None] = lambda context: None,
    ) -> None:
        self.job = job
        self.ended_by: Reason | None = None  # set by whoever ends the run from outside
        self._soft_end = time.monotonic() + job.soft_timeout_ms / 1000 if job.soft_timeout_ms else None
        self._now = now
        self._flags = flags
        self._noted = noted
        self._progress: Progress | None = None
        self._lines: deque[Entry] = deque(maxlen=JOURNAL_LIMITS["log"])

    @property
    def attempt(self) -> int:
        """1 in the first run. A run that was handed back is not counted."""
        return self.job.attempt

    @property
    def fence(self) -> int:
        """A number that grows from one holder of the job to the next, to be checked where the handler writes."""
        return self.job.version

    @property
    def idempotency_key(self) -> str:
        """The same in every run of this job."""
        return self.job.id

    @property
    def is_canceled(self) -> bool:
        """Whether somebody asked to cancel the job."""
        return bool(self._flags() & Flag.CANCEL)

    @property
    def cancel_requested(self) -> bool:
        """Whether the run is to end: it was canceled, took too long, or is no longer this worker's."""
        return self.reason() is not None

    def check_cancelled(self) -> None:
        """Ends the run here if it is to end."""
        reason = self.reason()
        if reason is not None:
            raise Interrupted(reason)

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        """Says how far the run is; at most twice a second is stored, always the last. Ends the run if it is to end."""
        known = None if total is None else _count(total)
        self._progress = Progress(done=_count(done), total=known, message=storable(str(message))[:MAX_MESSAGE])
        self._noted(self)
        self.check_cancelled()

    def log(self, message: object) -> None:
        """Adds a line to the log kept with the job. Of very many lines the last ones are kept."""
        self._lines.append(Entry("log", self._now(), storable(str(message))[:MAX_LINE]))
        self._noted(self)

    def snooze(self, delay: Duration) -> NoReturn:
        """Ends the run here, to be run again after `delay`. Nothing is charged."""
        raise Interrupted("snoozed", delay=duration_ms(delay))

    def noted_on(self, job: Job) -> Job:
        """`job` with the progress made."""
        return job if self._progress is None else job.replace(progress=self._progress)

    def take_lines(self) -> tuple[Entry, ...]:
        """The lines logged since last asked."""
        lines: list[Entry] = []
        while self._lines:
            lines.append(self._lines.popleft())
        return tuple(lines)

    def reason(self) -> Reason | None:
        """Why the run is to end, if it is."""
        flags = self._flags()
        if flags & Flag.LOST:
            return "lost"
        if flags & Flag.CANCEL:
            return "canceled"
        if self._soft_end is not None and time.monotonic() >= self._soft_end:
            return "timeout"
        return self.ended_by


def job_context() -> JobContext:
    """The context of the run this is called in. Outside of one, a context of its own that leads nowhere."""
    return _current.get(None) or JobContext(Job(id=new_ids(1)[0], name=""))


def enter(context: JobContext) -> None:
    """Makes it the context of what runs here: in a copy of the contextvars that is thrown away after the run."""
    _current.set(context)


def current_job_id() -> str:
    """For log records; empty outside of a run."""
    context = _current.get(None)
    return context.job.id if context else ""


def _count(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_COUNT:
        raise InvalidJob(f"progress is counted in whole numbers from zero, not {number!r:.80}")
    return number
