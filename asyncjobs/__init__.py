"""Background jobs for Django. The names here are the public ones; `asyncjobs.errors` has the errors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncjobs.current import get_engine as get_engine
    from asyncjobs.domain import retry as retry
    from asyncjobs.domain.job import Job as Job
    from asyncjobs.domain.job import JobStatus as JobStatus
    from asyncjobs.domain.retry import RetryPolicy as RetryPolicy
    from asyncjobs.engine import Engine as Engine
    from asyncjobs.registry import Handler as Handler
    from asyncjobs.registry import job as job
    from asyncjobs.stores.base import Query as Query
    from asyncjobs.unique import Unique as Unique
    from asyncjobs.worker.context import Interrupted as Interrupted
    from asyncjobs.worker.context import JobContext as JobContext
    from asyncjobs.worker.context import job_context as job_context

_HOMES = {
    "Engine": "asyncjobs.engine",
    "Handler": "asyncjobs.registry",
    "Interrupted": "asyncjobs.worker.context",
    "Job": "asyncjobs.domain.job",
    "JobContext": "asyncjobs.worker.context",
    "JobStatus": "asyncjobs.domain.job",
    "Query": "asyncjobs.stores.base",
    "RetryPolicy": "asyncjobs.domain.retry",
    "Unique": "asyncjobs.unique",
    "get_engine": "asyncjobs.current",
    "job": "asyncjobs.registry",
    "job_context": "asyncjobs.worker.context",
    "retry": "asyncjobs.domain",
}

__all__ = [
    "Engine",
    "Handler",
    "Interrupted",
    "Job",
    "JobContext",
    "JobStatus",
    "Query",
    "RetryPolicy",
    "Unique",
    "get_engine",
    "job",
    "job_context",
    "retry",
]


def __getattr__(name: str) -> Any:
    """Imports on first use: the package itself can be imported before Django is set up."""
    if name not in _HOMES:
        raise AttributeError(f"module 'asyncjobs' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
