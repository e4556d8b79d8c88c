"""What happened to a job, in the order in which it did."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.actions import read_action
from asyncjobs.dashboard.attempts import Attempt
from asyncjobs.dashboard.people import who
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.stores.base import Entry

SLACK_MS: Final = 1_000  # by which clocks may differ without a word


class Moment(NamedTuple):
    """Something that happened, or is to happen."""

    at: int
    kind: str
    text: str
    note: str = ""
    job_id: str = ""  # of another job that has to do with it
    operation: str = ""  # of which it was a part
    after: int | None = None  # milliseconds since the moment before
    is_odd: bool = False  # it cannot have happened at its time: clocks disagree


def timeline(job: Job, attempts: Sequence[Attempt], actions: Sequence[Entry], names: Mapping[str, str]) -> list[Moment]:
    """All moments that are known; `names` are those of the people who did something.

    What must have come after something else is put there, whatever the clocks said.
    """
    placed = [*_in_course(_course(job, attempts)), *_beside(_events(job, actions, names))]
    placed.sort(key=lambda place: place[0])
    first, *rest = placed
    gaps = [place[0][0] - before[0][0] for before, place in pairwise(placed)]
    return [first[1], *(moment._replace(after=gap) for (_, moment), gap in zip(rest, gaps, strict=True))]


Place = tuple[tuple[int, int, int], Moment]


def _in_course(course: Iterator[Moment]) -> Iterator[Place]:
    """Each where it is by the clock, but never before the one before it."""
    latest = 0
    for position, moment in enumerate(course):
        is_odd = moment.at < latest - SLACK_MS
        latest = max(latest, moment.at)
        yield (latest, 2 if position else 0, position), moment._replace(is_odd=is_odd)


def _beside(events: Iterator[Moment]) -> Iterator[Place]:
    """What people do at some time is the cause of what happens at that time."""
    for position, moment in enumerate(events):
        yield (moment.at, 1, position), moment


def _course(job: Job, attempts: Sequence[Attempt]) -> Iterator[Moment]:
    """What can only have happened in this order."""
    yield Moment(job.created_at, "submitted", gettext("submitted"))
    for attempt in attempts:
        yield from _of_attempt(attempt)
    known = {attempt.started_at for attempt in attempts}
    if job.started_at is not None and job.started_at not in known:
        yield _start(job.started_at, job.attempt, job.worker or "")
    if job.completed_at is not None:
        yield Moment(
            job.completed_at, job.status.name.lower(), str(_ENDS.get(job.status, job.status.name)), _reason_of(job)
        )


def _of_attempt(attempt: Attempt) -> Iterator[Moment]:
    if attempt.started_at is not None:
        yield _start(attempt.started_at, attempt.attempt, attempt.worker)
    text = gettext("attempt %(number)s ended badly") % {"number": _number(attempt.attempt)}
    what = attempt.type.rpartition(".")[2] or attempt.code
    note = f"{what}: {attempt.message}" if what and attempt.message else what or attempt.message
    yield Moment(attempt.ended_at, "bad", text, note)


def _start(at: int, number: int | None, worker: str) -> Moment:
    text = gettext("attempt %(number)s started") % {"number": _number(number)}
    return Moment(at, "started", text, gettext("on %(worker)s") % {"worker": worker} if worker else "")


def _number(number: int | None) -> str:
    return "?" if number is None else str(number)


def _events(job: Job, actions: Sequence[Entry], names: Mapping[str, str]) -> Iterator[Moment]:
    """What may have happened at any time."""
    yield from (_of_action(entry, names) for entry in actions)
    acted = {entry.at for entry in actions}
    if job.due_at is not None and job.due_at > job.created_at and job.due_at not in acted:
        yield Moment(job.due_at, "due", gettext("due"), gettext("retry") if job.retry_count else "")
    if job.cancel_requested is not None and job.cancel_requested not in acted:
        yield Moment(job.cancel_requested, "action", gettext("asked to stop"))


def _of_action(entry: Entry, names: Mapping[str, str]) -> Moment:
    said = read_action(entry)
    facts = {"who": who(said.get("by"), names), "action": said["action"]}
    phrase = _ACTIONS.get(str(said["action"]))
    text = str(phrase) % facts if phrase else gettext("%(who)s: %(action)s") % facts
    return Moment(entry.at, "action", text, str(said.get("reason") or ""), _id(said, "job"), _id(said, "operation"))


def _id(said: Mapping[str, Any], name: str) -> str:
    try:
        return job_id_of(said.get(name, ""))
    except InvalidJobId:
        return ""


def _reason_of(job: Job) -> str:
    error = job.error if job.status == JobStatus.CANCELED else None
    return error.message if error and error.code == "JOB_CANCELED" else ""


_ENDS: Final[Mapping[JobStatus, Promise]] = {
    JobStatus.COMPLETED: _("completed"),
    JobStatus.FAILED: _("failed for good"),
    JobStatus.CANCELED: _("canceled"),
}
_ACTIONS: Final[Mapping[str, Promise]] = {
    "cancel": _("%(who)s canceled it"),
    "retry": _("%(who)s had it run again"),
    "run_again": _("%(who)s had it run again"),
    "run_now": _("%(who)s had it run without waiting"),
    "undo": _("%(who)s took that back"),
    "reschedule": _("%(who)s put it off to another time"),
    "replace": _("%(who)s had another job run in its place"),
    "delete": _("%(who)s deleted it"),
    "restore": _("%(who)s restored it from the trash"),
    "edit": _("%(who)s edited the arguments of another job"),
}
