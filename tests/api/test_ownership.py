"""Jobs of others are not there: whatever is asked of them, the answer is that of a job that never was."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, cast
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test.utils import isolate_apps
from django.utils.functional import SimpleLazyObject
from pytest_django import Settings

from asyncjobs import Engine, Query
from asyncjobs.api.access import owner_of, sees
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import JOURNAL_LIMITS
from asyncjobs.testing import memory_jobs, run_jobs
from tests.api import jobs
from tests.api.conftest import ClientOf, StaffWith
from tests.api.wire import ANN, BOB, BOSS, URL, Answer, Sent, Server

pytestmark = pytest.mark.usefixtures("unlimited")
PARTS = ("", "result/", "log/", "events/", "cancel/", "retry/")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
GOOD = {
    "": {"GET", "HEAD", "DELETE"},
    "result/": {"GET", "HEAD"},
    "log/": {"GET", "HEAD"},
    "events/": {"GET", "HEAD"},
    "cancel/": {"POST"},
    "retry/": {"POST"},
}
WAYS: list[dict[str, Any]] = [
    {},
    {"headers": {"If-None-Match": "*", "Prefer": "wait=1", "Idempotency-Key": "one", "Last-Event-ID": "1.1"}},
    {"query": "wait=1&after=1&limit=1"},
    {"query": "wait=x&after=x"},
    {"body": b"{}"},
    {"body": b'{"reason":"x"}'},
    {"body": b"[]"},
    {"body": b"x"},
    {"body": b"x", "headers": {"Content-Type": "text/plain"}},
]
ONCE = {"name": "tests.api.jobs.once", "args": [1]}


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    settings.ASYNCJOBS = {"API": {"LONGEST_WAIT": 0.01}}
    with memory_jobs() as engine:
        yield engine


@pytest.fixture
def ann() -> User:
    return ANN


@pytest.fixture
def bob() -> User:
    return BOB


@pytest.fixture
def anns(engine: Engine, ann: User) -> Mapping[JobStatus, Job]:
    """Jobs of Ann's, as they may stand."""
    completed, failed = jobs.submitted_by(ann, jobs.echo, "https://example.com/"), jobs.submitted_by(ann, jobs.fail)
    run_jobs()
    canceled, running = jobs.submitted_by(ann, jobs.add, 1), jobs.submitted_by(ann, jobs.add, 1)
    engine.cancel(canceled.id)
    engine.store.claim(["default"], worker="w", limit=1, lease=60_000)
    made = {
        JobStatus.COMPLETED: completed,
        JobStatus.FAILED: failed,
        JobStatus.CANCELED: canceled,
        JobStatus.IN_PROGRESS: running,
        JobStatus.QUEUED: jobs.submitted_by(ann, jobs.add, 1),
        JobStatus.SCHEDULED: jobs.submitted_by(ann, jobs.add.using(delay=60), 1),
    }
    assert {status: engine.get(job.id).status for status, job in made.items()} == {status: status for status in made}
    return made


def stored(engine: Engine) -> list[Any]:
    """All that is kept, journals too."""
    kept = engine.find(Query(limit=1_000)).jobs
    return [(job, [engine.store.journal(job.id, kind) for kind in JOURNAL_LIMITS]) for job in kept]


def without_id(answer: Answer, job_id: str) -> tuple[int, dict[str, str], bytes]:
    return answer.status, dict(answer.headers), answer.body.replace(job_id.encode(), b"ID")


@pytest.mark.parametrize("part", PARTS)
def test_a_job_of_another_is_as_one_that_never_was(
    engine: Engine, server: Server, anns: Mapping[JobStatus, Job], part: str
) -> None:
    before = stored(engine)
    never = str(uuid4())
    for method, way, job in product(METHODS, WAYS, anns.values()):
        foreign, unknown = (
            server.send(Sent(**{"method": method, "path": f"{URL}{job_id}/{part}", "user": BOB, **way}))
            for job_id in (job.id, never)
        )
        assert without_id(foreign, job.id) == without_id(unknown, never)
        if method in GOOD[part] and "body" not in way:
            assert foreign.status == 404
        assert foreign.status in (400, 404, 405, 415, 422)
    assert stored(engine) == before


def test_staff_without_the_permission_see_no_more_than_others(
    client_of: ClientOf, engine: Engine, anns: Mapping[JobStatus, Job], staff: User
) -> None:
    client = client_of(staff)
    before = stored(engine)
    for part, job in product(PARTS, anns.values()):
        for method in GOOD[part]:
            assert client.generic(method, f"{URL}{job.id}/{part}").status_code == 404
    assert stored(engine) == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("permission", "method", "part", "status"),
    [
        ("cancel_job", "POST", "cancel/", JobStatus.QUEUED),
        ("retry_job", "POST", "retry/", JobStatus.FAILED),
        ("delete_job", "DELETE", "", JobStatus.QUEUED),
    ],
)
def test_staff_act_on_jobs_of_others_with_the_permission_to(
    client_of: ClientOf,
    staff_with: StaffWith,
    engine: Engine,
    anns: Mapping[JobStatus, Job],
    permission: str,
    method: str,
    part: str,
    status: JobStatus,
) -> None:
    url = f"{URL}{anns[status].id}/{part}"
    others = {"cancel_job", "retry_job", "delete_job", "pause_queue"} - {permission}
    before = stored(engine)
    assert client_of(staff_with("view_dashboard", *others)).generic(method, url).status_code == 403
    assert client_of(staff_with(permission)).generic(method, url).status_code == 404
    retired = staff_with("view_dashboard", permission, username="retired", is_active=False)
    assert client_of(retired).generic(method, url).status_code == 404
    assert stored(engine) == before
    assert client_of(staff_with("view_dashboard", permission)).generic(method, url).status_code in (200, 202, 204)
    assert stored(engine) != before


def test_nobody_known_learns_nothing(client_of: ClientOf, engine: Engine, anns: Mapping[JobStatus, Job]) -> None:
    client = client_of()
    for part, method, job in product(PARTS, METHODS, [*anns.values(), Job(id=str(uuid4()), name="x")]):
        response = client.generic(method, f"{URL}{job.id}/{part}")
        assert response.status_code == 403  # sessions have no challenge
        assert job.id not in response.headers.values()


def test_lists_hold_nothing_of_others(
    client_of: ClientOf, engine: Engine, ann: User, bob: User, anns: Mapping[JobStatus, Job]
) -> None:
    cursor = client_of(ann).get(URL, {"limit": 1}).json()["next"]
    client = client_of(bob)
    assert client.get(cursor).json() == {"jobs": [], "next": None}
    queries: list[dict[str, Any]] = [{}, {"name": "tests.api.jobs.add"}, {"queue": "default"}, {"owner": "1002"}]
    for query in [*queries, *({"status": status.name.lower()} for status in JobStatus)]:
        assert client.get(URL, query).json() == {"jobs": [], "next": None}
    answers = [client.get(URL, {"owner": owner}) for owner in ("1001", "99", "", "null", "None", "*")]
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.content for answer in answers}) == 1


def test_it_is_known_to_the_owner_alone_that_a_job_was_there(
    engine: Engine, server: Server, anns: Mapping[JobStatus, Job]
) -> None:
    def asked(user: User, method: str, job_id: str, part: str = "") -> Answer:
        return server.send(Sent(method, f"{URL}{job_id}/{part}", user=user))

    gone, never = anns[JobStatus.QUEUED].id, str(uuid4())
    assert asked(ANN, "DELETE", gone).status == 204
    for part in PARTS:
        for method in GOOD[part]:
            assert asked(ANN, method, gone, part).status == 410
            assert asked(BOB, method, gone, part).status == 404
            foreign, unknown = (without_id(asked(BOB, method, job_id, part), job_id) for job_id in (gone, never))
            assert foreign == unknown


def test_a_key_of_another_is_a_key_of_ones_own(client_of: ClientOf, engine: Engine, ann: User, bob: User) -> None:
    body = {"name": "tests.api.jobs.add", "args": [1], "unique_key": "one"}
    headers = {"Idempotency-Key": "one"}
    answers = [client_of(user).post(URL, body, headers=headers) for user in (ann, bob, ann, bob)]
    assert [answer.status_code for answer in answers] == [202] * 4
    assert [answer.headers.get("Idempotent-Replayed") for answer in answers] == [None, None, "true", "true"]
    first, second, *again = [answer.json()["id"] for answer in answers]
    assert again == [first, second]
    assert {job.owner for job in engine.find(Query()).jobs} == {"1001", "1002"}


def test_no_pair_of_user_and_key_is_another_pair(client_of: ClientOf, engine: Engine) -> None:
    """Keys of users may be texts of any kind."""
    body = {"name": "tests.api.jobs.add", "args": [1]}
    pairs = [("a", "b:c"), ("a:b", "c"), ("a:b:c", " "), ("None", "x")]
    for pk, key in pairs:
        assert client_of(User(pk=pk)).post(URL, {**body, "unique_key": key}).status_code == 202
    assert len(engine.find(Query()).jobs) == len(pairs)


def test_a_retry_of_another_is_not_told_again(client_of: ClientOf, engine: Engine, ann: User, bob: User) -> None:
    job = jobs.submitted_by(ann, jobs.fail)
    run_jobs()
    url, headers = f"{URL}{job.id}/retry/", {"Idempotency-Key": "one"}
    assert client_of(ann).post(url, headers=headers).status_code == 202
    assert client_of(bob).post(url, headers=headers).status_code == 404
    assert client_of(ann).post(url, headers=headers).headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("path", [URL, URL + "batch/"])
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "one"}])
def test_a_twin_of_another_is_not_shown(
    client_of: ClientOf, engine: Engine, ann: User, bob: User, path: str, headers: dict[str, str]
) -> None:
    twin = client_of(ann).post(URL, ONCE).json()["id"]
    before = stored(engine)
    body = ONCE if path == URL else {"jobs": [{"name": "tests.api.jobs.add", "args": [1]}, ONCE]}
    for _ in range(2):
        refused = client_of(bob).post(path, body, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (409, "duplicate")
        assert twin not in str(refused.headers) + refused.content.decode()
    assert stored(engine) == before
    run_jobs()
    accepted = client_of(bob).post(path, body, headers=headers)
    assert accepted.status_code == 202
    assert "Idempotent-Replayed" not in accepted.headers


def test_a_twin_of_ones_own_is_answered(client_of: ClientOf, engine: Engine, ann: User) -> None:
    first, second = (client_of(ann).post(URL, ONCE, headers={"Idempotency-Key": key}) for key in "ab")
    assert second.json() == first.json()
    assert second.headers["Location"] == first.headers["Location"]
    again = client_of(ann).post(URL, ONCE, headers={"Idempotency-Key": "b"})
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")


def test_a_job_makes_way_for_one_of_its_owner_alone(client_of: ClientOf, engine: Engine, ann: User, bob: User) -> None:
    latest = {"name": "tests.api.jobs.latest", "args": [1]}
    first = client_of(ann).post(URL, latest).json()["id"]
    refused = client_of(bob).post(URL, latest)
    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate")
    assert first not in refused.content.decode()
    assert engine.get(first).status == JobStatus.QUEUED
    second = client_of(ann).post(URL, latest).json()["id"]
    assert engine.get(first).status == JobStatus.CANCELED
    engine.submit_many(jobs.latest.jobs_of([jobs.latest.call(1)]), on_conflict="replace", on_commit=False)
    assert engine.get(second).status == JobStatus.CANCELED


def test_a_twin_that_makes_no_way_is_named_to_whoever_sees_it(
    client_of: ClientOf, engine: Engine, ann: User, bob: User
) -> None:
    latest = {"name": "tests.api.jobs.latest", "args": [1]}
    waiting = client_of(ann).post(URL, latest).json()["id"]
    of_staff = client_of(BOSS).post(URL, latest)
    assert (of_staff.status_code, of_staff.json()["job"]) == (409, f"http://testserver{URL}{waiting}/")
    engine.store.claim(["default"], worker="w", limit=1, lease=60_000)
    before = stored(engine)
    for user in (ann, BOSS):
        refused = client_of(user).post(URL, latest, headers={"Idempotency-Key": "one"})
        assert (refused.status_code, refused.json()["job"]) == (409, f"http://testserver{URL}{waiting}/")
    assert "job" not in client_of(bob).post(URL, latest).json()
    assert stored(engine) == before


def test_an_answer_repeated_after_its_job_is_gone_names_no_job_that_never_was(
    client_of: ClientOf, engine: Engine, ann: User
) -> None:
    """Of a twin that was answered in place of a job, and removed since."""
    client = client_of(ann)
    twin = client.post(URL, ONCE).json()["id"]
    client.post(URL, ONCE, headers={"Idempotency-Key": "one"})
    client.delete(f"{URL}{twin}/")
    again = client.post(URL, ONCE, headers={"Idempotency-Key": "one"})
    assert (again.status_code, again.json()["id"]) == (202, twin)
    assert client.get(again.headers["Location"]).status_code == 410


class Nameless:
    """A client that a site knows, and that has no account."""

    is_authenticated = True
    is_active = True


class Keyless(Nameless):
    pk = None


@pytest.mark.parametrize("user", [Nameless(), Keyless()])
def test_clients_without_an_account_have_no_jobs(
    client_of: ClientOf, engine: Engine, anns: Mapping[JobStatus, Job], user: Any
) -> None:
    jobs.submitted_by(None, jobs.add, 1)
    before = stored(engine)
    client = client_of(user)
    assert client.get(URL).status_code == 403
    assert client.post(URL, ONCE).status_code == 403
    for _, job_id, part in ((job, job.id, part) for job, _ in before for part in PARTS):
        assert client.get(f"{URL}{job_id}/{part}").status_code == 403
    assert stored(engine) == before


def test_a_user_of_another_kind_has_nothing_of_a_user_with_the_same_key(
    client_of: ClientOf, engine: Engine, ann: User, anns: Mapping[JobStatus, Job]
) -> None:
    class Machine(Nameless):
        pk = ann.pk

    before = stored(engine)
    assert not sees(Machine(), str(ann.pk))
    client = client_of(cast(User, Machine()))
    refused = [client.get(URL), client.post(URL, ONCE)]
    for _, job_id, part in ((job, job.id, part) for job, _ in before for part in PARTS):
        refused += [client.get(f"{URL}{job_id}/{part}"), client.post(f"{URL}{job_id}/{part}")]
    assert {answer.status_code for answer in refused} == {403}
    assert stored(engine) == before


def test_a_user_is_the_same_by_way_of_a_lazy_object_or_a_proxy(ann: User) -> None:
    with isolate_apps("django.contrib.auth"):

        class Customer(User):
            class Meta:
                app_label = "shop"
                proxy = True

    assert owner_of(SimpleLazyObject(lambda: ann)) == owner_of(Customer(pk=ann.pk)) == str(ann.pk)
