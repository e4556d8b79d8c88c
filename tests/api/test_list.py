"""Lists of jobs: a page at a time, filtered, and everybody their own."""

from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from asyncjobs import Engine
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.conftest import ClientOf, JsonClient, StaffWith

pytestmark = pytest.mark.usefixtures("unlimited")
URL = "/api/jobs/"


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def ids(client: JsonClient, query: str = "") -> list[str]:
    return [body["id"] for body in client.get(f"{URL}?{query}").json()["jobs"]]


def test_everybody_sees_their_own_jobs(client: JsonClient, client_of: ClientOf, ann: User, bob: User) -> None:
    anns, bobs, _ = (jobs.submitted_by(user, jobs.add, 1) for user in (ann, bob, None))
    assert (ids(client), ids(client_of(bob))) == ([anns.id], [bobs.id])
    assert ids(client, f"owner={ann.pk}") == [anns.id]
    assert client.get(URL, {"owner": str(bob.pk)}).status_code == 403


def test_staff_with_the_permission_see_all(
    client_of: ClientOf, staff_with: StaffWith, staff: User, ann: User, engine: Engine
) -> None:
    mine, nobodys = (jobs.submitted_by(user, jobs.add, 1) for user in (ann, None))
    all_seeing = client_of(staff_with("view_dashboard"))
    assert set(ids(all_seeing)) == {mine.id, nobodys.id}
    assert ids(all_seeing, f"owner={ann.pk}") == [mine.id]
    assert ids(client_of(staff)) == []


def test_pages_lead_to_one_another(client: JsonClient, engine: Engine, ann: User) -> None:
    stored = [jobs.submitted_by(ann, jobs.add.using(tags=["a&b"]), number) for number in range(5)]
    seen: list[str] = []
    url: str | None = f"{URL}?limit=2&tag=a%26b"
    while url:
        response = client.get(url)
        seen += [body["id"] for body in response.json()["jobs"]]
        url = response.json()["next"]
        assert response.headers.get("Link") == (url and f'<{url}>; rel="next"')
    assert sorted(seen) == sorted(job.id for job in stored)


def test_filters_choose(client: JsonClient, engine: Engine, ann: User) -> None:
    add = jobs.submitted_by(ann, jobs.add.using(tags=["red"]), 1)
    run_jobs()
    talk = jobs.submitted_by(ann, jobs.talk.using(delay=60), 1)
    for query, expected in {
        "status=completed": [add.id],
        "status=scheduled": [talk.id],
        "name=tests.api.jobs.add": [add.id],
        "queue=slow": [talk.id],
        "tag=red": [add.id],
        "tag=blue": [],
        f"created_from={quote('2020-01-01T00:00:00+00:00')}": [talk.id, add.id],
        "created_to=2020-01-01T00:00:00Z": [],
        "status=completed&queue=slow": [],
    }.items():
        assert sorted(ids(client, query)) == sorted(expected), query


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("color=red", "unknown-filter"),
        ("format=api", "unknown-filter"),
        ("status=done", "malformed"),
        ("status=100", "malformed"),
        ("status=queued&status=failed", "malformed"),
        ("limit=0", "malformed"),
        ("limit=201", "malformed"),
        ("limit=-1", "malformed"),
        ("limit=1e2", "malformed"),
        ("cursor=x", "malformed"),
        ("created_from=2020-01-01", "malformed"),
        ("created_from=yesterday", "malformed"),
        ("created_to=0001-01-01T00:00:00%2B23:59", "malformed"),
        ("queue=%00", "malformed"),
        ("tag=" + "x" * 1_001, "malformed"),
    ],
)
def test_a_filter_that_is_none_is_refused(client: JsonClient, query: str, code: str) -> None:
    response = client.get(f"{URL}?{query}")
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_a_list_shows_no_results(client: JsonClient, ann: User) -> None:
    jobs.submitted_by(ann, jobs.echo, "secret")
    run_jobs()
    assert "secret" not in client.get(URL).content.decode()
