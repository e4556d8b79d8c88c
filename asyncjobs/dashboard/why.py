"""Why a job is not running: what stands in its way, or stopped it, as far as one can know."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.crews import SILENT, Crew, Process, serving
from asyncjobs.domain.job import PENDING, Job, JobStatus
from asyncjobs.domain.transitions import LEASE_EXPIRED, WORKER_DIED
from asyncjobs.errors import UnknownHandler
from asyncjobs.stores.base import QueueCounts

DUE: Final = _("due")
HEARD: Final = _("last heard from")
ENDS: Final = _("ends")

_CANCELED: Final = "JOB_CANCELED"


class Reason(NamedTuple):
    """One of the reasons: a stable code, a sentence, and the times that belong to it, each with what was then."""

    code: str
    text: str
    times: tuple[tuple[str | Promise, int], ...] = ()
    job_id: str = ""  # of another job that has to do with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known around a job."""

    now: int
    queue: QueueCounts | None = None
    paused_by: str = ""  # what whoever paused the queue is called
    workers: Sequence[Crew] = ()
    unknown: UnknownHandler | None = None  # nobody here knows its handler
    twin: Job | None = None  # an unfinished job with the same unique key


def reasons(job: Job, around: Circumstances) -> list[Reason]:
    """The reasons, what weighs most first. None when it runs as it should, or is completed."""
    found = list(_OF_STATUS[job.status](job, around))
    if around.twin is not None and job.status != JobStatus.COMPLETED:
        found.append(_of_twin(job, around.twin))
    return found


def _of_waiting(job: Job, around: Circumstances) -> Iterator[Reason]:
    yield Reason("WAITS", gettext("It waits for other jobs of its workflow."))


def _of_scheduled(job: Job, around: Circumstances) -> Iterator[Reason]:
    due_at = job.due_at or 0
    if job.error is not None and job.error.code == UnknownHandler.code:
        yield Reason("PARKED", gettext("The worker that took it knew no such handler, and put it off."))
    if due_at <= around.now:
        yield Reason("DUE", gettext("It is due, and is taken when a worker next looks."), ((DUE, due_at),))
    elif job.retry_count:
        facts = {"number": job.retry_count, "most": job.max_retries}
        text = gettext("It failed, and is tried again later (retry %(number)d of %(most)d).") % facts
        yield Reason("RETRY_LATER", text, ((DUE, due_at),))
    else:
        yield Reason("NOT_DUE", gettext("It is not due yet."), ((DUE, due_at),))
    yield from _obstacles(job, around)


def _of_queued(job: Job, around: Circumstances) -> Iterator[Reason]:
    obstacles = list(_obstacles(job, around))
    yield from obstacles
    yield from _turn(job, around) or ([] if obstacles else [_next()])


def _of_running(job: Job, around: Circumstances) -> Iterator[Reason]:
    if job.cancel_requested is not None:
        text = gettext("It was asked to stop, and ends when its handler looks next.")
        yield Reason("CANCEL_REQUESTED", text, ((_("asked"), job.cancel_requested),))
    holder = next((process for process in _processes(around.workers) if process.id == job.worker), None)
    if holder is not None and holder.state != SILENT:
        return
    text = gettext("The worker that holds it is not heard from. When its lease is over, another one runs the job.")
    heard = ((HEARD, holder.beat_at),) if holder else ()
    lease = ((_("the lease ends"), job.claimed_until),) if job.claimed_until is not None else ()
    if holder is not None or (job.claimed_until or 0) <= around.now:  # it may be too new to have beaten
        yield Reason("WORKER_SILENT", text, (*heard, *lease))


def _of_failed(job: Job, around: Circumstances) -> Iterator[Reason]:
    yield Reason("FAILED", _last_straw(job), _ended(job))


def _of_canceled(job: Job, around: Circumstances) -> Iterator[Reason]:
    why = job.error.message if job.error and job.error.code == _CANCELED else ""
    text = gettext("It was canceled: %(reason)s") % {"reason": why} if why else gettext("It was canceled.")
    yield Reason("CANCELED", text, _ended(job))


def _of_completed(job: Job, around: Circumstances) -> Iterator[Reason]:
    yield from ()


def _obstacles(job: Job, around: Circumstances) -> Iterator[Reason]:
    """What keeps a job from being taken when its turn comes."""
    yield from _pause(job, around)
    yield from _nobody(job, around)
    if around.unknown is not None:
        text = gettext("This process knows no handler of that name: %(error)s.") % {"error": around.unknown.message}
        yield Reason("UNKNOWN_HANDLER", text)


def _pause(job: Job, around: Circumstances) -> Iterator[Reason]:
    pause = around.queue.pause if around.queue else None
    if pause is None or not pause.holds(around.now):
        return
    facts = {"queue": job.queue, "who": around.paused_by}
    by = gettext("Queue %(queue)s is paused by %(who)s") if around.paused_by else gettext("Queue %(queue)s is paused")
    text = f"{by % facts}: {pause.reason}" if pause.reason else f"{by % facts}."
    until = ((ENDS, pause.until),) if pause.until is not None else ()
    yield Reason("PAUSED", text, ((_("paused"), pause.since), *until))


def _nobody(job: Job, around: Circumstances) -> Iterator[Reason]:
    crews = serving(around.workers, job.queue)
    if any(crew.takes_jobs for crew in crews):
        return
    facts = {"queue": job.queue}
    silent = [process.beat_at for process in _processes(crews) if process.state == SILENT]
    if any(crew.is_quiet for crew in crews):
        text = gettext("The workers of queue %(queue)s are quiet: they take no jobs until they are to work again.")
        yield Reason("WORKERS_QUIET", text % facts)
    elif silent:
        text = gettext("No worker of queue %(queue)s is heard from.")
        yield Reason("WORKERS_SILENT", text % facts, ((HEARD, max(silent)),))
    else:
        yield Reason("NO_WORKER", gettext("No worker listens to queue %(queue)s.") % facts)


def _turn(job: Job, around: Circumstances) -> list[Reason]:
    """How many may go before it. Those with a higher priority do, whenever they came."""
    queue = around.queue
    ahead = queue.by_status.get(JobStatus.QUEUED, 0) - 1 if queue else 0
    if queue is None or ahead < 1:
        return []
    text = ngettext(
        "Up to %(count)s ready job of this queue goes before it.",
        "Up to %(count)s ready jobs of this queue go before it.",
        ahead,
    ) % {"count": f"{ahead:,}"}
    oldest = ((_("the oldest was ready"), queue.oldest_at),) if queue.oldest_at is not None else ()
    return [Reason("BEHIND", text, oldest)]


def _next() -> Reason:
    return Reason("NEXT", gettext("Nothing is in its way: it is next, as soon as a worker is free."))


def _last_straw(job: Job) -> str:
    code = job.error.code if job.error else ""
    if code == WORKER_DIED.code:
        return gettext("The process that ran it died %(count)d times.") % {"count": job.crashes}
    if code == LEASE_EXPIRED.code:
        return gettext("Workers that held it fell silent %(count)d times.") % {"count": job.lapses}
    if job.retry_count < job.max_retries:
        return gettext("It failed with an error after which it is not tried again.")
    if not job.max_retries:
        return gettext("It failed, and has no retries.")
    return gettext("It failed, and its retries are over (%(count)d of %(count)d).") % {"count": job.max_retries}


def _of_twin(job: Job, twin: Job) -> Reason:
    """Only of unfinished twins: two jobs with the same unique key are not meant to run at a time."""
    if twin.status == JobStatus.IN_PROGRESS:
        text = gettext("A twin with the same unique key is running.")
    else:
        text = gettext("A twin with the same unique key is about to run.")
    return Reason("TWIN", text, job_id=twin.id)


def _ended(job: Job) -> tuple[tuple[Any, int], ...]:
    return (("", job.completed_at),) if job.completed_at is not None else ()


def _processes(crews: Iterable[Crew]) -> Iterator[Process]:
    return (process for crew in crews for process in crew.processes)


def needs_circumstances(job: Job) -> bool:
    """Whether its reasons depend on anything but itself."""
    return job.status in PENDING or job.status == JobStatus.IN_PROGRESS


_OF_STATUS: Final = {
    JobStatus.WAITING: _of_waiting,
    JobStatus.SCHEDULED: _of_scheduled,
    JobStatus.QUEUED: _of_queued,
    JobStatus.IN_PROGRESS: _of_running,
    JobStatus.FAILED: _of_failed,
    JobStatus.CANCELED: _of_canceled,
    JobStatus.COMPLETED: _of_completed,
}
