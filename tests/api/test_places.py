"""The API can be below any prefix and namespace, several times, too: links lead to where the request went."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.urls import include, path, re_path
from pytest_django import Settings

from asyncjobs import Engine
from asyncjobs.testing import run_jobs
from tests.api.conftest import ClientOf
from tests.api.endpoints import Mirror, VersionedByNamespace

pytestmark = [pytest.mark.urls(__name__), pytest.mark.django_db, pytest.mark.usefixtures("unlimited")]
ADD = {"name": "tests.api.jobs.add", "args": [1]}


def version(name: str) -> Any:
    own: list[Any] = [path("jobs/", include("asyncjobs.api.urls")), path("report/", VersionedByNamespace.as_view())]
    return path(f"{name}/", include((own, name), namespace=name))


urlpatterns = [
    version("v1"),
    version("v2"),
    path("of/<slug:tenant>/<int:year>/jobs/", include("asyncjobs.api.urls", namespace="tenants"), {"extra": 1}),
    path("of/<slug:tenant>/<int:year>/report/", Mirror.as_view()),
    re_path(r"^by/(?P<person>\w+)/jobs/", include("asyncjobs.api.urls", namespace="by")),
    path("report/", Mirror.as_view()),
]


class TenantsOnly:
    """A URLconf in which an endpoint is where no API is."""

    urlpatterns = (urlpatterns[2], urlpatterns[5])


def followed(client: Any, body: dict[str, Any], prefix: str) -> None:
    """Follows every link of a job."""
    assert body["links"]["self"] == f"http://testserver{prefix}{body['id']}/"
    assert client.post(body["links"]["cancel"]).status_code == 200
    assert client.post(body["links"]["retry"]).status_code == 202
    run_jobs()
    for name in ("self", "result", "log"):
        assert client.get(body["links"][name]).status_code == 200
    assert client.get(body["links"]["self"]).json()["links"] == body["links"]


@pytest.mark.parametrize("prefix", ["/v1/jobs/", "/v2/jobs/", "/of/acme/2026/jobs/", "/by/ann/jobs/"])
def test_links_stay_where_the_request_went(client_of: ClientOf, boss: User, engine: Engine, prefix: str) -> None:
    client = client_of(boss)
    accepted = client.post(prefix, ADD)
    assert accepted.status_code == 202
    assert accepted.headers["Location"] == accepted.json()["links"]["self"]
    followed(client, accepted.json(), prefix)
    [listed] = client.get(prefix).json()["jobs"]
    assert listed["links"] == accepted.json()["links"]
    handlers = client.get(f"{prefix}handlers/").json()["handlers"]
    for handler in handlers[:3]:
        assert handler["links"]["self"] == f"http://testserver{prefix}handlers/{handler['name']}/"
        assert client.get(handler["links"]["self"]).status_code == 200
    assert client.post(f"{prefix}queues/default/pause/").status_code == 200


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("/v1/report/", "/v1/jobs/"),
        ("/v2/report/", "/v2/jobs/"),
        ("/of/acme/2026/report/", "/of/acme/2026/jobs/"),
        ("/report/", "/v1/jobs/"),
    ],
)
def test_the_job_of_an_endpoint_is_found_at_the_nearest_place(
    client_of: ClientOf, boss: User, engine: Engine, url: str, prefix: str
) -> None:
    client = client_of(boss)
    accepted = client.post(url)
    assert accepted.status_code == 202
    followed(client, accepted.json(), prefix)


def test_another_urlconf_has_other_places(client_of: ClientOf, boss: User, engine: Engine, settings: Settings) -> None:
    assert client_of(boss).post("/report/").json()["links"]["self"].startswith("http://testserver/v1/jobs/")
    settings.ROOT_URLCONF = "tests.api.endpoints"
    assert client_of(boss).post("/mirror/").json()["links"]["self"].startswith("http://testserver/api/jobs/")


def test_where_no_place_can_be_told_the_site_is_told(
    client_of: ClientOf, boss: User, engine: Engine, settings: Settings
) -> None:
    settings.ROOT_URLCONF = TenantsOnly
    with pytest.raises(ImproperlyConfigured, match=r'include\("asyncjobs.api.urls"\)'):
        client_of(boss).post("/report/")
