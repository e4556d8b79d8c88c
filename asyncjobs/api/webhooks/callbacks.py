"""Which URLs webhooks may go to."""

import re
from typing import Final, NamedTuple

from asyncjobs.conf_api import WebhookConf
from asyncjobs.domain.job import Job
from asyncjobs.errors import InvalidJob

CALLBACK: Final = ":callback"  # among a job's headers: no header of a request begins with a colon
MAX_URL: Final = 2_000

_HTTPS_PORT: Final = 443
_PRINTABLE: Final = re.compile(r"[!-~]+")
_URL: Final = re.compile(
    r"""(?xi)
    https://
    ( (?:[a-z0-9_-]{1,63}\.)* [a-z0-9_-]{1,63} )  # so no user, no brackets, no escapes: nothing to read in two ways
    (?: :(\d{1,5}) )?
    ( (?:[/?][^#]*)? )
    """
)


class Receiver(NamedTuple):
    """Where a webhook goes."""

    host: str
    port: int
    target: str  # path and query: they may hold a secret, and are never shown

    @property
    def authority(self) -> str:
        return self.host if self.port == _HTTPS_PORT else f"{self.host}:{self.port}"


def callback_of(job: Job) -> str | None:
    """The URL the job was submitted with, if it was with one."""
    values = (job.headers or {}).get(CALLBACK)
    return values[0] if values else None


def check_callback(url: str, conf: WebhookConf) -> str:
    """The URL, if webhooks may go there. The message of an error names its host at most."""
    allowed_receiver(url, conf)
    return url


def allowed_receiver(url: str, conf: WebhookConf) -> Receiver:
    """Whom the URL names, if webhooks may go there; else `InvalidJob`."""
    if not conf.hosts:
        raise InvalidJob("webhooks are off here: a job cannot have a callback_url")
    receiver = _receiver_of(url)
    if not any(_allows(host, receiver) for host in conf.hosts):
        raise InvalidJob(f"no webhooks go to {receiver.authority:.200}: it is not among the hosts allowed here")
    return receiver


def _receiver_of(url: str) -> Receiver:
    if not isinstance(url, str) or len(url) > MAX_URL or not _PRINTABLE.fullmatch(url):
        raise InvalidJob(f"a callback_url is 1 to {MAX_URL:,} printable ASCII characters, and none of them is a blank")
    match = _URL.fullmatch(url)
    if match is None:
        raise InvalidJob("a callback_url is https://host/path, and has no user, no password and no fragment")
    host, port, target = match.groups()
    return Receiver(host.lower(), int(port or _HTTPS_PORT), target if target.startswith("/") else f"/{target}")


def _allows(entry: str, receiver: Receiver) -> bool:
    """`*` stands for one or more labels."""
    host, _, port = entry.partition(":")
    if int(port or _HTTPS_PORT) != receiver.port:
        return False
    return receiver.host.endswith(host[1:]) if host.startswith("*.") else receiver.host == host
