"""A request as fields of a job, and the same request again from these fields."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Final, NamedTuple, Self
from urllib.parse import unquote_to_bytes, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIRequest
from django.utils.encoding import escape_uri_path
from rest_framework.response import Response

from asyncjobs.api.acceptance import Acceptance
from asyncjobs.api.problems import Problem
from asyncjobs.api.reading import UNFIT, read_as_utf8, require_length, text_of
from asyncjobs.api.submissions import Submission
from asyncjobs.arguments.decoding import decode_named
from asyncjobs.arguments.encoding import encode_named
from asyncjobs.conf import Conf
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import DeserializationError, InvalidArguments

# What is no header is kept beside the headers under names as HTTP/2 has them: no header begins with a colon.
METHOD: Final = ":method"
PATH: Final = ":path"  # with the query string
SCHEME: Final = ":scheme"
AUTHORITY: Final = ":authority"
FORM: Final = ":form"  # the storage of its files: the payload is what was kept of a form

CONTENT_TYPE: Final = "Content-Type"
LONGEST_HEADER: Final = 4_096  # characters of a value
LONGEST_PATH: Final = 8_192

_UNFIT_IN_HEADER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_PORTS: Final = {"http": 80, "https": 443}
_SERVER: Final = {
    "SCRIPT_NAME": "",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "wsgi.version": (1, 0),
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}


class Text(NamedTuple):
    """A body, to be kept byte for byte."""

    text: str
    content_type: str

    @classmethod
    def of(cls, request: Any, conf: Conf) -> Self:
        limit = min(conf.max_payload, settings.DATA_UPLOAD_MAX_MEMORY_SIZE or conf.max_payload)
        require_length(request, limit)
        text = text_of(request, BytesIO(request.body), limit=limit)
        _require_storable(text)
        return cls(text, request.content_type or "")

    def fingerprint(self) -> str:
        return f"{self.content_type}\n{self.text}"

    def accepted(self, engine: Engine, acceptance: Acceptance, job: Job) -> Response:
        """Stores the job with this payload."""
        return acceptance.one(Submission(job.replace(payload=self.text)))


def captured(request: Any, names: Iterable[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say what was asked for, but the body; of the headers those with these names."""
    path = _path_of(request)
    query = [(name, list(values)) for name, values in request.query_params.lists()]
    _require_storable(request.path, *(text for name, values in query for text in (name, *values)))
    return {
        "headers": dict(_headers_of(request, path, names)),
        "route_params": _route_of(request, args, kwargs),
        "query_params": query,
    }


def route_of(job: Job) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that the route had for the view, as its converters made them."""
    params = decode_named(job.route_params or {})
    args = [value for name, value in params.items() if name.isdecimal()]
    return args, {name: value for name, value in params.items() if not name.isdecimal()}


def request_of(job: Job, client: Mapping[str, Any] | None = None) -> WSGIRequest:
    """The request that this job was made from; `client` is what else a server tells of who sends it."""
    body = job.payload.encode()
    environ = {
        **_address_of(job),
        **dict(_environ_of(job.headers or {})),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
    }
    request = WSGIRequest({**_SERVER, **(client or {}), **environ})
    read_as_utf8(request)
    return request


def _path_of(request: Any) -> str:
    """The path and the query string, raw if the client wrote it as it should."""
    query = request.META.get("QUERY_STRING", "")
    if not (query.isascii() and query.isprintable()):
        query = request.query_params.urlencode()
    path = escape_uri_path(request.path) + (f"?{query}" if query else "")
    if len(path) > LONGEST_PATH:
        raise Problem("malformed", f"The address has more than {LONGEST_PATH:,} characters.")
    return path


def _headers_of(request: Any, path: str, names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    yield METHOD, [request.method]
    yield PATH, [path]
    yield SCHEME, [request.scheme]
    yield AUTHORITY, [request.get_host()]
    for name in (CONTENT_TYPE, *names):
        value = request.headers.get(name)
        if value:
            yield name, [_header(name, value)]


def _header(name: str, value: str) -> str:
    if len(value) > LONGEST_HEADER or _UNFIT_IN_HEADER.search(value):
        raise Problem("malformed", f"The header {name} is too long, or contains control characters.")
    return value


def _route_of(request: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """By name; what the route has no name for, by its position."""
    try:
        return encode_named({str(index): value for index, value in enumerate(args)} | dict(kwargs))
    except InvalidArguments as error:
        raise ImproperlyConfigured(f"The route of {request.path} gives what no job can keep: {error}") from error


def _require_storable(*texts: str) -> None:
    if any(map(UNFIT.search, texts)):
        raise Problem("malformed", "The request contains a NUL character.")


def _kept(job: Job, name: str) -> str:
    values = (job.headers or {}).get(name)
    if not values or values[0] is None:
        raise DeserializationError(f"the job has no {name}: it was not made from a request", job_id=job.id)
    return values[0]


def _address_of(job: Job) -> dict[str, Any]:
    """What was asked of whom, as a server tells it."""
    path, _, query = _kept(job, PATH).partition("?")
    scheme, authority = _kept(job, SCHEME), _kept(job, AUTHORITY)
    server = urlsplit(f"//{authority}")
    return {
        "REQUEST_METHOD": _kept(job, METHOD),
        "PATH_INFO": unquote_to_bytes(_without_prefix(path)).decode("latin-1"),  # as PEP 3333 wants it
        "QUERY_STRING": query,
        "SERVER_NAME": server.hostname or "",
        "SERVER_PORT": str(server.port or _PORTS.get(scheme, 80)),
        "HTTP_HOST": authority,
        "wsgi.url_scheme": scheme,
    }


def _without_prefix(path: str) -> str:
    """Django puts what FORCE_SCRIPT_NAME says before every path."""
    prefix = (settings.FORCE_SCRIPT_NAME or "").rstrip("/")
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path


def _environ_of(headers: Mapping[str, Sequence[str | None]]) -> Iterator[tuple[str, str]]:
    for name, values in headers.items():
        if not name.startswith(":"):
            key = name.upper().replace("-", "_")
            yield key if name == CONTENT_TYPE else f"HTTP_{key}", ",".join(filter(None, values))
