"""What went wrong, as RFC 9457 has it. Each kind of problem has a code that stays, a status and a title."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from django.utils.encoding import escape_uri_path
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.settings import api_settings

from asyncjobs import errors
from asyncjobs.outcome import storable
from asyncjobs.stores.cursor import InvalidCursor

logger = logging.getLogger("asyncjobs.api")

MEDIA_TYPE: Final = "application/problem+json"
TYPE: Final = "urn:asyncjobs:problem:"
MOST_FAULTS: Final = 100  # that one answer tells of
RETRY_SECONDS: Final = 5  # after which a store or a queue may take jobs again

_REQUEST_ID: Final = re.compile(r"[\w.:-]{1,128}", re.ASCII)


class Kind(NamedTuple):
    status: int
    title: str


KINDS: Final[Mapping[str, Kind]] = {
    "malformed": Kind(400, "The request cannot be read"),
    "unknown-filter": Kind(400, "There is no such filter"),
    "not-authenticated": Kind(401, "Who asks is not known"),
    "permission-denied": Kind(403, "This is not allowed"),
    "not-found": Kind(404, "There is no such thing"),
    "method-not-allowed": Kind(405, "The method is not allowed here"),
    "not-acceptable": Kind(406, "The answer cannot be given in this form"),
    "already-finished": Kind(409, "The job is finished"),
    "duplicate": Kind(409, "Such a job is there already"),
    "job-canceled": Kind(409, "The job was canceled"),
    "job-failed": Kind(409, "The job failed"),
    "not-finished": Kind(409, "The job is not finished"),
    "not-retryable": Kind(409, "The job cannot be retried"),
    "running": Kind(409, "The job is running"),
    "gone": Kind(410, "The job was removed"),
    "too-large": Kind(413, "The request is too large"),
    "unsupported-media-type": Kind(415, "The request has a form that is not taken here"),
    "invalid": Kind(422, "The request does not fit"),
    "key-reused": Kind(422, "The idempotency key belongs to another request"),
    "queue-full": Kind(429, "The queue is full"),
    "throttled": Kind(429, "Too many requests"),
    "store-unavailable": Kind(503, "Jobs cannot be stored or read right now"),
    "too-busy": Kind(503, "Too many clients are waiting"),
}


class Fault(NamedTuple):
    """One thing that does not fit, and where in the body."""

    pointer: str
    code: str
    detail: str


class Problem(Exception):
    """Ends a request with a problem of this kind."""

    def __init__(
        self, code: str, detail: str, *, faults: Iterable[Fault] = (), retry_after: int | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.faults = tuple(islice(faults, MOST_FAULTS))
        self.retry_after = retry_after
        self.more = more


def invalid(pointer: str, detail: str, code: str = "invalid") -> Problem:
    """The problem of a body of which one thing does not fit."""
    return Problem("invalid", detail, faults=(Fault(pointer, code, detail),))


def handle(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """The answer to a request that raised; None for a defect, and for what only the site knows."""
    problem = problem_of(error)
    return None if problem is None else _answer(problem, error, context["request"])


def handle_all(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """As `handle`; also what only the site knows: its authentication may refuse a request for reasons of its own."""
    problem = problem_of(error) or _refusal(error)
    return None if problem is None else _answer(problem, error, context["request"])


def _refusal(error: Exception) -> Problem | None:
    if not isinstance(error, exceptions.APIException):
        return None
    return _unavailable(error) if error.status_code >= 500 else _plain("permission-denied")(error)


def _answer(problem: Problem, error: Exception, request: Any) -> Response:
    status = error.status_code if isinstance(error, exceptions.APIException) else KINDS[problem.code].status
    response = Response(_body(problem, status, request), status=status, content_type=MEDIA_TYPE)
    for name, value in _headers(error, problem):
        response[name] = value
    return response


def _body(problem: Problem, status: int, request: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": TYPE + problem.code,
        "title": KINDS[problem.code].title,
        "status": status,
        "detail": storable(problem.detail),
        "instance": escape_uri_path(request.path),
        "code": problem.code,
    }
    request_id = request.headers.get("X-Request-Id", "")
    if _REQUEST_ID.fullmatch(request_id):
        body["request_id"] = request_id
    if problem.faults:
        body["errors"] = [dict(zip(Fault._fields, map(storable, fault), strict=True)) for fault in problem.faults]
    return body | problem.more


def _headers(error: Exception, problem: Problem) -> Iterator[tuple[str, str]]:
    if problem.retry_after is not None:
        yield "Retry-After", str(problem.retry_after)
    if header := getattr(error, "auth_header", None):
        yield "WWW-Authenticate", header


def problem_of(error: Exception) -> Problem | None:
    """What a client is told of this error; None if it is one of ours that nobody foresaw."""
    if isinstance(error, Problem):
        return error
    for kind, make in _MAKERS:
        if isinstance(error, kind):
            return make(error)
    return None


def pointers(detail: Any, at: str) -> Iterator[Fault]:
    """The faults in what a serializer says, with their places."""
    if isinstance(detail, Mapping):
        for key, inner in detail.items():
            own = at if key == api_settings.NON_FIELD_ERRORS_KEY else f"{at}/{escaped(str(key))}"
            yield from pointers(inner, own)
    elif isinstance(detail, list | tuple):
        nested = any(isinstance(inner, Mapping | list) for inner in detail)
        for index, inner in enumerate(detail):
            yield from pointers(inner, f"{at}/{index}" if nested else at)
    else:
        yield Fault(at, str(getattr(detail, "code", "invalid")), str(detail))


def escaped(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _validation(error: Any) -> Problem:
    return Problem("invalid", "The request does not fit.", faults=pointers(error.detail, "#"))


def _throttled(error: Any) -> Problem:
    wait = max(1, round(error.wait or 1))
    return Problem("throttled", _text_of(error.detail), retry_after=wait)


def _plain(code: str) -> Callable[[Any], Problem]:
    return lambda error: Problem(code, _text_of(getattr(error, "detail", "")) or KINDS[code].title)


def _text_of(detail: Any) -> str:
    """What an exception of the REST framework says, be it a text, or texts in a dict or list."""
    if isinstance(detail, Mapping):
        return _text_of(detail["detail"] if "detail" in detail else list(detail.values()))
    if isinstance(detail, list | tuple):
        return " ".join(map(_text_of, detail))
    return str(detail)


def _told(code: str, retry_after: int | None = None) -> Callable[[Any], Problem]:
    return lambda error: Problem(code, error.message, retry_after=retry_after)


def _unavailable(error: Any) -> Problem:
    """What the server said may name it, and is for the log."""
    logger.error("%s", error)
    return Problem("store-unavailable", KINDS["store-unavailable"].title, retry_after=RETRY_SECONDS)


_MAKERS: Final[tuple[tuple[type[Exception], Callable[[Any], Problem]], ...]] = (
    (exceptions.ValidationError, _validation),
    (exceptions.Throttled, _throttled),
    (exceptions.NotAuthenticated, _plain("not-authenticated")),
    (exceptions.AuthenticationFailed, _plain("not-authenticated")),
    (exceptions.PermissionDenied, _plain("permission-denied")),
    (exceptions.NotFound, _plain("not-found")),
    (exceptions.MethodNotAllowed, _plain("method-not-allowed")),
    (exceptions.NotAcceptable, _plain("not-acceptable")),
    (exceptions.UnsupportedMediaType, _plain("unsupported-media-type")),
    (exceptions.ParseError, _plain("malformed")),
    (PermissionDenied, _plain("permission-denied")),
    (Http404, _plain("not-found")),
    (RequestDataTooBig, _plain("too-large")),
    (SuspiciousOperation, _plain("malformed")),
    (UnreadablePostError, lambda error: Problem("malformed", "The body breaks off.")),
    (errors.QueueFull, _told("queue-full", RETRY_SECONDS)),
    (errors.StoreError, _unavailable),
    (InterfaceError, _unavailable),
    (OperationalError, _unavailable),
    (errors.JobNotFound, _plain("not-found")),
    (errors.InvalidJobId, _plain("not-found")),
    (errors.PayloadTooLarge, _told("too-large")),
    (errors.InvalidQuery, _told("malformed")),
    (InvalidCursor, _plain("malformed")),
    (errors.InvalidArguments, _told("invalid")),
    (errors.InvalidJob, _told("invalid")),
)
