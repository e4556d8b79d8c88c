"""What a receiver is told, signed as Standard Webhooks 1.0 says: https://www.standardwebhooks.com."""

import hashlib
import hmac
import json
from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

from asyncjobs.api.bodies import moment
from asyncjobs.domain.job import Job


class Message(NamedTuple):
    """How a job ended. The id is the same however often this is told, and another one when the job ends again."""

    id: str
    body: bytes


def message_of(job: Job) -> Message:
    """Of a finished job. It names the job, and says nothing of what is in it."""
    status = job.status.name.lower()
    told = {
        "type": f"job.{status}",
        "timestamp": moment(job.completed_at or 0),
        "data": {"id": job.id, "name": job.name, "status": status},
    }
    end = f"{job.id} {job.completed_at} {status}"
    return Message(f"msg_{hashlib.sha256(end.encode()).hexdigest()[:32]}", json.dumps(told).encode())


def signed(message: Message, secrets: Sequence[bytes], *, at: int) -> dict[str, str]:
    """The headers that prove whose it is: a signature with each secret, as of `at`, in seconds since 1970."""
    content = b".".join((message.id.encode(), str(at).encode(), message.body))
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(_signature(content, secret) for secret in secrets),
    }


def _signature(content: bytes, secret: bytes) -> str:
    return f"v1,{b64encode(hmac.digest(secret, content, hashlib.sha256)).decode()}"
