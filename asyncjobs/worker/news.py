"""Says what became of a job: in the log, and to those who listen to signals."""

import logging
from typing import Any

from asyncjobs import signals
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.registry import Handler
from asyncjobs.signals import tell

logger = logging.getLogger("asyncjobs.worker")


def settled(old: Job, new: Job, handler: Handler[..., Any] | None, seconds: float = 0.0) -> None:
    """To be called when it is stored."""
    if new.status == JobStatus.COMPLETED:
        tell(signals.job_completed, handler, job=new, seconds=seconds)
        logger.debug("%s completed in %.3f s", new.name, seconds, extra={"job_id": new.id})
    elif new.status == JobStatus.CANCELED:
        tell(signals.job_canceled, handler, job=new)
        logger.info("%s was canceled", new.name, extra={"job_id": new.id})
    elif new.error is not old.error and new.error is not None:
        _failed(new, handler)
    elif new.status != old.status:
        tell(signals.job_released, handler, job=new)
        logger.debug("%s was handed back", new.name, extra={"job_id": new.id})


def _failed(job: Job, handler: Handler[..., Any] | None) -> None:
    """The job has a new error: it is to be retried, is parked, or failed for good."""
    tell(signals.job_failed, handler, job=job, error=job.error)
    error = f"{job.error.code}: {job.error.message}" if job.error else ""
    if job.status == JobStatus.FAILED:
        logger.error("%s failed for good: %s", job.name, error, extra={"job_id": job.id})
    else:
        logger.warning("%s failed and will run again: %s", job.name, error, extra={"job_id": job.id})


def lost(job: Job, handler: Handler[..., Any] | None) -> None:
    tell(signals.lease_lost, handler, job=job)
    logger.warning("%s is no longer held here; what became of it there counts", job.name, extra={"job_id": job.id})


def rescued(new: Job, handler: Handler[..., Any] | None) -> None:
    """The job's worker fell silent."""
    tell(signals.job_rescued, handler, job=new)
    logger.warning("%s was taken from a worker that fell silent", new.name, extra={"job_id": new.id})
    if new.is_terminal:
        _failed(new, handler)


def taken_back(old: Job, new: Job, handler: Handler[..., Any] | None) -> None:
    """The job's process ended under it."""
    if new.crashes > old.crashes:
        tell(signals.job_rescued, handler, job=new)
        logger.warning("%s: the process that ran it died, time %d", new.name, new.crashes, extra={"job_id": new.id})
    settled(old, new, handler)
