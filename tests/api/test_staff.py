"""What staff see and do, and that nobody else does."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User

from asyncjobs import Engine
from asyncjobs.api.bodies import worker_body
from asyncjobs.registry import Handler
from asyncjobs.stores.base import WorkerRecord
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.conftest import ClientOf, StaffWith
from tests.api.jobs import submitted_by

READ = ("queues/", "workers/", "handlers/", "handlers/tests.api.jobs.add/")
ACT = ("queues/default/pause/", "queues/default/resume/")

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def people(ann: User, staff: User, boss: User, staff_with: StaffWith) -> dict[str, Any]:
    return {
        "nobody": None,
        "a user": ann,
        "a user with every permission": _with_all(staff_with, username="user", is_staff=False),
        "staff": staff,
        "staff who see": staff_with("view_dashboard"),
        "staff who pause": staff_with("pause_queue"),
        "staff who cancel": staff_with("cancel_job", "retry_job", "delete_job", "submit_job", "view_payload"),
        "staff who left": _with_all(staff_with, username="left", is_active=False),
        "the boss": boss,
    }


def _with_all(staff_with: StaffWith, **fields: Any) -> User:
    return staff_with("view_dashboard", "pause_queue", **fields)


def _statuses(people: dict[str, Any], call: Callable[[Any], int]) -> dict[str, int]:
    return {who: status for who, user in people.items() if (status := call(user)) != 403}


@pytest.mark.parametrize("path", READ)
def test_only_staff_with_the_permission_see(path: str, client_of: ClientOf, people: dict[str, Any]) -> None:
    seen = _statuses(people, lambda user: client_of(user).get(f"/api/jobs/{path}").status_code)
    assert seen == {"staff who see": 200, "the boss": 200}


@pytest.mark.parametrize("path", ACT)
def test_only_staff_with_the_permission_pause_and_resume(
    path: str, client_of: ClientOf, people: dict[str, Any]
) -> None:
    submitted_by(None, jobs.add, 1)
    seen = _statuses(people, lambda user: client_of(user).post(f"/api/jobs/{path}").status_code)
    assert seen == {"staff who pause": 200, "the boss": 200}


@pytest.mark.parametrize("path", [*READ, *ACT])
def test_who_may_not_learns_nothing(path: str, client_of: ClientOf, staff: User) -> None:
    submitted_by(None, jobs.add, 1)
    answer = client_of(staff).generic("GET" if path in READ else "POST", f"/api/jobs/{path}")
    problem = answer.json()
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert problem["code"] == "permission-denied"
    assert "default" not in answer.content.decode().replace(problem["instance"], "")


@pytest.mark.parametrize("path", [*READ, *ACT])
@pytest.mark.parametrize("method", ["put", "patch", "delete", "options"])
def test_other_methods_are_not_there(path: str, method: str, client_of: ClientOf, boss: User) -> None:
    answer = getattr(client_of(boss), method)(f"/api/jobs/{path}")
    assert (answer.status_code, answer.json()["code"]) == (405, "method-not-allowed")


def test_nobody_is_asked_to_say_who_they_are(client_of: ClientOf, settings: Any) -> None:
    settings.ASYNCJOBS = {"STORE": "memory", "API": {"AUTHENTICATION": [BASIC]}}
    answer = client_of().get("/api/jobs/queues/")
    assert (answer.status_code, answer.json()["code"]) == (401, "not-authenticated")
    assert answer["WWW-Authenticate"].startswith("Basic")


BASIC = "rest_framework.authentication.BasicAuthentication"


def test_queues_tell_their_counts_their_backlog_and_how_long_the_oldest_waits(
    client_of: ClientOf, boss: User, engine: Engine
) -> None:
    assert client_of(boss).get("/api/jobs/queues/").json() == {"queues": []}
    submitted_by(None, jobs.add, 1)
    run_jobs()
    waiting = submitted_by(None, jobs.add, 1)
    submitted_by(None, jobs.add.using(delay=60), 1)
    submitted_by(None, jobs.talk, 1)
    [default, slow] = client_of(boss).get("/api/jobs/queues/").json()["queues"]
    assert (default["name"], slow["name"]) == ("default", "slow")
    counts = {word: count for word, count in default["counts"].items() if count}
    assert counts == {"queued": 1, "scheduled": 1, "completed": 1}
    assert set(default["counts"]) == {
        "queued",
        "waiting",
        "scheduled",
        "in_progress",
        "completed",
        "failed",
        "canceled",
    }
    assert default["backlog"] == 2
    assert 0 <= default["oldest_seconds"] <= (engine.store.now() - waiting.created_at) / 1000
    assert default["pause"] is slow["pause"] is None


def test_a_paused_queue_stands_still_until_it_is_resumed(client_of: ClientOf, boss: User) -> None:
    job = submitted_by(None, jobs.add, 1)
    client = client_of(boss)
    paused = client.post("/api/jobs/queues/default/pause/", {"reason": "maintenance"})
    assert paused.status_code == 200
    said = [paused.json()[name] for name in ("reason", "until", "by")]
    assert said == ["maintenance", None, str(boss.pk)]
    assert client.get("/api/jobs/queues/").json()["queues"][0]["pause"] == paused.json()
    assert run_jobs() == []
    assert client.post("/api/jobs/queues/default/resume/").json() == {"resumed": True}
    assert client.post("/api/jobs/queues/default/resume/", {}).json() == {"resumed": False}
    assert [done.id for done in run_jobs()] == [job.id]


def test_a_pause_needs_no_body(client_of: ClientOf, boss: User) -> None:
    submitted_by(None, jobs.add, 1)
    paused = client_of(boss).post("/api/jobs/queues/default/pause/").json()
    assert (paused["reason"], paused["until"]) == ("", None)
    nothing = {"reason": None, "until": None, "for": None}
    assert client_of(boss).post("/api/jobs/queues/default/pause/", nothing).status_code == 200


@pytest.mark.parametrize("length", [90, 90.0, "PT90S", "PT1M30S"])
def test_a_pause_may_have_a_length(length: Any, client_of: ClientOf, boss: User) -> None:
    submitted_by(None, jobs.add, 1)
    pause = client_of(boss).post("/api/jobs/queues/default/pause/", {"for": length}).json()
    assert datetime.fromisoformat(pause["until"]) - datetime.fromisoformat(pause["since"]) == timedelta(seconds=90)


def test_a_pause_may_have_an_end(client_of: ClientOf, boss: User) -> None:
    submitted_by(None, jobs.add, 1)
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    pause = client_of(boss).post("/api/jobs/queues/default/pause/", {"until": end.isoformat()}).json()
    assert datetime.fromisoformat(pause["until"]) == end


def _in(**ago: float) -> str:
    return (datetime.now(UTC) + timedelta(**ago)).isoformat()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([], "#"),
        ("later", "#"),
        ({"why": "x"}, "#"),
        ({"until": "2999-01-01T00:00:00Z"}, "#/until"),
        ({"until": "9999-12-31T23:59:59-23:59"}, "#/until"),
        ({"until": "0001-01-01T00:00:00+23:59"}, "#/until"),
        ({"until": _in(hours=-1)}, "#/until"),
        ({"until": "2027-01-01T00:00:00"}, "#/until"),
        ({"until": "2027-01-01"}, "#/until"),
        ({"until": "soon"}, "#/until"),
        ({"until": 5}, "#/until"),
        ({"until": []}, "#/until"),
        ({"for": 0}, "#/for"),
        ({"for": -1}, "#/for"),
        ({"for": 1e300}, "#/for"),
        ({"for": "PT0S"}, "#/for"),
        ({"for": "P"}, "#/for"),
        ({"for": "-PT1M"}, "#/for"),
        ({"for": "P999999999D"}, "#/for"),
        ({"for": "1:00"}, "#/for"),
        ({"for": ""}, "#/for"),
        ({"for": True}, "#/for"),
        ({"for": {}}, "#/for"),
        ({"for": 5, "until": _in(hours=1)}, "#/for"),
        ({"reason": 0}, "#/reason"),
        ({"reason": []}, "#/reason"),
        ({"reason": "\x1b[2J"}, "#/reason"),
        ({"reason": "x" * 501}, "#/reason"),
    ],
)
def test_a_pause_that_does_not_fit_changes_nothing(
    body: Any, pointer: str, client_of: ClientOf, boss: User, engine: Engine
) -> None:
    submitted_by(None, jobs.add, 1)
    answer = client_of(boss).post("/api/jobs/queues/default/pause/", body)
    assert (answer.status_code, [fault["pointer"] for fault in answer.json()["errors"]]) == (422, [pointer])
    assert engine.counts()[0].pause is None


def test_a_resume_that_says_anything_does_not_fit(client_of: ClientOf, boss: User, engine: Engine) -> None:
    engine.pause("default")
    assert client_of(boss).post("/api/jobs/queues/default/resume/", {"force": True}).status_code == 422
    assert engine.counts()[0].pause is not None


@pytest.mark.parametrize("name", ["never-used", "*", "a%20b", "%00", "x" * 65, "%2e%2e", "ü"])
@pytest.mark.parametrize("act", ["pause", "resume"])
def test_a_queue_that_was_never_used_is_not_there(
    name: str, act: str, client_of: ClientOf, boss: User, engine: Engine
) -> None:
    answer = client_of(boss).post(f"/api/jobs/queues/{name}/{act}/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert engine.counts() == []


def test_workers_tell_what_they_said_and_when(client_of: ClientOf, boss: User, engine: Engine) -> None:
    said = {"name": "mail", "host": "web1", "pid": 12, "supervisor": 11, "since": 1_700_000_000.5, "version": "1.0"}
    said |= {"queues": ["mail*"], "threads": 4, "async_concurrency": 20, "running": 1, "jobs": ["x"], "memory": 1024}
    engine.store.beat("w1", {}, lease=30_000, about=json.dumps({**said, "state": "working", "claimed_ago": 5}))
    [worker] = client_of(boss).get("/api/jobs/workers/").json()["workers"]
    assert worker.pop("silent_seconds") < 30
    assert worker.pop("heard_at") is not None
    assert worker == {
        "id": "w1",
        **{name: value for name, value in said.items() if name != "since"},
        "state": "working",
        "started_at": "2023-11-14T22:13:20.500Z",
        "heard_from": True,
    }


@pytest.mark.parametrize(
    ("silence", "state", "heard_from"),
    [(0, "working", True), (30_000, "ending", True), (30_001, "working", False), (0, "ended", False)],
)
def test_a_worker_is_heard_from_until_its_lease_is_over_or_it_ended(silence: int, state: str, heard_from: bool) -> None:  # noqa: FBT001 - what is expected
    record = WorkerRecord("w1", 1_000_000 - silence, json.dumps({"state": state}))
    body = worker_body(record, 1_000_000, lease=30_000)
    assert (body["heard_from"], body["silent_seconds"]) == (heard_from, silence / 1000)


@pytest.mark.parametrize(
    "about",
    [
        "",
        "not JSON",
        "[]",
        "null",
        "[" * 100_000,
        '{"name": 5, "pid": "x", "queues": 7, "jobs": {}, "since": "then", "memory": true}',
        '{"since": 1e999, "memory": NaN, "queues": [1, null, "a"]}',
        '{"since": 1e300}',
        '{"since": true, "since": -1e15}',
        '{"name": "\\ud800", "queues": ["\\udfff"]}',
    ],
)
def test_what_no_worker_of_ours_wrote_is_left_out(about: str, client_of: ClientOf, boss: User, engine: Engine) -> None:
    engine.store.beat("odd", {}, lease=30_000, about=about)
    answer = client_of(boss).get("/api/jobs/workers/")
    [worker] = answer.json()["workers"]
    assert (answer.status_code, worker["id"], worker["heard_from"]) == (200, "odd", True)
    assert worker["pid"] is worker["memory"] is worker["started_at"] is None


def test_handlers_are_those_that_clients_may_submit(client_of: ClientOf, boss: User) -> None:
    listed = {body["name"]: body for body in client_of(boss).get("/api/jobs/handlers/").json()["handlers"]}
    offered = [value for value in vars(jobs).values() if isinstance(value, Handler) and value.exposure]
    assert {handler.name for handler in offered} <= set(listed)
    assert jobs.hidden.name not in listed
    assert not any(name.startswith("asyncjobs.") for name in listed)
    talk = listed[jobs.talk.name]
    assert talk.pop("arguments")["properties"] == {"lines": {"type": "integer"}}
    assert talk == {
        "name": "tests.api.jobs.talk",
        "description": "Says something, line by line.",
        "queue": "slow",
        "priority": 20,
        "max_retries": 5,
        "timeout_seconds": 60,
        "links": {"self": "http://testserver/api/jobs/handlers/tests.api.jobs.talk/"},
    }
    assert listed[jobs.double.name]["description"] == ""
    assert listed[jobs.add.name]["description"] == "Adds two numbers."


def test_every_handler_is_found_by_its_link(client_of: ClientOf, boss: User) -> None:
    client = client_of(boss)
    for body in client.get("/api/jobs/handlers/").json()["handlers"]:
        assert client.get(body["links"]["self"]).json() == body


def test_a_handler_may_have_any_name_that_jobs_may_have(client_of: ClientOf, boss: User) -> None:
    client = client_of(boss)
    listed = {body["name"]: body for body in client.get("/api/jobs/handlers/").json()["handlers"]}
    assert jobs.strange.name in listed
    assert client.get(listed[jobs.strange.name]["links"]["self"]).json()["name"] == jobs.strange.name


@pytest.mark.parametrize("name", ["tests.api.jobs.hidden", "nothing", "asyncjobs.bench.noop", "os.system", "%00"])
def test_a_handler_that_is_not_offered_is_not_there(name: str, client_of: ClientOf, boss: User) -> None:
    answer = client_of(boss).get(f"/api/jobs/handlers/{name}/")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no such handler.")


def test_the_permission_counts_for_staff_alone(staff_with: StaffWith, client_of: ClientOf) -> None:
    user = _with_all(staff_with, username="user", is_staff=False)
    assert user.has_perm("asyncjobs.view_dashboard")
    assert client_of(user).get("/api/jobs/queues/").status_code == 403
    assert client_of(AnonymousUser()).get("/api/jobs/queues/").status_code == 403


def test_everything_staff_see_is_documented(client_of: ClientOf, boss: User, engine: Engine) -> None:
    reference = (Path(__file__).parents[2] / "docs/reference/http-api.md").read_text()
    engine.pause("default")
    engine.store.beat("w1", {}, lease=30_000, about="{}")
    client = client_of(boss)
    for kind in ("queues", "workers", "handlers"):
        [body, *_] = client.get(f"/api/jobs/{kind}/").json()[kind]
        for name in (body.keys() | (body.get("pause") or {}).keys()) - {"links"}:
            assert f"`{name}`" in reference, name
