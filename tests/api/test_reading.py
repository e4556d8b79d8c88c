"""JSON from strangers: what is read is what was sent, and what cannot be is refused with a reason."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from asyncjobs import Engine
from asyncjobs.api.problems import Problem
from asyncjobs.api.reading import read_json
from tests.api.conftest import ClientOf
from tests.api.jobs import add, submitted_by
from tests.api.wire import ANN, URL, Sent, Server

UNREADABLE = [
    b"",
    b"{",
    b"nul",
    b"[NaN]",
    b"[-Infinity]",
    b"[1e400]",
    b"[9007199254740992]",
    b"[" + b"9" * 5_000 + b"]",
    b'{"a":1,"a":2}',
    b'["\\u0000"]',
    b'["\\ud800"]',
    b'{"\\udfff":1}',
    b'["\xff"]',
    b"\xef\xbb\xbf[]",
    "[]".encode("utf-16"),
    b'["\x00"]',
    b"[" * 100_000 + b"]" * 100_000,
    b"[" * 30 + b"]" * 30,
    json.dumps(dict.fromkeys(map(str, range(1_001)))).encode(),
]


@pytest.mark.parametrize("body", UNREADABLE, ids=lambda body: repr(body[:20]))
def test_what_cannot_be_read_is_malformed(body: bytes) -> None:
    with pytest.raises(Problem) as problem:
        read_json(body)
    assert problem.value.code == "malformed"


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii", min_codepoint=32)), inner),
    max_leaves=20,
)


@given(values)
def test_what_is_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 422),
        ("application/json; charset=UTF-8", 422),
        ("application/json; charset=idontexist", 415),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("nonsense", 415),
        ("", 415),
    ],
)
def test_only_json_in_utf_8_is_taken(
    client_of: ClientOf, engine: Engine, ann: User, content_type: str, status: int
) -> None:
    response = client_of(ann).generic("POST", "/api/jobs/", '{"name": "x"}', content_type=content_type)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"


def test_a_compressed_body_is_not_taken(client_of: ClientOf, engine: Engine, ann: User) -> None:
    headers = {"Content-Encoding": "gzip"}
    response = client_of(ann).post("/api/jobs/", {"name": "x"}, headers=headers)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media-type")


@pytest.mark.parametrize(("method", "path"), [("POST", ""), ("POST", "batch/"), ("POST", "{id}/cancel/"), ("GET", "")])
@pytest.mark.parametrize(
    "headers", [{"Transfer-Encoding": "chunked", "Content-Length": None}, {"Content-Length": "-1"}], ids=str
)
def test_a_body_without_its_length_is_refused_and_not_taken_for_none(
    server: Server, engine: Engine, headers: dict[str, str | None], method: str, path: str
) -> None:
    job = submitted_by(ANN, add, 1)
    sent = Sent(method, URL + path.format(id=job.id), headers=headers, body=b'{"reason": "late"}', user=ANN)
    answer = server.send(sent)
    assert (answer.status, answer.json()["code"]) == (400, "malformed")
    assert engine.get(job.id).version == job.version


def test_a_body_that_says_it_is_too_large_is_not_read(server: Server, engine: Engine) -> None:
    answer = server.send(Sent("POST", URL, headers={"Content-Length": "9" * 30}, body=b"{}", user=ANN))
    assert (answer.status, answer.json()["code"]) == (413, "too-large")
