"""What holds for every view of the API: nobody but the client keeps its answers."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from rest_framework.authentication import BaseAuthentication

from asyncjobs import Engine
from asyncjobs.testing import run_jobs
from tests.api import jobs
from tests.api.conftest import ClientOf

pytestmark = pytest.mark.usefixtures("unlimited")
URL = "/api/jobs/"
STAFFS = ("queues/", "workers/", "handlers/", f"handlers/{jobs.add.name}/")


class ByHeader(BaseAuthentication):
    """Knows clients by a header of the site's own, which no cache has heard of."""

    def authenticate(self, request: Any) -> tuple[User, None]:
        return User.objects.get(username=request.headers["X-Shop-Client"]), None


def directives(answer: Any) -> set[str]:
    return {word.strip() for word in answer["Cache-Control"].split(",")}


@pytest.mark.parametrize("part", ["", "{id}/", "{id}/log/", "{id}/result/", *STAFFS])
def test_answers_are_for_who_asked_and_asked_for_again(
    client_of: ClientOf, engine: Engine, boss: User, part: str
) -> None:
    job = jobs.submitted_by(boss, jobs.add, 1)
    run_jobs()
    answer = client_of(boss).get(URL + part.format(id=job.id))
    assert answer.status_code == 200
    assert directives(answer) == {"private", "no-cache"}
    assert {"Authorization", "Cookie"} <= {name.strip() for name in answer["Vary"].split(",")}


def test_a_job_that_was_accepted_is_told_to_one_client_alone(client_of: ClientOf, engine: Engine, boss: User) -> None:
    answer = client_of(boss).post(URL, {"name": jobs.add.name, "args": [1]})
    assert (answer.status_code, directives(answer)) == (202, {"private", "no-cache"})


def test_problems_are_kept_nowhere(client_of: ClientOf, engine: Engine, ann: User) -> None:
    unknown = f"{URL}00000000-0000-4000-8000-000000000000/"
    for client, path in ((client_of(), URL), (client_of(ann), unknown), (client_of(ann), f"{URL}?color=red")):
        answer = client.get(path)
        assert answer.status_code >= 400
        assert directives(answer) == {"no-store"}


@pytest.mark.parametrize("part", ["", "{id}/log/", "{id}/"])
def test_a_site_that_caches_its_pages_shows_nobody_what_is_anothers(
    engine: Engine, ann: User, bob: User, settings: Settings, part: str
) -> None:
    settings.MIDDLEWARE = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *settings.MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
    settings.ASYNCJOBS = {"STORE": "memory", "API": {"AUTHENTICATION": [f"{__name__}.ByHeader"]}}
    url = URL + part.format(id=jobs.submitted_by(ann, jobs.add, 1).id)
    client = Client()
    first = client.get(url, headers={"X-Shop-Client": "ann"})
    assert first.status_code == 200
    assert client.get(url, headers={"X-Shop-Client": "bob"}).content != first.content
