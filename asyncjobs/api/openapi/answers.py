"""How requests are answered: statuses, headers, bodies, and problems of every kind."""

from collections.abc import Iterable
from typing import Any, Final

from asyncjobs.api.openapi import examples
from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.openapi.shapes import ADDRESS, TEXT, ref
from asyncjobs.api.problems import KINDS, MEDIA_TYPE

JSON: Final = "application/json"


def _header(schema: Schema, description: str, *, required: bool = True) -> Schema:
    return {"description": description, "schema": schema, "required": required}


_SECONDS: Final[Schema] = {"type": "integer", "minimum": 1}

LOCATION: Final = {"Location": _header(ADDRESS, "Where to follow the job.")}
LATER: Final = {"Retry-After": _header(_SECONDS, "In how many seconds to try again.")}
NOT_DONE: Final = {
    "Retry-After": _header(_SECONDS, "In how many seconds to look again; not there once it is done.", required=False)
}
REPLAYED: Final = {
    "Idempotent-Replayed": _header(
        {"type": "string", "const": "true"}, "This was answered before, to a request with the same key.", required=False
    )
}
VERSION: Final = {
    "ETag": _header(TEXT, "The version of the job, for If-None-Match."),
    "Cache-Control": _header(TEXT, "Not to be answered from a cache."),
    **NOT_DONE,
}
PREFERENCE: Final = {
    "Preference-Applied": _header(TEXT, "The wait that was preferred, as far as it was granted.", required=False)
}
NEXT: Final = {"Link": _header(TEXT, 'The next page, with rel="next".', required=False)}
RESULT_AT: Final = {"Location": _header(ADDRESS, "The address that is the job's result.")}
CHALLENGE: Final = {"WWW-Authenticate": _header(TEXT, "How to say who asks.", required=False)}
UNCACHED: Final = {"Cache-Control": _header(TEXT, "Not to be kept.")}

_BY_STATUS: Final = {401: CHALLENGE, 429: LATER, 503: LATER}


def answer(
    description: str, schema: Schema | None = None, *headers: Schema, example: Any = None, media: str = JSON
) -> Schema:
    """One with these of the headers above, and this body, or none."""
    described: Schema = {"description": description}
    if headers:
        described["headers"] = {name: header for group in headers for name, header in group.items()}
    if schema is not None:
        shown = {} if example is None else {"example": example}
        described["content"] = {media: {"schema": schema, **shown}}
    return described


def problems(codes: Iterable[str]) -> dict[str, tuple[str, Schema]]:
    """By status, the answers that are problems of these kinds: each a component, for many operations have the same."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(KINDS[code].status, []).append(code)
    return {
        str(status): (".".join(["AsyncJobProblem", *found]), _problem(status, found))
        for status, found in by_status.items()
    }


def _problem(status: int, codes: list[str]) -> Schema:
    headers = NOT_DONE if "not-finished" in codes else _BY_STATUS.get(status, {})
    described = answer("; or: ".join(KINDS[code].title for code in codes) + ".", None, *filter(None, [headers]))
    shown = {code: {"value": examples.problem(code)} for code in codes}
    return {**described, "content": {MEDIA_TYPE: {"schema": ref("AsyncJobProblem"), "examples": shown}}}
