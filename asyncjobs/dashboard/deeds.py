"""What can be done to many jobs at once: in which statuses, by whom, and what it is to those that are in another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from asyncjobs.bulk import FINISHED, UNSTARTED
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.verbs import canceling


class Wish(NamedTuple):
    """How a deed is to be done: when, why, and for how long what is to run is held back."""

    now: int
    reason: str
    hold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that can be done to jobs."""

    name: str
    permission: str
    statuses: Sequence[JobStatus]  # in the order in which jobs are looked for
    change: Callable[[Job, Wish], Job] | None = None  # what it makes of them, unless it removes them
    label: Promise
    question: Any  # of how many
    done: Any  # to how many
    otherwise: Promise  # why it cannot be done to jobs in another status
    is_final: bool = False
    is_held: bool = False  # it makes jobs run, after a while in which it can be undone
    is_for_good: bool = False  # what it removes does not rest in the trash

    @property
    def removes(self) -> bool:
        return self.change is None

    def question_of(self, count: int) -> str:
        return counted(self.question, count)

    def done_to(self, count: int) -> str:
        return counted(self.done, count)


def counted(text: Any, count: int) -> str:
    """The text, in the form for so many, with `shown` as people write such a number."""
    return str(text % {"count": count, "shown": number_format(count, use_l10n=True, force_grouping=True)})


def _retry(job: Job, wish: Wish) -> Job:
    return transitions.retry(job, now=wish.now, hold=wish.hold)


def _run_now(job: Job, wish: Wish) -> Job:
    """It is not put off: it may be due before it would be let go."""
    if not wish.hold:
        return transitions.run_now(job, now=wish.now)
    held_until = wish.now + wish.hold
    return transitions.reschedule(job, min(job.due_at or held_until, held_until), now=wish.now)


def _cancel(job: Job, wish: Wish) -> Job:
    return canceling(wish.reason)(job, wish.now)


_AGAIN: Final = ngettext_lazy("The job runs again.", "%(shown)s jobs run again.", "count")
_GONE: Final = ngettext_lazy("The job is deleted.", "%(shown)s jobs are deleted.", "count")

DEEDS: Final[Mapping[str, Deed]] = {
    deed.name: deed
    for deed in (
        Deed(
            name="retry",
            permission="retry_job",
            statuses=(JobStatus.FAILED, JobStatus.CANCELED),
            change=_retry,
            label=_("Retry"),
            question=ngettext_lazy("Retry %(shown)s job?", "Retry %(shown)s jobs?", "count"),
            done=_AGAIN,
            otherwise=_("neither failed nor canceled"),
            is_held=True,
        ),
        Deed(
            name="run_again",
            permission="retry_job",
            statuses=(JobStatus.COMPLETED,),
            change=_retry,
            label=_("Run again"),
            question=ngettext_lazy("Run %(shown)s job again?", "Run %(shown)s jobs again?", "count"),
            done=_AGAIN,
            otherwise=_("not completed"),
            is_held=True,
        ),
        Deed(
            name="run_now",
            permission="retry_job",
            statuses=(JobStatus.SCHEDULED,),
            change=_run_now,
            label=_("Run now"),
            question=ngettext_lazy("Run %(shown)s job now?", "Run %(shown)s jobs now?", "count"),
            done=ngettext_lazy("The job waits no longer.", "%(shown)s jobs wait no longer.", "count"),
            otherwise=_("not waiting for a time"),
            is_held=True,
        ),
        Deed(
            name="cancel",
            permission="cancel_job",
            statuses=(*UNSTARTED, JobStatus.IN_PROGRESS),
            change=_cancel,
            label=_("Cancel"),
            question=ngettext_lazy("Cancel %(shown)s job?", "Cancel %(shown)s jobs?", "count"),
            done=ngettext_lazy(
                "The job is canceled, or asked to stop if it runs.",
                "%(shown)s jobs are canceled, or asked to stop if they run.",
                "count",
            ),
            otherwise=_("ended already"),
            is_final=True,
        ),
        Deed(
            name="delete",
            permission="delete_job",
            statuses=(*UNSTARTED, *FINISHED),
            label=_("Delete"),
            question=ngettext_lazy("Delete %(shown)s job?", "Delete %(shown)s jobs?", "count"),
            done=_GONE,
            otherwise=_("running: cancel them first"),
            is_final=True,
        ),
        Deed(
            name="purge",
            permission="purge_queue",
            statuses=UNSTARTED,
            label=_("Purge"),
            question=ngettext_lazy("Purge %(shown)s job?", "Purge %(shown)s jobs?", "count"),
            done=ngettext_lazy("The job is gone for good.", "%(shown)s jobs are gone for good.", "count"),
            otherwise=_("started already"),
            is_final=True,
            is_for_good=True,
        ),
    )
}

# Wherever jobs are chosen. Any other deed has a view of its own, which asks for what that deed needs.
OFFERED: Final[Mapping[str, Deed]] = {name: DEEDS[name] for name in ("retry", "run_now", "cancel", "delete")}
