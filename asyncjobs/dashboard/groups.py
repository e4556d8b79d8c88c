"""Dead jobs in groups: those that failed alike, told by the newest of them."""

from collections.abc import Iterable
from typing import NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from asyncjobs.dashboard.svg import bars
from asyncjobs.domain.job import Job
from asyncjobs.stores.base import Fault, Store
from asyncjobs.templatetags.asyncjobs import number


class Group(NamedTuple):
    """Jobs that failed alike, and one that did last."""

    fault: Fault
    newest: Job

    @property
    def kind(self) -> str:
        """The exception, or the code where there was none."""
        error = self.newest.error
        return error.type.rpartition(".")[2] or error.code if error else ""

    @property
    def message(self) -> str:
        return self.newest.error.message if self.newest.error else ""

    @property
    def term(self) -> str:
        """What finds its jobs, typed into the list of jobs."""
        return f"fault:{self.fault.fault}"


def groups_of(store: Store, faults: Iterable[Fault]) -> list[Group]:
    """In their order, but for those whose newest job is gone by now, or cannot be read."""
    known = list(faults)
    newest = store.get_readable([fault.newest for fault in known])
    return [Group(fault, job) for fault, job in zip(known, newest, strict=True) if job is not None]


def week(fault: Fault) -> SafeString:
    """On which of the last days the jobs failed, as a small chart."""
    counts = ", ".join(map(number, fault.days))
    title = gettext("Failed on each of the last 7 days, today last: %(counts)s") % {"counts": counts}
    return bars(fault.days, title=title)
