"""What is kept of a run that ended badly: enough to see why, no secrets, never more than a store takes."""

import json
import time
from typing import Any

import pytest

from asyncjobs import retry
from asyncjobs.domain.job import Job, JobError, JobStatus
from asyncjobs.errors import AsyncJobsError, InvalidResult
from asyncjobs.ids import new_ids
from asyncjobs.outcome import (
    MAX_MESSAGE,
    MAX_TRACEBACK,
    MAX_TYPE,
    attempt_entry,
    error_of,
    failed,
    redacted,
    storable,
    succeeded,
)
from asyncjobs.stores.base import MAX_ENTRY

JOB = Job(id=new_ids(1)[0], name="n", status=JobStatus.IN_PROGRESS, version=2, attempt=1, worker="w", started_at=5)


def raised(error: BaseException) -> BaseException:
    """The same, with a traceback."""
    try:
        raise error
    except BaseException as caught:
        return caught


SECRETS = [
    "password=hunter2",
    "PASSWORD = 'hunter2'",
    "DB_PASSWORD=hunter2&x=1",
    "passwd: hunter2, user: me",
    '{"token": "hunter2 and more hunter2"}',
    '{"token": "a\\"hunter2 hunter2"}',
    "{'api_key': 'hunter2', 'a': 1}",
    "{b'authorization': b'Bearer hunter2 hunter2'}",
    '"{\\"password\\": \\"hunter2 hunter2\\"}"',
    "Authorization: Bearer hunter2",
    "authorization: basic hunter2",
    "Authorization: Token hunter2",
    '{"Authorization": "Bearer hunter2"}',
    "Cookie: sessionid=hunter2; csrftoken=hunter2",
    "private_key='-----BEGIN PRIVATE KEY-----\\nhunter2\\n'",
    "secret-token=hunter2",
    "client_secret: hunter2",
    "redis://:hunter2@127.0.0.1:6379/0",
    "could not connect to postgres://me:hunter2@db/shop?x=1",
    "password='hunter2 and then the text was cut off, hunter2",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_not_kept(text: str) -> None:
    assert "hunter2" in text
    assert "hunter2" not in redacted(text)
    assert "[redacted]" in redacted(text)


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_kept_neither_in_the_message_nor_in_the_traceback(text: str) -> None:
    error = error_of(raised(ValueError(text)))
    assert "hunter2" not in error.message
    assert "hunter2" not in error.traceback.replace("SECRETS", "")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=x, user=ada", "user=ada"),
        ('{"token": "x", "order": 7}', '"order": 7}'),
        ("redis://:x@127.0.0.1:6379/0", "@127.0.0.1:6379/0"),
        ("postgres://ada:x@db/shop", "postgres://ada:"),
        ("Authorization: Bearer x\nAccept: all", "\nAccept: all"),
        ("get(password='x')", "get(password="),
    ],
)
def test_what_stands_beside_a_secret_is_kept(text: str, kept: str) -> None:
    assert kept in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'token'",
        "the password is wrong",
        "token_count=5, tokens: 7",
        "http://127.0.0.1:8000/users/ada@example.org",
        "see https://example.org/a:b/c@d",
        "if token:\n    raise ValueError",
        "with session:\n  File next, line 3",
        "12:30:45 user@host",
        "",
    ],
)
def test_what_is_no_secret_is_not_harmed(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "text", ["password" * 2_500, "token=" * 3_000, "token" + " " * 19_000, "://" * 6_000, 'token="' + "\\" * 19_000]
)
def test_no_text_takes_long_to_be_redacted(text: str) -> None:
    before = time.process_time()
    redacted(text)
    assert time.process_time() - before < 2


def test_an_error_is_told_by_code_message_type_and_where_it_was_raised() -> None:
    error = error_of(raised(ValueError("odd")))
    assert (error.code, error.message, error.type) == ("HANDLER_ERROR", "odd", "builtins.ValueError")
    assert "in raised" in error.traceback
    assert error.traceback.rstrip().endswith("ValueError: odd")


def test_errors_of_ours_keep_their_code_and_say_it_once() -> None:
    error = error_of(InvalidResult("no"))
    assert (error.code, error.message) == ("INVALID_RESULT", "no")


def test_local_variables_are_not_kept() -> None:
    def handler() -> None:
        card = "4111-1111"
        raise ValueError(len(card))

    with pytest.raises(ValueError, match="9") as caught:
        handler()
    assert "4111-1111" not in error_of(caught.value).traceback.replace('card = "4111-1111"', "")


@pytest.mark.parametrize("char", ["x", "é", "😀", "\0", "\ud800", "\\", '"', "\x1b", "\n"])
def test_an_entry_is_never_larger_than_a_store_takes_whatever_the_characters(char: str) -> None:
    odd = type("Odd", (Exception,), {"__qualname__": char * 50_000, "__module__": char * 50_000})
    error = error_of(raised(odd(char * 100_000)))
    assert len(error.message) <= MAX_MESSAGE
    assert len(error.traceback) <= MAX_TRACEBACK
    assert len(error.type) <= MAX_TYPE
    entry = attempt_entry(JOB, error, now=9)
    assert 0 < len(entry.text.encode()) <= MAX_ENTRY
    assert "\0" not in entry.text
    assert json.loads(entry.text)["attempt"] == 1


@pytest.mark.parametrize("field", ["code", "message", "type", "traceback"])
def test_an_entry_fits_whichever_of_its_parts_is_long(field: str) -> None:
    error = JobError(**{"code": "E", "message": "m", field: "\x1b" * 50_000})
    assert len(attempt_entry(JOB, error, now=9).text.encode()) <= MAX_ENTRY


def test_ten_megabytes_of_message_are_bounded_and_quickly() -> None:
    before = time.process_time()
    error = error_of(raised(ValueError("password=hunter2 " * 600_000)))
    assert time.process_time() - before < 5
    assert len(error.message) <= MAX_MESSAGE
    assert len(error.traceback) <= MAX_TRACEBACK
    assert "hunter2" not in error.message + error.traceback


def test_a_long_secret_is_not_kept_either() -> None:
    error = error_of(raised(ValueError("password=" + "hunter2" * 10_000)))
    assert "hunter2" not in error.message + error.traceback


def test_a_deep_traceback_keeps_its_end() -> None:
    def deep(left: int) -> None:
        if left == 0:
            raise ValueError("at the bottom")
        deep(left - 1)

    with pytest.raises(ValueError, match="bottom") as caught:
        deep(500)
    traceback = error_of(caught.value).traceback
    assert len(traceback) <= MAX_TRACEBACK
    assert traceback.rstrip().endswith("ValueError: at the bottom")


def test_causes_are_kept() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            raise ValueError("second") from first
    except ValueError as second:
        assert "KeyError: 'first'" in error_of(second).traceback


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Quitting(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Numeric(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # what people write


@pytest.mark.parametrize("kind", [Unshowable, Quitting, Numeric])
def test_an_exception_that_cannot_be_shown_is_kept_without_its_text(kind: type[Exception]) -> None:
    error = error_of(raised(kind()))
    assert "cannot be shown" in error.message
    assert error.type.endswith(kind.__name__)
    assert attempt_entry(JOB, error, now=9).kind == "attempt"


@pytest.mark.parametrize("code", ["\0", "x" * 50_000, "\ud800", 7, None])
def test_a_code_that_a_site_made_up_is_kept_storable(code: Any) -> None:
    odd = type("Odd", (AsyncJobsError,), {"code": code})
    error = error_of(odd("message"))
    assert isinstance(error.code, str)
    assert len(error.code) <= MAX_TYPE
    assert error.code == storable(error.code)


def test_a_result_completes_the_job() -> None:
    done = succeeded(JOB, {"a": 1}, now=9, max_result=100)
    assert (done.status, done.result, done.completed_at) == (JobStatus.COMPLETED, '{"a":1}', 9)


def test_the_policy_says_when_the_job_runs_again() -> None:
    again = failed(JOB, ValueError("x"), retry.fixed(2), now=10, chance=0.5)
    assert (again.status, again.due_at, again.retry_count) == (JobStatus.SCHEDULED, 2_010, 1)
    for policy in (retry.none(), retry.fixed(2, never=(ValueError,)), retry.fixed(2, only=(KeyError,))):
        assert failed(JOB, ValueError("x"), policy, now=10, chance=0.5).status == JobStatus.FAILED
