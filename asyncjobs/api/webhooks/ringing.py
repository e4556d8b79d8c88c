"""The end of a job has its webhook delivered at once, and not when its delivery looks next."""

import logging
from functools import partial
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from asyncjobs import signals
from asyncjobs.api.webhooks.callbacks import callback_of
from asyncjobs.api.webhooks.delivering import FIRST_MS, delivery_id
from asyncjobs.conf import SETTING, get_conf
from asyncjobs.current import get_engine
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError, JobNotFound

logger = logging.getLogger("asyncjobs.webhooks")

_ENDS: Final = (signals.job_completed, signals.job_failed, signals.job_canceled)
_UID: Final = "asyncjobs.webhooks"
_TOLD: Final = (JobStatus.COMPLETED, JobStatus.FAILED)  # one that was canceled stays so


def follow_settings() -> None:
    """Listens to the ends of jobs while webhooks are on: every receiver costs every job something."""
    _listen_if_on()
    setting_changed.connect(_changed, dispatch_uid=_UID)


def ring(job: Job, **facts: Any) -> None:
    """Has the end of this job delivered now. Never fails: what nobody rings for is delivered a little later."""
    url = callback_of(job)
    if url is None or not job.is_terminal:
        return
    try:
        get_engine().change(delivery_id(job.id, url), partial(_rung, end=job.completed_at or 0))
    except JobNotFound:
        logger.debug("the webhook's delivery was removed", extra={"job_id": job.id})
    except AsyncJobsError:
        logger.warning("the webhook is delivered later than it could be", exc_info=True, extra={"job_id": job.id})


def again(engine: Engine, job: Job) -> None:
    """To be called before a job is retried by hand: its next end is told, too."""
    url = callback_of(job)
    if url is None:
        return
    try:
        engine.change(delivery_id(job.id, url), _renewed)
    except JobNotFound:
        return


def _rung(delivery: Job, now: int, *, end: int) -> Job:
    """Of a job that was retried by hand, the delivery may have ended before the job has; then it begins anew."""
    if delivery.status == JobStatus.SCHEDULED:
        return transitions.run_now(delivery, now=now)
    if delivery.status in _TOLD and (delivery.completed_at or 0) <= end:
        return transitions.retry(delivery, now=now)
    return delivery


def _renewed(delivery: Job, now: int) -> Job:
    """It looks a little later, so that it does not find the job as it still is."""
    if delivery.status not in _TOLD:
        return delivery
    queued = transitions.retry(delivery, now=now)
    return transitions.reschedule(queued, now + FIRST_MS, now=now).replace(version=queued.version)


def _changed(*, setting: str, **facts: Any) -> None:
    if setting == SETTING:
        _listen_if_on()


def _listen_if_on() -> None:
    is_on = _is_on()
    for signal in _ENDS:
        if is_on:
            signal.connect(ring, dispatch_uid=_UID)
        else:
            signal.disconnect(dispatch_uid=_UID)


def _is_on() -> bool:
    """Settings that cannot be used are for the system check to say."""
    try:
        return bool(get_conf().api.webhooks.hosts)
    except ImproperlyConfigured:
        return False
