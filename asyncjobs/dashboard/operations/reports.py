"""What there is to say of an operation: what it was to do, how far it is, and whether it can be undone."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from django.core import signing
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.deeds import DEEDS, Deed
from asyncjobs.dashboard.operations.doing import DONE
from asyncjobs.dashboard.operations.meeting import OTHER
from asyncjobs.dashboard.operations.orders import Order, read_order
from asyncjobs.dashboard.operations.preview import WHY
from asyncjobs.dashboard.operations.starting import operate, tally_of
from asyncjobs.dashboard.operations.undoing import STARTED
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import AsyncJobsError

_SECOND_MS: Final = 1_000


class Report:
    """An operation as people see it. One whose order cannot be read has no order."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def order(self) -> Order | None:
        try:
            [signed], _ = operate.call_of(self.job)
            return read_order(signed)
        except (AsyncJobsError, signing.BadSignature, ValueError, TypeError):
            return None

    @property
    def deed(self) -> Deed | None:
        return DEEDS.get(self.order.deed) if self.order else None

    @property
    def label(self) -> Any:
        if self.order is None or self.deed is None:
            return _("An order that cannot be read")
        return gettext("Undo: %(deed)s") % {"deed": self.deed.label} if self.order.undoes else self.deed.label

    @cached_property
    def tally(self) -> Counter[str]:
        return tally_of(self.job)

    @property
    def done(self) -> int:
        return self.tally[DONE]

    @property
    def seen(self) -> int:
        return self.tally.total()

    @property
    def is_counted(self) -> bool:
        """Whether it is known how many there are: where nobody counted them, it is in the end."""
        return self.job.status == JobStatus.COMPLETED or bool(self.order and self.order.expected)

    @property
    def total(self) -> int:
        """How many there are, about, or were met so far."""
        is_over = self.job.status == JobStatus.COMPLETED
        return self.seen if is_over else max(self.seen, (self.order and self.order.expected) or 0)

    @property
    def left_count(self) -> int:
        return self.seen - self.done

    @property
    def left(self) -> list[tuple[int, Any]]:
        """How many were left alone, and why."""
        return [(count, self._why(word)) for word, count in self.tally.most_common() if word != DONE]

    @property
    def rate(self) -> int | None:
        """Jobs a second, while it runs and over its whole run. Of a later run it is not known what was done before."""
        began, end = self.job.started_at, self.job.completed_at or self.job.updated_at
        if began is None or end <= began or self.job.attempt > 1:
            return None
        return round(self.seen * _SECOND_MS / (end - began))

    def rests_until(self, rest: int) -> int:
        """Until when what it removed is in the trash, at least, where jobs rest so long."""
        return (self.job.started_at or self.job.created_at) + rest

    def is_restorable(self, now: int, rest: int) -> bool:
        """Whether what it removed still rests there."""
        return self.deed is not None and not self.deed.is_for_good and now < self.rests_until(rest)

    def _why(self, word: str) -> Any:
        if word == OTHER and self.deed:
            return self.deed.otherwise
        return _WHY.get(word, word)


_WHY: Final[Mapping[str, Promise]] = {
    **WHY,
    STARTED: _("something has come of them since"),
    OTHER: _("in another status"),
}
