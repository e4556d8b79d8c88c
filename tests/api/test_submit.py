"""Submitting over HTTP: what is accepted is stored, and what is not leaves nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from asyncjobs import Engine, Query, get_engine
from asyncjobs.api.webhooks.delivering import delivery_id
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import StoreUnavailable
from asyncjobs.stores.base import Page
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.testing import run_jobs
from tests.api.conftest import ClientOf, JsonClient

pytestmark = pytest.mark.usefixtures("unlimited")
URL = "/api/jobs/"
ADD = "tests.api.jobs.add"
ONCE = "tests.api.jobs.once"


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def stored(engine: Engine) -> list[Job]:
    return engine.find(Query(oldest_first=True)).jobs


def faults(response: Any) -> dict[str, str]:
    """The codes of what does not fit, by place."""
    assert response.headers["Content-Type"] == "application/problem+json"
    return {fault["pointer"]: fault["code"] for fault in response.json()["errors"]}


def test_a_job_is_accepted_and_can_be_followed_to_its_result(client: JsonClient, engine: Engine) -> None:
    accepted = client.post(URL, {"name": ADD, "kwargs": {"a": 2, "b": 3}})
    assert accepted.status_code == 202
    assert int(accepted.headers["Retry-After"]) >= 1
    where = accepted.headers["Location"]
    assert accepted.json()["links"]["self"] == where
    assert client.get(where).json()["status"] == "queued"
    run_jobs()
    body = client.get(where).json()
    assert (body["status"], body["done"], body["result"]) == ("completed", True, 5)
    assert client.get(body["links"]["result"]).json() == 5


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"args": [2, 3]}, 5),
        ({"args": [2], "kwargs": {"b": 3}}, 5),
        ({"kwargs": {"a": 2}}, 2),
        ({"payload": {"a": 2, "b": 3}}, 5),
    ],
)
def test_arguments_come_as_a_list_by_name_or_as_a_payload(client: JsonClient, given: Any, result: int) -> None:
    where = client.post(URL, {"name": ADD, **given}).headers["Location"]
    run_jobs()
    assert client.get(where).json()["result"] == result


def test_a_job_belongs_to_whoever_submitted_it(client: JsonClient, engine: Engine, ann: User) -> None:
    client.post(URL, {"name": ADD, "args": [1]})
    [job] = stored(engine)
    assert job.owner == str(ann.pk)


def test_every_option_is_taken(client: JsonClient, engine: Engine, settings: Settings) -> None:
    options = {"queue": "slow", "priority": 7, "delay": 60, "tags": ["red", "blue"], "unique_key": "one"}
    assert client.post(URL, {"name": "tests.api.jobs.talk", "args": [1], **options}).status_code == 202
    [job] = stored(engine)
    assert (job.queue, job.priority, job.tags, job.status) == ("slow", 7, ("red", "blue"), JobStatus.SCHEDULED)
    assert (job.due_at or 0) - job.created_at == 60_000


def test_a_number_is_whole_however_it_is_written(client: JsonClient, engine: Engine) -> None:
    assert client.post(URL, {"name": ADD, "args": [1], "priority": 7.0}).json()["priority"] == 7
    assert client.post(URL, {"name": ADD, "args": [1], "priority": 7.5}).status_code == 422


@pytest.mark.parametrize("delay", [90, 90.0, "PT1M30S", "P0DT90S"])
def test_a_delay_is_seconds_or_a_duration(client: JsonClient, engine: Engine, delay: Any) -> None:
    client.post(URL, {"name": ADD, "args": [1], "delay": delay})
    [job] = stored(engine)
    assert (job.due_at or 0) - job.created_at == 90_000


def test_a_job_may_have_a_time_to_run_at(client: JsonClient, engine: Engine) -> None:
    moment = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    body = client.post(URL, {"name": ADD, "args": [1], "run_at": moment.isoformat()}).json()
    assert body["status"] == "scheduled"
    assert datetime.fromisoformat(body["run_at"]) == moment


UNFIT: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"name": None}, {"#/name": "required"}),
    ({"name": ["x"]}, {"#/name": "required"}),
    ({"name": "no.such.handler"}, {"#/name": "unknown"}),
    ({"name": "tests.api.jobs.hidden"}, {"#/name": "unknown"}),
    ({"name": "asyncjobs.bench.nothing"}, {"#/name": "unknown"}),
    ({"name": "os.system"}, {"#/name": "unknown"}),
    ({"color": "red", "a/b": 1}, {"#/color": "unknown", "#/a~1b": "unknown"}),
    ({"kwargs": {"a": "x"}}, {"#/kwargs/a": "invalid"}),
    ({"kwargs": {}}, {"#/kwargs/a": "required"}),
    ({"kwargs": {"a": 1, "c": 2}}, {"#/kwargs/c": "unknown"}),
    ({"kwargs": []}, {"#/kwargs": "invalid"}),
    ({"kwargs": None, "args": {}}, {"#/kwargs": "invalid"}),
    ({"kwargs": {"a": 1}, "args": [1]}, {"#/kwargs/a": "invalid"}),
    ({"kwargs": {}, "args": [1, 2, 3]}, {"#/args/2": "invalid"}),
    ({"kwargs": {"a": 1}, "payload": {}}, {"#/payload": "invalid"}),
    ({"queue": "no queue"}, {"#/queue": "invalid"}),
    ({"queue": "never-used"}, {"#/queue": "invalid"}),
    ({"queue": 5}, {"#/queue": "invalid"}),
    ({"priority": 101}, {"#/priority": "invalid"}),
    ({"priority": "high"}, {"#/priority": "invalid"}),
    ({"priority": True}, {"#/priority": "invalid"}),
    ({"delay": -1}, {"#/delay": "invalid"}),
    ({"delay": 1e12}, {"#/delay": "invalid"}),
    ({"delay": "PT"}, {"#/delay": "invalid"}),
    ({"delay": "soon"}, {"#/delay": "invalid"}),
    ({"delay": "P9999999999999999Y"}, {"#/delay": "invalid"}),
    ({"delay": 1, "run_at": "2027-01-01T00:00:00Z"}, {"#/run_at": "invalid"}),
    ({"run_at": "2027-01-01"}, {"#/run_at": "invalid"}),
    ({"run_at": "2027-01-01T00:00:00"}, {"#/run_at": "invalid"}),
    ({"run_at": "9999-12-31T23:59:59Z"}, {"#/run_at": "invalid"}),
    ({"run_at": "9999-12-31T23:59:59-23:59"}, {"#/run_at": "invalid"}),
    ({"run_at": 5}, {"#/run_at": "invalid"}),
    ({"unique_key": ""}, {"#/unique_key": "invalid"}),
    ({"unique_key": "x" * 201}, {"#/unique_key": "invalid"}),
    ({"name": "tests.api.jobs.once", "kwargs": {"same": 1}, "unique_key": "own"}, {"#/unique_key": "invalid"}),
    ({"tags": "red"}, {"#/tags": "invalid"}),
    ({"tags": [1]}, {"#/tags": "invalid"}),
    ({"tags": ["x" * 65]}, {"#/tags": "invalid"}),
    ({"callback_url": "https://example.com/"}, {"#/callback_url": "invalid"}),
]


@pytest.mark.parametrize(("change", "expected"), UNFIT)
def test_what_does_not_fit_is_named_and_nothing_is_stored(
    client: JsonClient, engine: Engine, change: dict[str, Any], expected: dict[str, str]
) -> None:
    response = client.post(URL, {"name": ADD, "kwargs": {"a": 1}, **change})
    assert response.status_code == 422, response.content
    assert faults(response) == expected
    assert stored(engine) == []


def test_a_serializer_says_what_fits(client: JsonClient, engine: Engine) -> None:
    name = "tests.api.jobs.greet"
    response = client.post(URL, {"name": name, "kwargs": {"name": "x" * 41, "times": 4}})
    assert faults(response) == {"#/kwargs/name": "max_length", "#/kwargs/times": "max_value"}
    where = client.post(URL, {"name": name, "payload": {"name": "Ada", "times": 2}}).headers["Location"]
    run_jobs()
    assert client.get(where).json()["result"] == "Hello Ada! Hello Ada! "


def test_a_handler_may_say_who_submits_it(client: JsonClient, engine: Engine, client_of: ClientOf, boss: User) -> None:
    response = client.post(URL, {"name": "tests.api.jobs.staff_only"})
    assert (response.status_code, response.json()["code"]) == (403, "permission-denied")
    assert stored(engine) == []
    assert client_of(boss).post(URL, {"name": "tests.api.jobs.staff_only"}).status_code == 202


def test_what_a_client_sends_is_never_taken_for_something_else(client: JsonClient, ann: User) -> None:
    value = {"$type": "model", "value": ["auth.user", ann.pk, None], "deep": [{"$type": "decimal", "value": "1"}]}
    where = client.post(URL, {"name": "tests.api.jobs.echo", "kwargs": {"value": value}}).headers["Location"]
    run_jobs()
    assert client.get(where).json()["result"] == value


def test_a_payload_that_is_too_large_is_refused(client: JsonClient, engine: Engine) -> None:
    limit = engine.conf.max_payload
    response = client.post(URL, {"name": "tests.api.jobs.echo", "kwargs": {"value": "x" * limit}})
    assert (response.status_code, response.json()["code"]) == (413, "too-large")
    response = client.post(URL, {"name": "tests.api.jobs.echo", "kwargs": {"value": "x" * 10 * limit}})
    assert (response.status_code, response.json()["code"]) == (413, "too-large")
    assert stored(engine) == []


def test_a_key_of_a_client_is_his_own(client: JsonClient, engine: Engine, client_of: ClientOf, bob: User) -> None:
    body = {"name": ADD, "args": [1], "unique_key": "report"}
    first = client.post(URL, body).json()["id"]
    assert client.post(URL, body).json()["id"] == first
    assert client_of(bob).post(URL, body).json()["id"] != first
    assert len(stored(engine)) == 2


def test_a_twin_of_somebody_else_is_not_shown(
    client: JsonClient, engine: Engine, client_of: ClientOf, bob: User
) -> None:
    first = client.post(URL, {"name": ONCE, "args": [1]}).json()["id"]
    assert client.post(URL, {"name": ONCE, "args": [1]}).json()["id"] == first
    response = client_of(bob).post(URL, {"name": ONCE, "args": [1]})
    assert (response.status_code, response.json()["code"]) == (409, "duplicate")
    assert first not in response.content.decode()


@pytest.mark.parametrize("settings_of_queues", [{"default": {"limit": 1}}])
def test_a_full_queue_is_said_and_nothing_is_stored(
    client_of: ClientOf, ann: User, settings: Settings, settings_of_queues: Any
) -> None:
    settings.ASYNCJOBS = {"STORE": "memory", "QUEUES": settings_of_queues}
    client = client_of(ann)
    assert client.post(URL, {"name": ADD, "args": [1]}).status_code == 202
    response = client.post(URL, {"name": ADD, "args": [1]})
    assert (response.status_code, response.json()["code"]) == (429, "queue-full")
    assert int(response.headers["Retry-After"]) >= 1


def test_a_queue_of_the_settings_can_be_chosen(client_of: ClientOf, ann: User, settings: Settings) -> None:
    settings.ASYNCJOBS = {"STORE": "memory", "QUEUES": {"mail": {"limit": 10}}}
    body = client_of(ann).post(URL, {"name": ADD, "args": [1], "queue": "mail"}).json()
    assert body["queue"] == "mail"


def test_a_batch_is_stored_in_its_order(client: JsonClient, engine: Engine) -> None:
    response = client.post(f"{URL}batch/", {"jobs": [{"name": ADD, "args": [number]} for number in range(50)]})
    assert response.status_code == 202
    assert {body["id"] for body in response.json()["jobs"]} == {job.id for job in stored(engine)}
    jobs = [engine.get(body["id"]) for body in response.json()["jobs"]]
    assert [job.payload for job in jobs] == [f'{{"args":[],"kwargs":{{"a":{number}}}}}' for number in range(50)]


def test_a_batch_is_stored_as_a_whole_or_not_at_all(client: JsonClient, engine: Engine) -> None:
    jobs = [{"name": ADD, "args": [1]}, {"name": ADD, "kwargs": {"a": "x"}}]
    response = client.post(f"{URL}batch/", {"jobs": jobs})
    assert response.status_code == 422
    assert faults(response) == {"#/jobs/1/kwargs/a": "invalid"}
    assert stored(engine) == []


def test_a_batch_that_meets_a_twin_is_refused_as_a_whole(client: JsonClient, engine: Engine) -> None:
    client.post(URL, {"name": ONCE, "args": [1]})
    jobs = [{"name": ADD, "args": [1]}, {"name": ONCE, "args": [1]}]
    response = client.post(f"{URL}batch/", {"jobs": jobs})
    assert (response.status_code, response.json()["code"]) == (409, "duplicate")
    assert len(stored(engine)) == 1


def test_twins_in_a_batch_are_one_job(client: JsonClient, engine: Engine) -> None:
    twins = [{"name": ADD, "args": [1], "unique_key": "one"}] * 3
    response = client.post(f"{URL}batch/", {"jobs": twins})
    assert len({body["id"] for body in response.json()["jobs"]}) == 1
    assert len(stored(engine)) == 1


@pytest.mark.parametrize("body", [{}, [], {"jobs": []}, {"jobs": {}}, {"jobs": [{"name": ADD}] * 1_001}, {"jobs": [1]}])
def test_a_batch_has_one_to_a_thousand_jobs(client: JsonClient, engine: Engine, body: Any) -> None:
    assert client.post(f"{URL}batch/", body).status_code == 422
    assert stored(engine) == []


def test_nobody_unknown_submits(client_of: ClientOf, engine: Engine, db: None) -> None:
    response = client_of(None).post(URL, {"name": ADD, "args": [1]})
    assert response.json()["code"] == "not-authenticated"
    assert stored(engine) == []


SECRET = "whsec_" + "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
WEBHOOKS = {"HOSTS": ["hooks.example.com"], "SECRETS": [SECRET]}
CALLBACK_URL = "https://hooks.example.com/ended"


@pytest.fixture
def calling(settings: Settings, client_of: ClientOf, ann: User) -> JsonClient:
    """A client of a site that sends webhooks."""
    settings.ASYNCJOBS = {"STORE": "memory", "API": {"WEBHOOKS": WEBHOOKS}}
    return client_of(ann)


def test_a_job_with_a_callback_is_stored_with_its_delivery(calling: JsonClient) -> None:
    body = calling.post(URL, {"name": ADD, "args": [1], "callback_url": CALLBACK_URL}).json()
    delivery, job = sorted(get_engine().find(Query()).jobs, key=lambda job: job.name)
    assert (job.id, delivery.name) == (body["id"], "asyncjobs.webhook")
    assert (delivery.owner, delivery.queue) == (None, "webhooks")
    assert [listed["id"] for listed in calling.get(URL).json()["jobs"]] == [body["id"]]


@pytest.mark.parametrize("url", ["http://hooks.example.com/", "https://other.example/", "https://127.0.0.1/", 5, ""])
def test_a_callback_goes_nowhere_else(calling: JsonClient, url: Any) -> None:
    response = calling.post(URL, {"name": ADD, "args": [1], "callback_url": url})
    assert (response.status_code, faults(response)) == (422, {"#/callback_url": "invalid"})
    assert get_engine().find(Query()).jobs == []


def test_a_twin_has_a_delivery_of_its_own(calling: JsonClient) -> None:
    first = calling.post(URL, {"name": ADD, "args": [1], "unique_key": "one"}).json()["id"]
    body = {"name": ADD, "args": [1], "unique_key": "one", "callback_url": CALLBACK_URL}
    assert calling.post(URL, body).json()["id"] == first
    assert delivery_id(first, CALLBACK_URL) in {job.id for job in get_engine().find(Query()).jobs}


def test_jobs_of_a_batch_with_callbacks_count_twice(calling: JsonClient) -> None:
    jobs = [{"name": ADD, "args": [1], "callback_url": CALLBACK_URL}] * 501
    assert faults(calling.post(f"{URL}batch/", {"jobs": jobs})) == {"#/jobs": "invalid"}
    assert calling.post(f"{URL}batch/", {"jobs": jobs[:500]}).status_code == 202


def test_everybody_who_asks_for_a_twin_is_told_of_its_end(calling: JsonClient) -> None:
    body = {"name": ADD, "args": [1], "unique_key": "one"}
    urls = [f"{CALLBACK_URL}/{number}" for number in range(3)]
    answers = {calling.post(URL, {**body, "callback_url": url}).json()["id"] for url in urls}
    [first] = answers
    assert {delivery_id(first, url) for url in urls} == {job.id for job in get_engine().find(Query()).jobs} - {first}


def test_a_twin_is_answered_only_with_its_delivery(settings: Settings, calling: JsonClient) -> None:
    settings.ASYNCJOBS = settings.ASYNCJOBS | {"QUEUES": {"webhooks": {"limit": 1}}}
    first = {"name": ADD, "args": [1], "unique_key": "one", "callback_url": CALLBACK_URL}
    assert calling.post(URL, first).status_code == 202
    second = {**first, "callback_url": f"{CALLBACK_URL}/2"}
    for _ in range(2):
        assert calling.post(URL, second, headers={"Idempotency-Key": "k"}).json()["code"] == "queue-full"


def test_a_refused_job_leaves_no_delivery(calling: JsonClient, client_of: ClientOf, bob: User) -> None:
    calling.post(URL, {"name": ONCE, "args": [1]})
    refused = client_of(bob).post(URL, {"name": ONCE, "args": [1], "callback_url": CALLBACK_URL})
    assert refused.status_code == 409
    assert len(get_engine().find(Query()).jobs) == 1


def test_a_batch_with_callbacks_meets_no_twin(calling: JsonClient) -> None:
    body = {"name": ADD, "args": [1], "unique_key": "one", "callback_url": CALLBACK_URL}
    assert calling.post(f"{URL}batch/", {"jobs": [body, body]}).json()["code"] == "duplicate"
    assert get_engine().find(Query()).jobs == []


class Unreadable(MemoryStore):
    """Stores jobs, and finds none."""

    def find(self, query: Query) -> Page:
        raise StoreUnavailable("gone")

    counts = find  # type: ignore[assignment]


def test_what_is_stored_is_accepted_whatever_is_not_known_of_the_queue(client_of: ClientOf, ann: User) -> None:
    before = exchange_engine(Engine(Unreadable(), get_conf()))
    try:
        response = client_of(ann).post(URL, {"name": ADD, "args": [1]})
    finally:
        exchange_engine(before)
    assert (response.status_code, response.headers["Retry-After"]) == (202, "2")
