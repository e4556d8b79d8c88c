"""Other jobs that have to do with one."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from asyncjobs.api.webhooks import callback_of
from asyncjobs.api.webhooks.delivering import delivery_id
from asyncjobs.domain.faults import fault_of
from asyncjobs.domain.job import TERMINAL, Job
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Query

LOOKED_AT: Final = 25  # jobs, whatever is looked for
SIMILAR: Final = 5


def twin_of(engine: Engine, job: Job) -> Job | None:
    """The unfinished job with the same unique key, if it is among the newest of the handler."""
    if job.unique_key is None:
        return None
    newest = engine.find(Query(name=job.name, limit=LOOKED_AT)).jobs
    return next((other for other in newest if _are_twins(other, job)), None)


def fault_like(job: Job) -> str | None:
    """What dead jobs that failed as this one did, or does until it succeeds, have in common."""
    return fault_of(job.name, job.error) if job.error else None


def similar_failures(engine: Engine, job: Job) -> Sequence[Job]:
    """The newest dead jobs that failed alike."""
    fault = fault_like(job)
    if fault is None:
        return []
    dead = engine.find(Query(fault=fault, limit=SIMILAR + 1)).jobs
    return [other for other in dead if other.id != job.id][:SIMILAR]


def delivery_of(engine: Engine, job: Job) -> Job | None:
    """The job that tells the receiver of the webhook how this one ended."""
    url = callback_of(job)
    return None if url is None else engine.store.get([delivery_id(job.id, url)])[0]


def receiver_of(job: Job) -> str:
    """The host that the webhook goes to; the rest of the URL may be a secret."""
    try:
        return urlsplit(callback_of(job) or "").hostname or ""
    except ValueError:
        return ""


def _are_twins(one: Job, other: Job) -> bool:
    is_same = one.id == other.id
    return not is_same and one.unique_key == other.unique_key and one.status not in TERMINAL
