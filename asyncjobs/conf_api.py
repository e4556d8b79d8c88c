"""The settings of the HTTP API: `ASYNCJOBS["API"]`."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from asyncjobs.reading import DAY_MS, BadSetting, known, positive, queue, span

SECRET_BYTES: Final = range(24, 65)  # of a webhook's secret, as Standard Webhooks wants it
SECRET_PREFIX: Final = "whsec_"

_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_SECRETIVE: Final = re.compile(r"(?i)authori[sz]ation|cookie|csrf|secret|token|password|session|api-?key|^proxy-")
_HOST: Final = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}(:\d{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookConf:
    """Where webhooks may go, and how they are signed: with the first secret, and the others while receivers change."""

    hosts: tuple[str, ...] = ()  # "hooks.example.com", "*.example.com", "hooks.example.com:8443"; none: no webhooks
    secrets: tuple[bytes, ...] = ()
    queue: str = "webhooks"
    timeout: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiConf:
    """The settings as they hold. The defaults here are the defaults."""

    authentication: tuple[str, ...] | None = None  # None: what the site's REST framework has
    headers: tuple[str, ...] = ("Accept-Language", "Traceparent", "Tracestate", "X-Request-Id")
    max_body: int = 4 * 1024 * 1024
    longest_wait: int = 20_000
    most_waiting: int = 2  # a server may have few threads, and these are taken
    most_streams: int = 100
    idempotency: int = DAY_MS
    webhooks: WebhookConf = field(default_factory=WebhookConf)


def api(value: object) -> ApiConf:
    return ApiConf(**_read(value, _READERS, "API"))


def _webhooks(value: object) -> WebhookConf:
    conf = WebhookConf(**_read(value, _WEBHOOK_READERS, "WEBHOOKS"))
    if conf.hosts and not conf.secrets:
        raise BadSetting("webhooks need a secret to be signed with", hint='Give "SECRETS": ["whsec_…"].')
    return conf


def _read(value: object, readers: Mapping[str, Callable[[Any], Any]], where: str) -> dict[str, Any]:
    return {name.lower(): readers[name](given) for name, given in known(value, readers, where).items()}


def _texts(value: object) -> Sequence[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise BadSetting(f"{value!r:.80} is no list of texts", hint="Give a list or a tuple of them.")
    return value


def _authentication(value: object) -> tuple[str, ...] | None:
    return None if value is None else tuple(_texts(value))


def _headers(value: object) -> tuple[str, ...]:
    return tuple(map(header_name, _texts(value)))


def header_name(name: str) -> str:
    """The name of a header that jobs may keep."""
    if not _HEADER.fullmatch(name):
        raise BadSetting(f"{name!r:.80} is no name of a header", hint="Give letters, digits and - alone.")
    if _SECRETIVE.search(name):
        raise BadSetting(f"the header {name!r} may hold a secret", hint="Jobs keep no credentials.")
    return name.title()


def _hosts(value: object) -> tuple[str, ...]:
    for host in _texts(value):
        if not _HOST.fullmatch(host):
            raise BadSetting(f"{host!r:.80} is no name of a host", hint='Give "hooks.example.com" or "*.example.com".')
    return tuple(_texts(value))


def _secrets(value: object) -> tuple[bytes, ...]:
    return tuple(map(_secret, _texts(value)))


def _secret(text: str) -> bytes:
    """Never shown in an error."""
    hint = 'Give "whsec_" and 24 to 64 random bytes in base64.'
    try:
        secret = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise BadSetting("a webhook's secret is not in base64", hint=hint) from None
    if not text.startswith(SECRET_PREFIX) or len(secret) not in SECRET_BYTES:
        raise BadSetting("a webhook's secret does not fit", hint=hint)
    return secret


def _duration(value: Any) -> int:
    hint = "Give seconds above zero, or a timedelta."
    duration = span(value, hint=hint)
    if not duration:
        raise BadSetting(f"{value!r:.80} is no length of time", hint=hint)
    return duration


_WEBHOOK_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "HOSTS": _hosts,
    "SECRETS": _secrets,
    "QUEUE": queue,
    "TIMEOUT": _duration,
}
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "AUTHENTICATION": _authentication,
    "HEADERS": _headers,
    "MAX_BODY": positive,
    "LONGEST_WAIT": _duration,
    "MOST_WAITING": positive,
    "MOST_STREAMS": positive,
    "IDEMPOTENCY": _duration,
    "WEBHOOKS": _webhooks,
}
