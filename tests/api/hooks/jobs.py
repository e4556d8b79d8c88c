"""The delivery of webhooks as it is, but to loopback. `WEBHOOK_TEST_CERTIFICATE` names the receiver's certificate."""

import os
from pathlib import Path
from typing import Any

from asyncjobs import Handler, Job, get_engine, job, retry
from asyncjobs.api.webhooks import CALLBACK, delivery_of
from asyncjobs.api.webhooks.delivering import follow
from asyncjobs.conf import get_conf
from asyncjobs.errors import WebhookRefused
from asyncjobs.submission import new_jobs
from tests.api.receiver import sender_to_loopback

CERTIFICATE = "WEBHOOK_TEST_CERTIFICATE"


@job(name="tests.webhook", max_retries=2, retry=retry.fixed(0, never=(WebhookRefused,)))
def deliver_here(job_id: str, url: str) -> str:
    certificate = Path(os.environ[CERTIFICATE])
    return follow(job_id, url, get_conf().api.webhooks, sender_to_loopback(certificate, timeout=2))


def with_callback(handler: Handler[..., Any], *args: Any, url: str) -> tuple[Job, Job]:
    """Submits a job of this handler with a callback_url, and answers it and its delivery."""
    engine = get_engine()
    [made] = new_jobs(
        handler.name,
        handler.binding,
        handler.options,
        [handler.call(*args)],
        now=engine.store.now(),
        max_payload=engine.conf.max_payload,
    )
    made = made.replace(headers={CALLBACK: [url]})
    delivery = delivery_of(made, url, engine.conf.api.webhooks)
    delivery = delivery.replace(name=deliver_here.name, max_retries=deliver_here.options.max_retries)
    job, delivery = engine.submit_many([made, delivery])
    return job, delivery
