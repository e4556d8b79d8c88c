"""JSON from strangers: bounded, strict, and never a defect of ours."""

import json
import math
import re
from collections.abc import Mapping
from io import BufferedIOBase
from typing import Any, Final, NoReturn

from django.conf import settings
from django.http import HttpRequest, UnreadablePostError
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser

from asyncjobs.api.problems import Problem
from asyncjobs.arguments.encoding import MAX_DEPTH

LARGEST: Final = 2**53 - 1  # what every reader of JSON can hold
MAX_KEYS: Final = 1_000  # of one object
MAX_VALUES: Final = 500_000  # of one body: each takes far more time and memory than its two bytes
ENVELOPE: Final = 32 * 1024  # bytes that a request for one job may have beside its arguments
BATCH_DEPTH: Final = 3  # what an argument of a job in a batch is nested in: the body, the list, the job
UNFIT: Final = re.compile(r"[\x00\ud800-\udfff]")  # what some store cannot keep

_CHARSETS: Final = frozenset({"", "utf-8", "utf8", "us-ascii"})
_MARKS: Final = (b",", b"[", b"{")  # of values: hardly too many, for texts have them as well


class StrictJson(BaseParser):
    """Reads a body of JSON, of at most as many bytes as the view allows."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        context = parser_context or {}
        return read_json(body_of(context["request"], stream, limit=context["view"].max_body()))


def require_length(request: Any, limit: int) -> None:
    """Refuses a body that is too long before a byte of it is read."""
    if _length_of(request) > limit:
        raise Problem("too-large", f"A request has at most {limit:,} bytes here.")


def read_as_utf8(request: HttpRequest) -> None:
    """Has Django read the query string and forms so. Else it does in the charset of the body, of whatever codec.

    What was read so already is left: a form with files cannot be read twice.
    """
    if (request.encoding or settings.DEFAULT_CHARSET).lower() not in ("utf-8", "utf8"):
        request.encoding = "utf-8"


class Whole(BufferedIOBase):
    """The stream of a body. One that ends before its length raises: to parsers of forms, a part of one is one, too."""

    def __init__(self, stream: Any, length: int) -> None:
        self._stream = stream
        self._left = length
        self.is_cut = False

    def read(self, size: int | None = -1, /) -> bytes:
        try:
            part: bytes = self._stream.read(size)
            self._left -= len(part)
            if self._left > 0 and size != 0 and (not part or size is None or size < 0):
                raise UnreadablePostError
        except OSError:
            self.is_cut = True
            raise
        return part


def watch_body(request: Any) -> None:
    """Has whoever reads the body of the request read all of it, or fail; middleware may have read it already."""
    given, length = request._request, _length_of(request)
    came = len(given._body) if hasattr(given, "_body") else getattr(given._stream, "_pos", length)
    if given._read_started and came < length:
        raise UnreadablePostError
    given._stream = Whole(given._stream, length)


def require_whole(request: Any) -> None:
    """Refuses a body that broke off when it was read: the check against CSRF lets it pass, and leaves an empty form."""
    if getattr(request._request._stream, "is_cut", False):
        raise UnreadablePostError


def require_utf8(request: Any) -> None:
    """Refuses a body that says it is something else."""
    if request.content_params.get("charset", "").lower() not in _CHARSETS:
        raise Problem("unsupported-media-type", "A body is in UTF-8.")


def body_of(request: Any, stream: Any, *, limit: int) -> bytes:
    """The bytes of a request, if they are few enough. Compressed ones are not taken."""
    require_utf8(request)
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("", "A compressed body is not taken.")
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise Problem("too-large", f"A request has at most {limit:,} bytes here.")
    if len(body) < _length_of(request):
        raise UnreadablePostError
    return body


def text_of(request: Any, stream: Any, *, limit: int) -> str:
    """The text of a request that may be of any kind, as long as it is text."""
    try:
        return body_of(request, stream, limit=limit).decode()
    except UnicodeDecodeError:
        raise Problem("unsupported-media-type", "The body is not UTF-8.") from None


def read_json(body: bytes) -> Any:
    """The value in this text, or a `Problem` that says why there is none."""
    if sum(map(body.count, _MARKS)) > MAX_VALUES:
        raise Problem("too-large", f"A body has at most {MAX_VALUES:,} values.")
    try:
        text = body.decode()
        value = _decode(text)
    except UnicodeDecodeError:
        raise _malformed("The body is not UTF-8.") from None
    except RecursionError:
        raise _malformed("The body is nested too deep.") from None
    except json.JSONDecodeError as error:
        raise _malformed(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except ValueError as error:
        raise _malformed(f"The body is not taken: {error}.") from None
    _require_bounds(value, escapes="\\u" in text)
    return value


def _length_of(request: Any) -> int:
    """Of the body in bytes, as the request says. Without a length there is no body, for Django as for us."""
    if request.headers.get("Transfer-Encoding") and not request.META.get("CONTENT_LENGTH"):
        raise _malformed("A body is taken with its Content-Length.")
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or not length.isascii():
        raise _malformed("This is no Content-Length.")
    return int(length[:20])


def _require_bounds(value: Any, *, escapes: bool) -> None:
    """No deeper than jobs keep it, and no text that some store cannot. Only an escape can hide one."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + BATCH_DEPTH + 1):
        inner: list[Any] = []
        for part in level:
            if type(part) is dict:
                inner += part.values()
                if escapes:
                    inner += part.keys()
            elif type(part) is list:
                inner += part
            elif escapes and type(part) is str and UNFIT.search(part):
                raise _malformed("The body contains a NUL character or a lone surrogate.")
        if not inner:
            return
        level = inner
    raise _malformed(f"The body is nested deeper than {MAX_DEPTH}.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has the same key twice")
    if len(value) > MAX_KEYS:
        raise ValueError(f"an object has more than {MAX_KEYS:,} keys")
    return value


def _int(digits: str) -> int:
    if len(digits) > 17 or abs(number := int(digits)) > LARGEST:
        raise ValueError("a whole number is beyond 2^53 - 1")
    return number


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _malformed(detail: str) -> Problem:
    return Problem("malformed", detail)


_decode: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_refuse
).decode
