"""Asynchronous endpoints: a request is checked, stored and answered 202; a worker answers it as the view would have."""

import json
import logging
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group, User
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import AsyncClient
from pytest_django import Settings

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.api.capture import LONGEST_HEADER, request_of
from asyncjobs.domain.job import Job, values_of
from asyncjobs.errors import DeserializationError
from asyncjobs.testing import memory_jobs, run_jobs
from tests.api.conftest import ClientOf, JsonClient, StaffWith
from tests.api.endpoints import Mixed

pytestmark = [pytest.mark.urls("tests.api.endpoints"), pytest.mark.django_db]
UUID = "00000000-0000-0000-0000-000000000005"


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def stored(engine: Engine) -> list[Job]:
    return engine.find(Query()).jobs


def ran(engine: Engine) -> Any:
    """What became of the one job there is."""
    [job] = run_jobs()
    assert job.status == JobStatus.COMPLETED, job.error
    return engine.result(job.id)


def assert_problem(response: Any, status: int, code: str) -> Any:
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")
    assert response.json()["code"] == code
    return response.json()


def test_a_request_is_accepted_and_can_be_followed_to_its_answer(client: JsonClient) -> None:
    accepted = client.post("/greet/Ada/")
    assert accepted.status_code == 202
    assert int(accepted.headers["Retry-After"]) >= 1
    where = accepted.headers["Location"]
    assert accepted.json()["name"] == "tests.api.endpoints.greet"
    assert client.get(where).json()["status"] == "queued"
    run_jobs()
    assert client.get(client.get(where).json()["links"]["result"]).json() == "Hello Ada!"


def test_safe_methods_are_answered_at_once(client: JsonClient, engine: Engine) -> None:
    assert client.get("/greet/Ada/").json() == "Hello Ada!"
    assert client.options("/mirror/").status_code == 200
    assert client.head("/mirror/").status_code == 200
    assert stored(engine) == []


ASKED = {
    "method": "POST",
    "path": f"/mirror/5/{UUID}/a-b/c/ü%;d",
    "full_path": f"/mirror/5/{UUID}/a-b/c/%C3%BC%25%3Bd?x=1&y=%C3%A9+%26&x=2&empty=",
    "query": [["x", ["1", "2"]], ["y", ["é &"]], ["empty", [""]]],
    "route": ["extra='option'", "number=5", "path='c/ü%;d'", "slug='a-b'", f"uuid=UUID('{UUID}')"],
}


def test_a_worker_sees_the_request_as_the_web_process_did(client: JsonClient, engine: Engine) -> None:
    headers = {"X-Tenant": "acme, inc", "Accept-Language": "de", "X-Request-Id": "r1", "Accept": "application/json"}
    url = f"/mirror/5/{UUID}/a-b/c/%C3%BC%25%3Bd?x=1&y=%C3%A9+%26&x=2&empty="
    body = '{ "a": [1, "é", null],\n"b": "\\u00e9" }'
    client.post(url, body, content_type="application/json; charset=utf-8", headers=headers)
    seen = ran(engine)
    assert {name: seen[name] for name in ASKED} == ASKED
    assert seen["body"] == body
    assert seen["data"] == {"a": [1, "é", None], "b": "é"}
    assert seen["content_type"] == "application/json; charset=utf-8"
    assert seen["user_type"] == "User"
    at_once = client.get(url, headers=headers, secure=True).json()
    for name in ("path", "full_path", "query", "route", "user", "user_type"):
        assert seen[name] == at_once[name]
    kept = {name: seen["headers"][name] for name in headers}
    assert kept == headers == {name: at_once["headers"][name] for name in headers}
    assert seen["headers"].keys() - headers.keys() == {"Content-Type", "Content-Length", "Host"}


@pytest.mark.parametrize(("secure", "host"), [(True, "localhost:8443"), (False, "[::1]:80"), (False, "127.0.0.1")])
def test_a_worker_sees_where_the_request_went(client: JsonClient, engine: Engine, *, secure: bool, host: str) -> None:
    client.post("/mirror/", secure=secure, headers={"Host": host})
    seen = ran(engine)
    assert (seen["url"], seen["secure"]) == (f"http{'s' if secure else ''}://{host}/mirror/", secure)


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_every_method_that_changes_something_is_asynchronous(client: JsonClient, engine: Engine, method: str) -> None:
    assert getattr(client, method)("/mirror/", {"a": 1}).status_code == 202
    seen = ran(engine)
    assert (seen["method"], seen["data"]) == (method.upper(), {"a": 1})


def test_route_arguments_without_a_name_keep_their_places(client: JsonClient, engine: Engine) -> None:
    client.post("/mirror/12/ab")
    assert stored(engine)[0].route_params == {"0": "12", "1": "ab"}
    assert ran(engine)["route"] == ["'12'", "'ab'"]


def test_route_arguments_no_job_can_keep_are_a_mistake_of_the_site(client: JsonClient, engine: Engine) -> None:
    with pytest.raises(ImproperlyConfigured, match="kind is a type, which does not survive JSON"):
        client.post("/odd-route/")
    assert stored(engine) == []


def test_a_query_string_that_is_not_escaped_means_the_same_in_the_worker(client: JsonClient, engine: Engine) -> None:
    client.post("/mirror/", QUERY_STRING="q=é".encode().decode("latin-1"))
    assert ran(engine)["query"] == [["q", ["é"]]]


@pytest.mark.parametrize("charset", ["us-ascii", "utf-8"])
def test_the_charset_of_a_body_does_not_count_for_its_address(client: JsonClient, engine: Engine, charset: str) -> None:
    client.post("/mirror/?q=%C3%A9", "{}", content_type=f"application/json; charset={charset}", QUERY_STRING="q=%C3%A9")
    assert ran(engine)["query"] == [["q", ["é"]]]


def test_a_site_below_a_prefix_sees_its_paths(client: JsonClient, engine: Engine, settings: Settings) -> None:
    client.post("/mirror/")
    [job] = stored(engine)
    below = job.replace(headers={**(job.headers or {}), ":path": ["/shop/mirror/"]})
    settings.FORCE_SCRIPT_NAME = "/shop"
    assert request_of(below).path == "/shop/mirror/"
    assert request_of(below).path_info == "/mirror/"


@pytest.mark.parametrize("content", ["", " ", "{}", "a=1&a=2&b=%C3%A9", "\ufeff{}", "line\r\n\ttab é 😀"])
def test_the_body_comes_out_as_it_went_in(client: JsonClient, engine: Engine, content: str) -> None:
    client.post("/mirror/", content.encode(), content_type="text/plain")
    assert stored(engine)[0].payload == content
    assert ran(engine)["body"] == content


def test_a_form_without_files_is_a_body_like_any_other(client: JsonClient, engine: Engine) -> None:
    client.post("/mirror/", "a=1&a=2&b=%C3%A9", content_type="application/x-www-form-urlencoded")
    assert ran(engine)["data"] == {"a": "2", "b": "é"}


def test_no_credentials_reach_a_job(
    client_of: ClientOf, ann: User, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "canary-4711"
    names = ["Authorization", "Cookie", "X-Api-Key", "X-CSRFToken", "Proxy-Authorization", "X-Session-Id", "X-Other"]
    with caplog.at_level(logging.DEBUG):
        client = client_of(ann, **dict.fromkeys(names, canary))
        assert client.post("/mirror/", {"a": 1}).status_code == 202
        assert client.post("/outcome/crash/").status_code == 202
        run_jobs()
    for job in stored(engine):
        kept = [*engine.store.journal(job.id, "log"), *engine.store.journal(job.id, "attempt")]
        assert canary not in f"{values_of(job)} {kept}"
    assert canary not in caplog.text


@pytest.mark.parametrize(
    ("url", "status", "code"),
    [("/for-staff/", 403, "permission-denied"), ("/closed/", 403, "permission-denied")],
)
def test_who_may_not_is_told_at_once(client: JsonClient, engine: Engine, url: str, status: int, code: str) -> None:
    assert_problem(client.post(url), status, code)
    assert stored(engine) == []


def test_an_error_that_only_the_site_knows_is_told_as_the_site_does(client: JsonClient, engine: Engine) -> None:
    refused = client.post("/for-sale/")
    assert (refused.status_code, refused.json()) == (402, {"detail": "Pay first."})
    assert stored(engine) == []


def test_who_is_not_known_is_told_at_once(client_of: ClientOf, engine: Engine, db: None) -> None:
    for url in ("/mirror/", "/polite/", "/plain/1/"):
        assert_problem(client_of().post(url), 403, "not-authenticated")
    assert stored(engine) == []


def test_who_asks_too_often_is_told_at_once(client: JsonClient, engine: Engine) -> None:
    assert client.post("/once-a-day/").status_code == 202
    refused = client.post("/once-a-day/")
    assert_problem(refused, 429, "throttled")
    assert int(refused.headers["Retry-After"]) > 0
    run_jobs()
    assert [job.status for job in stored(engine)] == [JobStatus.COMPLETED]


def test_permissions_and_throttles_are_not_asked_again(staff: User, client_of: ClientOf, engine: Engine) -> None:
    client_of(staff).post("/for-staff/")
    User.objects.update(is_staff=False)
    assert ran(engine) == "done"


def test_a_retry_asks_the_permissions_again(staff: User, client_of: ClientOf, engine: Engine) -> None:
    client = client_of(staff)
    links = client.post("/for-staff/").json()["links"]
    client.post(links["cancel"])
    staff.is_staff = False
    before = stored(engine)
    assert_problem(client.post(links["retry"]), 403, "permission-denied")
    assert stored(engine) == before
    staff.is_staff = True
    assert client.post(links["retry"]).status_code == 202
    assert ran(engine) == "done"


def test_a_retry_asks_of_the_first_request_and_of_the_client_as_it_is(
    client_of: ClientOf, ann: User, engine: Engine
) -> None:
    client: Any = client_of(ann, **{"X-Api-Key": "key"})
    client.force_authenticate(ann, token="token")
    links = client.put("/curious/7/?q=%C3%A9", {"a": 1}).json()["links"]
    client.post(links["cancel"])
    client.force_authenticate(ann, token="another")
    assert_problem(client.post(links["retry"]), 403, "permission-denied")
    client.force_authenticate(ann, token="token")
    assert client.post(links["retry"]).status_code == 202
    assert ran(engine) == "done"
    assert "token" not in f"{stored(engine)}"


def test_staff_who_retry_for_others_need_no_more_than_their_permission(
    client_of: ClientOf, staff: User, staff_with: StaffWith, engine: Engine
) -> None:
    links = client_of(staff).post("/for-staff/").json()["links"]
    client_of(staff).post(links["cancel"])
    User.objects.filter(pk=staff.pk).update(is_staff=False)
    helper = staff_with("view_dashboard", "retry_job")
    assert client_of(helper).post(links["retry"]).status_code == 202
    assert ran(engine) == "done"


def test_a_retry_of_a_form_asks_with_its_files(
    client_of: ClientOf, ann: User, engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    client = client_of(ann)
    links = client.post("/upload/", {"doc": BytesIO(b"hello")}, format="multipart").json()["links"]
    client.post(links["cancel"])
    assert client.post(links["retry"]).status_code == 202
    assert ran(engine)["files"][0][3] == "hello"


def test_a_request_that_cannot_be_read_again_is_not_retried(client: JsonClient, engine: Engine) -> None:
    client.post("/mirror/")
    [taken] = stored(engine)
    engine.delete(taken.id)
    engine.submit_many([taken.replace(headers={})], on_commit=False)
    links = client.get("/api/jobs/").json()["jobs"][0]["links"]
    client.post(links["cancel"])
    assert_problem(client.post(links["retry"]), 409, "not-retryable")


def test_whoever_is_not_known_is_not_known_in_the_worker(client_of: ClientOf, engine: Engine, db: None) -> None:
    assert client_of().post("/ground/").status_code == 202
    [job] = stored(engine)
    assert job.owner is None
    assert ran(engine) == {"floor": 0}


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({}, {"#/name": "required"}),
        ({"name": "far too long", "times": 0}, {"#/name": "max_length", "#/times": "min_value"}),
        ('{"name": "Ada", "tone": "\\ud800"}', {"#/tone": "invalid_choice"}),  # told, and no UTF-8
        ('{"name": "Ada", "marks": {"\\ud800": "x"}}', {"#/marks/\\ud800": "invalid"}),
        ('{"name": "Ada", "group": 1e400}', {"#": "invalid"}),
    ],
)
def test_what_does_not_fit_the_serializer_is_refused(
    client: JsonClient, engine: Engine, body: Any, faults: dict[str, str]
) -> None:
    sent = body if isinstance(body, str) else json.dumps(body)
    problem = assert_problem(client.post("/polite/", sent, content_type="application/json"), 422, "invalid")
    assert {fault["pointer"]: fault["code"] for fault in problem["errors"]} == faults
    assert stored(engine) == []


def test_the_view_is_given_what_its_serializer_made_of_the_body(client: JsonClient, engine: Engine) -> None:
    assert client.post("/polite/", {"name": "Ada", "times": "2"}).json()["name"] == "greetings.polite"
    assert ran(engine) == ["Dear Ada", "Dear Ada"]


def test_a_generic_view_lists_at_once_and_creates_in_a_worker(client: JsonClient, engine: Engine) -> None:
    Group.objects.create(name="there")
    assert [group["name"] for group in client.get("/groups/").json()] == ["there"]
    assert_problem(client.post("/groups/", {"name": "there"}), 422, "invalid")
    assert client.post("/groups/", {"name": "new"}).status_code == 202
    assert ran(engine)["name"] == "new"
    assert Group.objects.filter(name="new").exists()


def test_a_generic_view_changes_the_object_that_is_there(client: JsonClient, engine: Engine) -> None:
    group = Group.objects.create(name="old")
    url = f"/groups/{group.pk}/"
    assert client.put(url, {"name": "old"}).status_code == 202  # it is the group itself that has this name
    assert ran(engine) == {"id": group.pk, "name": "old"}
    assert client.patch(url, {}).status_code == 202
    assert ran(engine) == {"id": group.pk, "name": "old"}
    assert_problem(client.put(url, {}), 422, "invalid")
    assert client.delete(url).status_code == 202
    assert ran(engine) is None
    for method in (client.put, client.patch, client.delete):
        assert_problem(method(url, {"name": "new"}), 404, "not-found")
    assert len(stored(engine)) == 3


def test_what_became_invalid_meanwhile_fails_for_good(client: JsonClient, engine: Engine) -> None:
    client.post("/groups/", {"name": "new"})
    Group.objects.create(name="new")
    [job] = run_jobs()
    assert job.status == JobStatus.FAILED
    assert job.error is not None
    assert job.error.code == "ENDPOINT_REFUSED"
    assert "group with this name already exists." in job.error.message


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b'{"a": ', "application/json", 400, "malformed"),
        (b"[" * 60_000, "application/json", 400, "malformed"),
        (b'{"a": "\xff"}', "application/json", 415, "unsupported-media-type"),
        ("{}".encode("utf-16"), "application/json; charset=utf-16", 415, "unsupported-media-type"),
        (b"{}", "application/json; charset=idontexist", 415, "unsupported-media-type"),
        (b"<a/>", "application/xml", 415, "unsupported-media-type"),
        (b"a\x00b", "text/plain", 400, "malformed"),
        (b"x" * 65_537, "text/plain", 413, "too-large"),
        (b"x" * 5_000_000, "text/plain", 413, "too-large"),
        (b"x", "multipart/form-data; boundary=x", 415, "unsupported-media-type"),
    ],
)
def test_a_body_that_cannot_be_kept_is_refused(
    client: JsonClient, engine: Engine, body: bytes, content_type: str, status: int, code: str
) -> None:
    assert_problem(client.post("/mirror/", body, content_type=content_type), status, code)
    assert stored(engine) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Tenant": "x" * (LONGEST_HEADER + 1)}, 400),
        ({"X-Tenant": "a\r\nb"}, 400),
        ({"X-Tenant": "a\x00b"}, 400),
        ({"X-Tenant": "a\x1b[2Jb"}, 400),
        ({"X-Other": "a\x00b"}, 202),
        ({"X-Tenant": "é — 😀".encode().decode("latin-1")}, 202),
        ({"X-Tenant": "x" * LONGEST_HEADER}, 202),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Transfer-Encoding": "chunked", "Content-Length": ""}, 400),
        ({"Content-Length": "-1"}, 400),
        ({"Content-Length": "9" * 5_000}, 413),
        ({"Host": "elsewhere.example"}, 400),
        ({"Idempotency-Key": "ü"}, 400),
    ],
)
def test_headers_are_kept_or_refused_as_they_are(
    client: JsonClient, engine: Engine, headers: dict[str, str], status: int
) -> None:
    response = client.post("/mirror/", headers=headers)
    assert response.status_code == status, response.content
    assert len(stored(engine)) == (status == 202)
    if status == 202 and "X-Tenant" in headers:
        assert ran(engine)["headers"]["X-Tenant"] == headers["X-Tenant"]


@pytest.mark.parametrize("query", ["a=%00", "%00=a", "a=" + "x" * 9_000])
def test_an_address_that_cannot_be_kept_is_refused(client: JsonClient, engine: Engine, query: str) -> None:
    assert_problem(client.post("/mirror/", QUERY_STRING=query), 400, "malformed")
    assert stored(engine) == []


def test_a_user_who_is_gone_or_inactive_has_nothing_run(client: JsonClient, engine: Engine, ann: User) -> None:
    client.post("/mirror/")
    User.objects.update(is_active=False)
    [inactive] = run_jobs()
    client.post("/mirror/")
    ann.delete()
    [gone] = run_jobs()
    for job in (inactive, gone):
        assert (job.status, job.error and job.error.code) == (JobStatus.FAILED, "USER_GONE")


def test_the_same_request_with_the_same_key_is_carried_out_once(client: JsonClient, engine: Engine) -> None:
    def post(url: str = "/mirror/", body: Any = '{"a": 1}', kind: str = "application/json") -> Any:
        return client.post(url, body, content_type=kind, headers={"Idempotency-Key": "k"})

    first, again = post(), post()
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (202, "true")
    assert again.headers["Location"] == first.headers["Location"]
    assert_problem(post("/mirror/?b=1"), 422, "key-reused")
    assert_problem(post(body='{"a":1}'), 422, "key-reused")
    assert_problem(post(kind="text/plain"), 422, "key-reused")
    assert len(stored(engine)) == 1
    assert post("/groups/", '{"name": "x"}').status_code == 202


def test_a_repeated_request_gets_the_first_answer_whatever_happened_since(client: JsonClient, engine: Engine) -> None:
    first = client.post("/groups/", {"name": "new"}, headers={"Idempotency-Key": "k"})
    run_jobs()
    again = client.post("/groups/", {"name": "new"}, headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])


def test_without_an_address_to_follow_jobs_nothing_is_stored(
    client: JsonClient, engine: Engine, settings: Settings
) -> None:
    settings.ROOT_URLCONF = "tests.api.endpoints_alone"
    with pytest.raises(ImproperlyConfigured, match=r'include\("asyncjobs.api.urls"\)'):
        client.post("/greet/Ada/")
    assert stored(engine) == []


def test_a_full_queue_is_a_problem(client_of: ClientOf, ann: User, settings: Settings) -> None:
    settings.ASYNCJOBS = {"QUEUES": {"slow": {"limit": 1}}}
    with memory_jobs() as engine:
        assert client_of(ann).put("/plain/1/").status_code == 202
        assert_problem(client_of(ann).put("/plain/1/"), 429, "queue-full")
        assert len(stored(engine)) == 1


def test_a_view_has_only_the_methods_named_made_asynchronous(client: JsonClient, engine: Engine) -> None:
    assert client.put("/mixed/").status_code == 200
    assert client.post("/mixed/").status_code == 202
    assert ran(engine) == {"prepared": True}


@pytest.mark.parametrize("atomic", [True, False])
def test_only_methods_answered_at_once_have_the_transaction_of_the_site(
    client: JsonClient, monkeypatch: pytest.MonkeyPatch, *, atomic: bool
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
    monkeypatch.setattr(Mixed, "depths", [])
    client.put("/mixed/")
    client.post("/mixed/")
    assert Mixed.depths == [len(connection.savepoint_ids) + atomic, len(connection.savepoint_ids)]


def test_the_version_of_the_api_is_seen_in_the_worker(client: JsonClient, engine: Engine) -> None:
    client.post("/v2/versioned/")
    assert ran(engine) == "v2"
    client.post("/v3/")
    assert ran(engine) == "v3"


def test_a_request_outlives_its_address(client: JsonClient, engine: Engine, settings: Settings) -> None:
    client.post("/mirror/", {"a": 1})
    settings.ROOT_URLCONF = "tests.api.endpoints_alone"
    assert ran(engine)["data"] == {"a": 1}


@pytest.mark.parametrize("pk", [1, None])
def test_a_user_of_another_kind_is_nobody_a_worker_could_find(client_of: ClientOf, engine: Engine, pk: Any) -> None:
    class Machine:
        is_authenticated = True

    Machine.pk = pk  # type: ignore[attr-defined]
    client = client_of(cast(User, Machine()))
    assert_problem(client.post("/mirror/"), 403, "permission-denied")
    assert_problem(client.post("/ground/", headers={"Idempotency-Key": "k"}), 403, "permission-denied")
    assert stored(engine) == []


def test_a_request_to_an_asgi_server_is_the_same_to_a_worker(engine: Engine, ann: User) -> None:
    client = AsyncClient()
    client.force_login(ann)
    url = f"/mirror/5/{UUID}/a-b/c/%C3%BC%25%3Bd?x=1&y=%C3%A9+%26&x=2&empty="
    headers = {"X-Tenant": "é — 😀".encode().decode("latin-1")}
    at_once = async_to_sync(client.get)(url, headers=headers).json()
    accepted = async_to_sync(client.post)(url, '{"a": "é"}', content_type="application/json", headers=headers)
    assert accepted.status_code == 202
    seen = ran(engine)
    for name in ("path", "full_path", "url", "query", "route", "user"):
        assert seen[name] == at_once[name]
    assert (seen["body"], seen["user"], seen["headers"]["X-Tenant"]) == ('{"a": "é"}', ann.pk, headers["X-Tenant"])
    assert "Cookie" not in seen["headers"]


@pytest.mark.parametrize(("form", "kind"), [("api", "text/html"), ("xml", "application/xml")])
def test_a_client_is_answered_with_json_whatever_it_asks_for(
    client: JsonClient, engine: Engine, form: str, kind: str
) -> None:
    accepted = client.post(f"/mirror/?format={form}", headers={"Accept": kind})
    assert (accepted.status_code, accepted.headers["Content-Type"]) == (202, "application/json")
    seen = ran(engine)
    assert (seen["full_path"], seen["headers"]["Accept"]) == (f"/mirror/?format={form}", kind)
    refused = client.post("/closed/", headers={"Accept": kind})
    assert_problem(refused, 403, "permission-denied")
    assert json.loads(refused.content)["detail"] == "We are closed."


def test_a_job_that_was_made_from_no_request_says_so() -> None:
    with pytest.raises(DeserializationError, match="no :path"):
        request_of(Job(id=UUID, name="x"))
