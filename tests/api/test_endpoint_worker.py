"""An asynchronous endpoint from end to end: what a client sent is seen by a worker in a process of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoDbBlocker

from asyncjobs.domain.job import JobStatus
from tests.api.conftest import ClientOf
from tests.backends import Backend
from tests.worker.conftest import World, database_of, open_world

pytestmark = pytest.mark.urls("tests.api.endpoints")
USERS = "sqlite"  # the database of the site's users, wherever its jobs are


@pytest.fixture(params=["valkey", "sqlite"])
def world(
    request: pytest.FixtureRequest,
    backends: Callable[[str], Backend],
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
) -> Iterator[World]:
    """A site with endpoints."""
    with django_db_blocker.unblock():
        backends(USERS)
    for world in open_world(request.param, backends, django_db_blocker, tmp_path):
        world.site.environment["WORKER_TEST_URLS"] = "tests.api.endpoints"
        world.site.use_database(database_of(USERS))
        yield world
        User.objects.using(USERS).all().delete()


def test_a_worker_sees_the_request_and_the_user(world: World, client_of: ClientOf) -> None:
    user = User.objects.db_manager(USERS).create_user("ann")
    headers = {"X-Tenant": "acme", "Cookie": "canary", "Authorization": "canary"}
    url = "/mirror/5/00000000-0000-0000-0000-000000000005/a-b/c/d?x=1&x=2"
    accepted = client_of(user).post(url, '{"a": "é"}', content_type="application/json", headers=headers)
    assert accepted.status_code == 202
    world.site.start("--processes=1", "--burst", "--skip-checks")
    [job] = world.ended(world.engine.get(accepted.json()["id"]), seconds=30)
    assert job.status == JobStatus.COMPLETED, job.error
    seen = world.engine.result(job.id)
    assert (seen["user"], seen["user_type"], seen["data"], seen["body"]) == (user.pk, "User", {"a": "é"}, '{"a": "é"}')
    assert (seen["method"], seen["full_path"], seen["query"]) == ("POST", url, [["x", ["1", "2"]]])
    assert "uuid=UUID('00000000-0000-0000-0000-000000000005')" in seen["route"]
    assert seen["headers"]["X-Tenant"] == "acme"
    assert "canary" not in str(seen)
