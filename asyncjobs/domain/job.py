"""The job: a frozen value. Every change makes a new one (see `transitions`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final, Literal, Self, cast

from asyncjobs.domain.retry import RetryPolicy


class JobStatus(IntEnum):
    """Where a job stands. FAILED is the dead-letter state; a pending retry is SCHEDULED with `retry_count > 0`."""

    QUEUED = 100
    WAITING = 150
    SCHEDULED = 200
    IN_PROGRESS = 300
    COMPLETED = 400
    FAILED = 500
    CANCELED = 600


PENDING: Final = frozenset({JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED})
TERMINAL: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED})

UniqueWhile = Literal["pending", "running", "ttl"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why a run, or a job, ended badly."""

    code: str
    message: str
    type: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a running job says it is."""

    done: int
    total: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One submitted run. Times are integer milliseconds since 1970, by the store's clock."""

    id: str
    name: str
    status: JobStatus = JobStatus.QUEUED
    version: int = 1  # grows with every transition: the fencing token
    queue: str = "default"
    priority: int = 0  # -100 … 100, higher first
    headers: Mapping[str, Sequence[str | None]] | None = None
    route_params: Mapping[str, Any] | None = None
    query_params: Sequence[tuple[str, Sequence[str | None]]] | None = None
    payload: str = ""  # opaque text: out == in, to the byte
    result: str | None = None
    error: JobError | None = None
    fault: str | None = None  # FAILED: what it has in common with others, see `faults`
    retry_count: int = 0  # of the retry budget, spent
    max_retries: int = 3
    due_at: int | None = None  # SCHEDULED: not before; else: ready since (None: since created_at)
    worker: str | None = None
    created_at: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    updated_at: int = 0
    attempt: int = 0  # claims, less those released
    crashes: int = 0  # deaths of the process that ran it
    lapses: int = 0  # leases that ran out under it
    claimed_until: int | None = None
    timeout_ms: int | None = None
    soft_timeout_ms: int | None = None
    retry: RetryPolicy | None = None  # None: the handler's
    unique_key: str | None = None
    unique_while: UniqueWhile = "running"
    unique_until: int | None = None  # "ttl" only
    workflow_id: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    progress: Progress | None = None
    cancel_requested: int | None = None

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """The job with these values, in the order of FIELDS.

        Claiming builds a job and settling copies one. The `__init__` of a frozen class takes ten times as long
        as that of an open one with the same slots, which is frozen afterwards.
        """
        job = _OpenJob(*values)
        job.__class__ = cls
        return cast(Self, job)

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed."""
        values = list(values_of(self))
        for name, value in changes.items():
            values[INDEX[name]] = value
        return self.of(values)

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL

    @property
    def ready_at(self) -> int:
        """Since when a QUEUED job has been waiting for a worker."""
        return self.created_at if self.due_at is None else self.due_at

    @property
    def score(self) -> int:
        """The time by which the place of this job's status is ordered, claimed, promoted, rescued, pruned and paged."""
        score: int = _SCORE[self.status](self)
        return score

    def holds_unique_key(self, now: int) -> bool:
        """Whether a job with the same unique key is a twin of this one."""
        if self.unique_key is None:
            return False
        if self.unique_while == "ttl":
            return self.unique_until is not None and now < self.unique_until
        return self.status in PENDING or (self.unique_while == "running" and self.status == JobStatus.IN_PROGRESS)


FIELDS: Final = tuple(field.name for field in fields(Job))
INDEX: Final = {name: position for position, name in enumerate(FIELDS)}
DEFAULTS: Final = tuple(field.default for field in fields(Job))
values_of: Final = attrgetter(*FIELDS)

_OpenJob: Any = make_dataclass("_OpenJob", FIELDS, slots=True)
_SCORE = {
    JobStatus.QUEUED: lambda job: job.ready_at,
    JobStatus.WAITING: lambda job: job.created_at,
    JobStatus.SCHEDULED: lambda job: job.due_at,
    JobStatus.IN_PROGRESS: lambda job: job.claimed_until,
    JobStatus.COMPLETED: lambda job: job.completed_at,
    JobStatus.FAILED: lambda job: job.completed_at,
    JobStatus.CANCELED: lambda job: job.completed_at,
}
