"""What is shown of arguments and results: no secret, at any depth."""

import json
from typing import Any

import pytest

from asyncjobs.api.webhooks.delivering import deliver
from asyncjobs.dashboard.payloads import (
    MAX_SHOWN,
    REDACTED,
    arguments_text,
    contents_of,
    is_secret,
    masked,
    request_lines,
    result_text,
)
from asyncjobs.domain.job import Job
from asyncjobs.registry import job
from tests.api import jobs

SECRET = [
    *("password", "PASSWORD", "user_password", "dbPassword", "passphrase", "secret", "client-secret", "credentials"),
    *("access_token", "accessToken", "Authorization", "X-Auth", "Set-Cookie", "session", "session_id", "sessionid"),
    *("api_key", "apiKey", "API-KEY", "apikey", "private_key", "card", "card_number", "creditCard", "cvv", "iban"),
]
HARMLESS = ["discard", "postcard", "author", "spin", "key", "user", "compass", "passenger", "", "номер"]


@job(name="tests.dashboard.sign_in")
def sign_in(user: str, password: str, *rest: Any, **more: Any) -> None: ...


def stored(name: str = jobs.echo.name, *, args: Any = (), **fields: Any) -> Job:
    payload = json.dumps({"args": list(args), "kwargs": fields.pop("kwargs", {})})
    return Job(**{"id": "1", "name": name, "payload": payload} | fields)


@pytest.mark.parametrize("name", SECRET)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["discard", "postcard", "author", "spin", "key", "user", "compass", "passenger", "", "номер"]
)
def test_other_names_are_not(name: str) -> None:
    assert not is_secret(name)


def test_secrets_are_hidden_at_any_depth() -> None:
    value = {"a": [{"b": ({"token": {"deep": 1}},)}], "url": "https://me:hunter2@example.org/?api_key=abc&x=1"}
    shown = json.dumps(masked(value))
    assert "deep" not in shown
    assert "hunter2" not in shown
    assert "abc" not in shown
    assert "x=1" in shown


def test_arguments_are_shown_by_name() -> None:
    assert json.loads(arguments_text(stored(args=[{"x": 1}]))) == {"value": {"x": 1}}


def test_a_secret_given_by_position_is_hidden() -> None:
    text = arguments_text(stored(sign_in.name, args=["ada", "hunter2", 3], kwargs={"token": "t0"}))
    assert json.loads(text) == {"user": "ada", "password": REDACTED, "rest": [3], "more": {"token": REDACTED}}


def test_arguments_that_do_not_fit_any_more_are_shown_as_they_are_stored() -> None:
    text = arguments_text(stored(sign_in.name, kwargs={"user": "ada", "pasword": 1, "token": "t0"}))
    assert json.loads(text) == {"args": [], "kwargs": {"user": "ada", "pasword": 1, "token": REDACTED}}


def test_arguments_of_an_unknown_handler_are_shown_as_they_are_stored() -> None:
    text = arguments_text(stored("gone.away", args=[1], kwargs={"secret": 2}))
    assert json.loads(text) == {"args": [1], "kwargs": {"secret": REDACTED}}


def test_the_url_of_a_webhook_is_never_shown() -> None:
    for given in ({"args": ["id", "https://example.org/hush"]}, {"kwargs": {"job_id": "id", "url": "https://x/hush"}}):
        assert "hush" not in arguments_text(stored(deliver.name, **given))


def test_the_headers_of_a_callback_are_no_request() -> None:
    assert request_lines(stored(headers={":callback": ["https://example.org/hush"]})) == []


def test_a_request_is_shown_without_its_secrets() -> None:
    headers = {
        ":method": ["POST"],
        ":path": ["/orders/?token=t0&page=2"],
        ":scheme": ["https"],
        ":authority": ["example.org"],
        ":callback": ["https://example.org/hush"],
        "Content-Type": ["application/json"],
        "Authorization": ["Bearer b0"],
    }
    asked = Job(id="1", name="gone", headers=headers, payload='{"args": [], "kwargs": {"password": "p0"}}')
    lines = request_lines(asked)
    assert lines[0][0] == "POST"
    assert dict(lines)["Content-Type"] == "application/json"
    assert not {"t0", "hush", "b0", "p0"} & set(_words(f"{lines} {arguments_text(asked)}"))


ODD = ["", "no JSON", "[" * 5_000, "[" * 900 + "]" * 900, "9" * 5_000, '"\\ud800"', "NaN", '{"$type": "x"}']


@pytest.mark.parametrize("payload", [*ODD, '{"$type": "dict", "value": 5}'])  # bodies of requests may be anything
def test_odd_payloads_are_text(payload: str) -> None:
    odd = Job(id="1", name="gone", payload=payload, result=payload)
    (arguments_text(odd) + result_text(odd)).encode()


def test_text_that_is_no_json_loses_its_secrets() -> None:
    assert "hunter2" not in arguments_text(Job(id="1", name="gone", payload="user=ada&password=hunter2"))


def test_numbers_and_the_order_of_keys_are_kept() -> None:
    text = result_text(Job(id="1", name="gone", result='{"b": 9007199254740993, "a": 1}'))
    assert text == '{\n  "b": 9007199254740993,\n  "a": 1\n}'


def test_no_result_is_no_text() -> None:
    assert result_text(Job(id="1", name="gone", result=None)) == ""
    assert result_text(Job(id="1", name="gone", result="null")) == "null"


def test_a_page_has_the_beginning_of_a_long_text() -> None:
    contents = contents_of(stored(args=["x" * MAX_SHOWN]))
    assert len(contents.arguments.text) == MAX_SHOWN
    assert contents.arguments.is_cut
    assert not contents_of(stored(args=["x"])).arguments.is_cut


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in text).split()
