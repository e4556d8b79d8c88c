"""Clients of each sort of server follow jobs to their end, and say who they are in several ways."""

from collections.abc import Iterator

import httpx
import pytest

from tests.api.live.served import PASSWORD, PATH, SECONDS, USER, Api


def test_the_address_that_a_job_made_is_where_its_result_is(api: Api) -> None:
    address = api.accepted("live.address", url=f"{api.base_url}?name=live.address&limit=1")
    api.ended(address)
    answer = api.get(f"{address}result/", follow_redirects=True)
    assert [before.status_code for before in answer.history] == [303]
    assert answer.json()["jobs"][0]["name"] == "live.address"


def test_a_job_that_failed_says_so_in_its_state_and_has_no_result(api: Api) -> None:
    address = api.accepted("live.fail", message="it broke")
    job = api.ended(address)
    assert (job["status"], job["error"]["message"]) == ("failed", "it broke")
    result = api.get(f"{address}result/")
    assert (result.status_code, result.json()["code"]) == (409, "job-failed")


def test_a_job_that_is_known_as_it_is_is_not_sent_again(api: Api) -> None:
    address = api.accepted("live.add", a=1)
    api.ended(address)
    known = api.get(address).headers["ETag"]
    answer = api.get(address, headers={"If-None-Match": known})
    assert (answer.status_code, answer.content) == (304, b"")


def test_nobody_is_served_without_saying_who_it_is(api: Api) -> None:
    with Api(api.site, auth=None) as stranger:
        answer = stranger.submit("live.add", a=1)
    assert (answer.status_code, answer.json()["code"]) == (401, "not-authenticated")


@pytest.fixture
def browser(api: Api) -> Iterator[httpx.Client]:
    """A client that has logged in with a session, as a browser does."""
    with httpx.Client(base_url=api.site, timeout=SECONDS, trust_env=False) as browser:
        browser.get("/login/")
        form = {"username": USER, "password": PASSWORD, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        assert browser.post("/login/", data=form).status_code == 302
        yield browser


def test_a_session_submits_with_the_token_against_forgery_and_not_without(browser: httpx.Client) -> None:
    submission = {"name": "live.add", "kwargs": {"a": 1}}
    forged = browser.post(PATH, json=submission)
    assert (forged.status_code, forged.json()["code"]) == (403, "permission-denied")
    own = browser.post(PATH, json=submission, headers={"X-CSRFToken": browser.cookies["csrftoken"]})
    assert own.status_code == 202
    assert browser.get(own.headers["Location"]).status_code == 200
