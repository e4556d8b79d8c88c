"""What a job was given and what it made, as text for people: without what looks like a secret."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from asyncjobs.api.webhooks.delivering import deliver
from asyncjobs.arguments.binding import Call
from asyncjobs.arguments.showing import shown
from asyncjobs.domain.job import Job
from asyncjobs.errors import InvalidArguments, UnknownHandler
from asyncjobs.outcome import redacted, storable
from asyncjobs.registry import Handler, lookup

MAX_SHOWN: Final = 32 * 1024  # characters on a page; the rest is for download
REDACTED: Final = "[redacted]"
METHOD: Final = ":method"  # among the headers of jobs that were requests, as are these
PATH: Final = ":path"

# Words that mean a secret wherever they are in a name, and those that do as a word of it.
_ANYWHERE: Final = re.compile(
    "password|passwd|passphrase|secret|token|authorization|cookie|credential|apikey|privatekey|accesskey"
    "|sessionid|sessionkey|creditcard|cardnumber"
)
_AS_WORD: Final = re.compile("session|cards?|cv[vc]|pin|iban|ssn|pwd|pass|auth|bearer|otp|signature")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HIDDEN: Final[Mapping[str, frozenset[str]]] = {deliver.name: frozenset({"url"})}  # its path may be a secret


class Text(NamedTuple):
    """A text for a page, perhaps only its beginning."""

    text: str
    size: int

    @property
    def is_cut(self) -> bool:
        return len(self.text) < self.size


class Contents(NamedTuple):
    """What a job was given and what it made."""

    arguments: Text
    result: Text
    request: list[tuple[str, str]]  # the lines of the request that it was made from
    unique_key: str  # which is made of arguments


def contents_of(job: Job) -> Contents:
    return Contents(
        _beginning(arguments_text(job)),
        _beginning(result_text(job)),
        request_lines(job),
        redacted(job.unique_key or ""),
    )


def _beginning(text: str) -> Text:
    return Text(text[:MAX_SHOWN], len(text))


def arguments_text(job: Job) -> str:
    """The arguments by name where they have one; of a request, its body. Empty when there are none."""
    return _text(job.payload, lambda value: _masked_arguments(job, value))


def result_text(job: Job) -> str:
    """What the handler returned. Empty when there is nothing."""
    return "" if job.result is None else _text(job.result, masked)


def is_request(job: Job) -> bool:
    """Whether it was made from a request to an endpoint."""
    return METHOD in (job.headers or {})


def request_lines(job: Job) -> list[tuple[str, str]]:
    """Method, path and headers of the request. Of what else begins with a colon there is nothing to see."""
    if not is_request(job):
        return []
    headers = {name: ", ".join(filter(None, values)) for name, values in (job.headers or {}).items()}
    named = {name: value for name, value in headers.items() if not name.startswith(":")}
    lines = [(headers[METHOD], headers.get(PATH, "")), *named.items()]
    return [(name, REDACTED if is_secret(name) else redacted(value)) for name, value in lines]


def masked(value: Any) -> Any:
    """The value with whatever has a name that means a secret, or looks like one, redacted, at any depth."""
    if isinstance(value, Mapping):
        return {key: REDACTED if is_secret(key) else masked(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [masked(item) for item in value]
    return redacted(value) if isinstance(value, str) else value


def masked_call(job: Job, call: Mapping[str, Any]) -> dict[str, Any]:
    """A payload as it is stored, likewise. Arguments that are given by position are known by their parameters."""
    handler = handler_of(job)
    names = handler.binding.names if handler else ()
    hidden = _HIDDEN.get(job.name, frozenset())
    secret = {at for at, name in enumerate(names) if is_secret(name) or name in hidden}
    args = [REDACTED if at in secret else masked(value) for at, value in enumerate(call["args"])]
    kwargs = {name: REDACTED if name in hidden else value for name, value in masked(call["kwargs"]).items()}
    return {"args": args, "kwargs": kwargs}


def is_secret(name: str) -> bool:
    """Whether a value of this name is nobody's business."""
    plain = re.sub(r"[^a-z]", "", name.lower())
    return bool(_ANYWHERE.search(plain)) or any(_AS_WORD.fullmatch(word.lower()) for word in _WORD.findall(name))


def handler_of(job: Job) -> Handler[..., Any] | None:
    try:
        return lookup(job.name)
    except UnknownHandler:
        return None


def pretty(value: Any) -> str:
    """JSON for people, in the order it has."""
    return storable(json.dumps(value, indent=2, ensure_ascii=False))


def _text(stored: str, mask: Any) -> str:
    """What cannot be read as JSON, or is nested too deep to be looked into, is text."""
    value = shown(stored)
    if value is stored:
        return redacted(stored)
    try:
        return pretty(mask(value))
    except (RecursionError, ValueError):
        return redacted(stored)


def _masked_arguments(job: Job, value: Any) -> Any:
    match value:
        case {"args": list(args), "kwargs": dict(kwargs)} if len(value) == 2 and not is_request(job):
            return _by_name(job, Call(tuple(args), kwargs))
    return masked(value)


def _by_name(job: Job, call: Call[Any]) -> Any:
    """As the handler will see them, if this process knows it and they fit."""
    handler = handler_of(job)
    try:
        named = masked(handler.binding.bound(call)) if handler else None
    except InvalidArguments:
        named = None
    if named is None:
        return masked_call(job, call._asdict())
    return named | dict.fromkeys(_HIDDEN.get(job.name, frozenset()) & named.keys(), REDACTED)
