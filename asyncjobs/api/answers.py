"""What a view answered in a worker, as the result of a job or as its failure."""

import json
from typing import Any, Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from asyncjobs.errors import AsyncJobsError, EndpointFailed, EndpointRefused, InvalidResult

_LONGEST_DETAIL: Final = 800  # characters


def result_of(request: Any, response: Any) -> Any:
    """What the response tells, as plain JSON. One that is an error raises."""
    if not isinstance(response, HttpResponseBase):
        raise InvalidResult(f"the view answered with a {type(response).__qualname__}, which is no response")
    if response.status_code >= 400:
        raise failure_of(response)
    if 300 <= response.status_code < 400 and "Location" in response:
        return request.build_absolute_uri(response["Location"])
    return _content_of(response)


def failure_of(response: HttpResponseBase) -> AsyncJobsError:
    """The error that a response with a status of 400 or above stands for."""
    kind = EndpointRefused if response.status_code < 500 else EndpointFailed
    return kind(f"{response.status_code} {response.reason_phrase}: {_detail_of(response)}")


def _content_of(response: HttpResponseBase) -> Any:
    if isinstance(response, Response):
        return json.loads(json.dumps(response.data, cls=JSONEncoder, allow_nan=False))
    kind = response.get("Content-Type", "").partition(";")[0].strip().lower()
    if not isinstance(response, HttpResponse) or not (kind == "application/json" or kind.startswith("text/")):
        raise InvalidResult(f"the view answered with {kind or 'nothing known'}, which does not survive JSON")
    text = response.content.decode(response.charset)
    return json.loads(text) if kind == "application/json" else text


def _detail_of(response: HttpResponseBase) -> str:
    try:
        content = _content_of(response)
    except (ValueError, TypeError, AsyncJobsError):
        return "(its content cannot be shown)"
    if isinstance(content, dict) and content.keys() == {"detail"}:
        content = content["detail"]
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text[:_LONGEST_DETAIL]
