"""What a job was before something was done to it by hand: enough to take that back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from asyncjobs.domain.job import FIELDS, Job, JobStatus, values_of

_ALWAYS_MOVE: Final = ("version", "updated_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a job came to be, as far as it is known by that again, and the fields that changed, as they were before."""

    version: int
    status: JobStatus
    at: int  # when it came to be that
    due_at: int | None
    was: Mapping[str, Any]

    @classmethod
    def of(cls, old: Job, new: Job) -> Self:
        """The past of `new`, which was made from `old`."""
        values = zip(FIELDS, values_of(old), values_of(new), strict=True)
        was = {name: before for name, before, after in values if before != after and name not in _ALWAYS_MOVE}
        return cls(version=new.version, status=new.status, at=new.updated_at, due_at=new.due_at, was=was)
