"""`Idempotency-Key`: once is enough."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from asyncjobs import Engine, JobStatus, Query, job
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.conftest import ClientOf, JsonClient

pytestmark = pytest.mark.usefixtures("unlimited")
URL = "/api/jobs/"
BATCH = "/api/jobs/batch/"
BODY = {"name": "tests.api.jobs.add", "kwargs": {"a": 1, "b": 2}}
ONCE = "tests.api.jobs.once"

meanwhile: list[Callable[[], object]] = []


def may_after_others(request: Any) -> bool:
    """What others do is done while a request is being looked at."""
    while meanwhile:
        meanwhile.pop()()
    return True


@job(name="tests.api.disputed", api=True, max_retries=0, can_submit=may_after_others)
def disputed() -> None:
    raise ValueError("no")


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def post(client: JsonClient, body: Any = BODY, *, key: str = "k", url: str = URL) -> Any:
    return client.post(url, body, headers={"Idempotency-Key": key})


def count(engine: Engine) -> int:
    return len(engine.find(Query()).jobs)


def assert_replayed(first: Any, second: Any) -> None:
    assert (second.status_code, second.headers["Idempotent-Replayed"]) == (first.status_code, "true")
    assert second.json() == first.json()
    assert second.headers.get("Location") == first.headers.get("Location")
    assert ("Retry-After" in second.headers) is ("Retry-After" in first.headers)


@pytest.mark.parametrize(("url", "body"), [(URL, BODY), (BATCH, {"jobs": [BODY, BODY]})])
def test_the_same_request_gets_the_first_answer_again(client: JsonClient, engine: Engine, url: str, body: Any) -> None:
    first = post(client, body, url=url)
    assert "Idempotent-Replayed" not in first.headers
    stored = count(engine)
    run_jobs()
    assert_replayed(first, post(client, body, url=url))
    assert count(engine) == stored


def test_the_order_of_keys_makes_no_other_request(client: JsonClient) -> None:
    assert_replayed(post(client), post(client, {"kwargs": {"b": 2, "a": 1}, "name": BODY["name"]}))


def test_the_answer_outlives_the_job(client: JsonClient, engine: Engine) -> None:
    first = post(client)
    engine.delete(first.json()["id"])
    assert_replayed(first, post(client))
    assert count(engine) == 0


def test_another_request_with_the_same_key_is_refused(client: JsonClient, engine: Engine) -> None:
    post(client)
    response = post(client, {**BODY, "priority": 1})
    assert (response.status_code, response.json()["code"]) == (422, "key-reused")
    assert count(engine) == 1


def test_a_key_counts_for_its_user_and_path(client: JsonClient, client_of: ClientOf, engine: Engine, bob: User) -> None:
    ids = {
        post(client).json()["id"],
        post(client, key="other").json()["id"],
        post(client_of(bob)).json()["id"],
        post(client, {"jobs": [BODY]}, url=BATCH).json()["jobs"][0]["id"],
    }
    assert len(ids) == 4


def test_a_key_in_quotes_is_the_same_key(client: JsonClient) -> None:
    assert_replayed(post(client, key='"abc"'), post(client, key="abc"))


@pytest.mark.parametrize("key", ["", '"', '"a', "a b", "ä", "x" * 256, '""', "a,b;c" * 60])
def test_a_key_is_visible_ascii(client: JsonClient, engine: Engine, key: str) -> None:
    response = post(client, key=key)
    assert (response.status_code, response.json()["code"]) == (400, "malformed")
    assert count(engine) == 0


def test_a_refused_request_keeps_its_key_free(client: JsonClient, engine: Engine) -> None:
    assert post(client, {**BODY, "priority": 1_000}).status_code == 422
    assert post(client).status_code == 202


def test_an_answer_is_forgotten_after_a_day(client: JsonClient, engine: Engine) -> None:
    first = post(client)
    receipts = engine.store._receipts  # type: ignore[attr-defined]  # the memory store's
    [(key, receipt)] = receipts.items()
    assert 23 * 3_600_000 < receipt.until - engine.store.now() <= 24 * 3_600_000
    receipts[key] = receipt._replace(until=engine.store.now())
    assert post(client).json()["id"] != first.json()["id"]


def test_a_twin_is_answered_again_as_it_is(client: JsonClient, engine: Engine) -> None:
    twin = client.post(URL, {"name": ONCE, "args": [1]}).json()
    for key in ("k", "k"):
        response = post(client, {"name": ONCE, "args": [1]}, key=key)
        assert (response.json()["id"], response.headers["Location"]) == (twin["id"], twin["links"]["self"])


def test_twins_in_a_batch_are_answered_again(client: JsonClient) -> None:
    body = {"jobs": [{**BODY, "unique_key": "one"}] * 2 + [BODY]}
    first, second = (post(client, body, url=BATCH).json()["jobs"] for _ in range(2))
    assert [job["id"] for job in first] == [job["id"] for job in second]


def test_a_job_is_retried_once_for_each_key(client: JsonClient, engine: Engine, ann: User) -> None:
    job = jobs.submitted_by(ann, jobs.fail)
    run_jobs()
    url = f"{URL}{job.id}/retry/"
    first = post(client, None, url=url)
    assert first.status_code == 202
    run_jobs()
    assert_replayed(first, post(client, None, url=url))
    assert engine.get(job.id).status == JobStatus.FAILED
    assert post(client, None, url=url, key="again").json()["status"] == "queued"


def test_a_retry_that_another_one_with_its_key_has_overtaken_is_not_carried_out(
    client: JsonClient, engine: Engine, ann: User
) -> None:
    """Also when the job has failed again since."""
    known = jobs.submitted_by(ann, disputed)
    run_jobs()
    url = f"{URL}{known.id}/retry/"
    first: list[Any] = []

    def overtake() -> None:
        first.append(post(client, None, url=url))
        run_jobs()

    meanwhile.append(overtake)
    second = post(client, None, url=url)
    assert_replayed(first[0], second)
    assert (engine.get(known.id).status, engine.get(known.id).attempt) == (JobStatus.FAILED, 2)
