"""The companion of a job with a `callback_url`: it waits for the job's end, and tells of it."""

import time
from typing import Final
from uuid import UUID, uuid5

from asyncjobs.api.webhooks.callbacks import Receiver, allowed_receiver
from asyncjobs.api.webhooks.message import Message, message_of, signed
from asyncjobs.api.webhooks.sending import Sender
from asyncjobs.conf import get_conf
from asyncjobs.conf_api import WebhookConf
from asyncjobs.current import get_engine
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.domain.retry import exponential
from asyncjobs.errors import InvalidJob, WebhookFailed, WebhookRefused
from asyncjobs.registry import job
from asyncjobs.submission import new_jobs
from asyncjobs.worker.context import job_context

FIRST_MS: Final = 1_000
_LONGEST_MS: Final = 60_000
_LONGEST_BEFORE_DUE_MS: Final = 600_000  # for it may be canceled by code that rings for nobody
_SHARE_OF_AGE: Final = 8
_NAMESPACE: Final = UUID("6a0f5b0e-5d0c-4f8a-9b1e-2f6f3b7c1d54")
_MAX_PAYLOAD: Final = 16 * 1024  # a URL and an id, whatever the site allows its own jobs
_GONE_FOR_GOOD: Final = 410

DELIVERED: Final = "delivered"
JOB_GONE: Final = "the job is gone"


@job(
    name="asyncjobs.webhook",
    queue=WebhookConf().queue,
    max_retries=16,  # over three days, more or less
    retry=exponential(30, cap=86_400, never=(WebhookRefused,)),
)
def deliver(job_id: str, url: str) -> str:
    """Tells the receiver how the job ended, as soon as it has."""
    conf = get_conf().api.webhooks
    return follow(job_id, url, conf, Sender(timeout=conf.timeout / 1000))


def delivery_of(job: Job, url: str, conf: WebhookConf) -> Job:
    """The job that tells `url` of the end of `job`, to be stored with it. Made again, it is the same."""
    handler = deliver.using(queue=conf.queue, delay=FIRST_MS / 1000)
    [delivery] = new_jobs(
        handler.name,
        handler.binding,
        handler.options,
        [handler.call(job.id, url)],
        now=job.created_at,
        max_payload=_MAX_PAYLOAD,
    )
    return delivery.replace(id=delivery_id(job.id, url))


def delivery_id(job_id: str, url: str) -> str:
    """One for each receiver of a job."""
    return str(uuid5(_NAMESPACE, f"{job_id} {url}"))


def longest_ms() -> int:
    """For how long a receiver is tried, at most."""
    return sum(deliver.retry.delay(count, 1) or 0 for count in range(deliver.options.max_retries))


def follow(job_id: str, url: str, conf: WebhookConf, sender: Sender) -> str:
    """Delivers the end of the job, or looks again later: also when the job was retried meanwhile."""
    found = _job(job_id)
    if found is None:
        return JOB_GONE
    if found.is_terminal:
        _tell(found, url, conf, sender)
        later = _job(job_id)
        if later is None or (later.status, later.completed_at) == (found.status, found.completed_at):
            return DELIVERED
    job_context().snooze(_pause(found) / 1000)


def _job(job_id: str) -> Job | None:
    [found] = get_engine().store.get([job_id])
    return found


def _tell(job: Job, url: str, conf: WebhookConf, sender: Sender) -> None:
    receiver = _receiver(url, conf)
    message = message_of(job)
    _require_success(_post(receiver, message, conf, sender), receiver)


def _receiver(url: str, conf: WebhookConf) -> Receiver:
    """The settings may have changed since the URL was accepted."""
    try:
        return allowed_receiver(url, conf)
    except InvalidJob as error:
        raise WebhookRefused(error.message) from None


def _post(receiver: Receiver, message: Message, conf: WebhookConf, sender: Sender) -> int:
    return sender.post(receiver, message.body, signed(message, conf.secrets, at=int(time.time())))


def _require_success(status: int, receiver: Receiver) -> None:
    if status == _GONE_FOR_GOOD:
        raise WebhookRefused(f"{receiver.authority} answered {status}: it wants to be told no more")
    if not 200 <= status < 300:
        raise WebhookFailed(f"{receiver.authority} answered {status}")


def _pause(job: Job) -> int:
    """The older a job is, the later it is looked at again. Mostly its end rings before that."""
    now = get_engine().store.now()
    if job.status == JobStatus.SCHEDULED and job.due_at is not None:
        return min(max(job.due_at - now, FIRST_MS), _LONGEST_BEFORE_DUE_MS)
    return min(max((now - job.created_at) // _SHARE_OF_AGE, FIRST_MS), _LONGEST_MS)
