"""What can be made an asynchronous endpoint, and what cannot."""

from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.views import View
from rest_framework.decorators import api_view
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from asyncjobs import Engine
from asyncjobs.api import async_endpoint
from asyncjobs.errors import DuplicateHandler, InvalidJob
from asyncjobs.registry import lookup
from asyncjobs.testing import run_jobs
from tests.api import endpoints
from tests.api.conftest import ClientOf, JsonClient

pytestmark = [pytest.mark.urls("tests.api.endpoints"), pytest.mark.django_db]


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


@pytest.mark.parametrize(
    ("method", "url", "name", "result"),
    [
        ("post", "/greet/Ada/", "tests.api.endpoints.greet", "Hello Ada!"),
        ("post", "/plain/3/", "tests.api.endpoints.plain", {"method": "POST", "number": 3}),
        ("put", "/plain/3/", "tests.api.endpoints.plain", {"method": "PUT", "number": 3}),
        ("post", "/ground/", "tests.api.endpoints.Shop", {"floor": 0}),
        ("post", "/first/", "shop.first", {"floor": 1}),
        ("post", "/louder/", "tests.api.endpoints.Louder", {"louder": {"a": 1}}),
    ],
)
def test_every_form_of_a_view_runs_under_its_name(
    client: JsonClient, engine: Engine, method: str, url: str, name: str, result: Any
) -> None:
    assert getattr(client, method)(url, {"a": 1}).json()["name"] == name
    [job] = run_jobs()
    assert engine.result(job.id) == result


def test_a_view_stays_what_it_is(client: JsonClient) -> None:
    assert issubclass(endpoints.Mirror, APIView)
    assert endpoints.Mirror.__qualname__ == "Mirror"
    assert endpoints.Mirror.__doc__ == "Answers what it sees."
    view: Any = endpoints.greet
    assert (view.cls.__name__, view.cls.__doc__) == ("greet", "Greets.")
    assert view.cls.permission_classes == [IsAuthenticated]
    assert client.get("/plain/1/").status_code == 405
    assert client.patch("/plain/1/").status_code == 405
    assert client.post("/reader/").status_code == 405


def test_options_are_those_of_a_handler(client: JsonClient) -> None:
    body = client.post("/plain/1/").json()
    assert (body["queue"], body["priority"], body["max_retries"], body["tags"]) == ("slow", 7, 1, ["plain"])


def test_a_job_under_an_earlier_name_is_still_run(client: JsonClient, engine: Engine) -> None:
    @async_endpoint(name="tests.renamed", aliases=["tests.api.endpoints.before"])
    def renamed(request: Any) -> Response:
        return Response("done")

    job = lookup("tests.api.endpoints.before")
    assert job.name == "tests.renamed"


def as_function(request: Any) -> Response:
    return Response()


async def as_coroutine(request: Any) -> Response:
    return Response()


class Async(APIView):
    async def post(self, request: Any) -> Response:  # type: ignore[misc, unused-ignore]
        return Response()


class Actions(ViewSet):
    def create(self, request: Any) -> Response:
        return Response()


class Other(View):
    def post(self, request: Any) -> HttpResponse:
        return HttpResponse()


class ReadOnly(APIView):
    def get(self, request: Any) -> Response:
        return Response()


class Optional(APIView):
    floor = 0

    def post(self, request: Any) -> Response:
        return Response()


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (Async, "is async"),
        (as_coroutine, "is async"),
        (api_view(["POST"])(cast(Any, as_coroutine)), "is async"),
        (Actions, "is a view set"),
        (Actions.as_view({"post": "create"}), "is a view set"),
        (Other, "is no view of the REST framework"),
        (Other.as_view(), "is no view of the REST framework"),
        (ReadOnly, "has no method POST, PUT, PATCH, DELETE"),
        (Optional.as_view(floor=1), "give its endpoint a name"),
        (7, "is no view"),
    ],
)
def test_what_cannot_be_an_endpoint_says_why(view: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        async_endpoint(view)


def test_a_view_that_others_have_decorated_is_refused_and_not_laid_bare() -> None:
    from django.views.decorators.cache import never_cache

    with pytest.raises(TypeError, match="below other decorators"):
        async_endpoint(never_cache(Optional.as_view()))


def test_options_at_the_url_are_refused_because_a_worker_would_not_know_them() -> None:
    with pytest.raises(TypeError, match="takes no options"):
        endpoints.Mirror.as_view(permission_classes=())


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"methods": ["GET"]}, TypeError, "'GET' is not asynchronous anywhere"),
        ({"methods": ["DELETE"]}, TypeError, "Optional has no method DELETE"),
        ({"headers": ["Authorization"]}, InvalidJob, "may hold a secret"),
        ({"headers": ["X-Api-Key"]}, InvalidJob, "may hold a secret"),
        ({"headers": ["a b"]}, InvalidJob, "is no name of a header"),
        ({"storage": "nowhere"}, ImproperlyConfigured, "STORAGES has no 'nowhere'"),
        ({"queue": "no queue"}, InvalidJob, "a queue name is"),
        ({"unique": True}, InvalidJob, "Idempotency-Key"),
        ({"name": ""}, InvalidJob, "a job name is"),
        ({"sizes": 3}, TypeError, "unknown option"),
    ],
)
def test_options_that_cannot_be_say_why(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        async_endpoint(**options)(Optional)


def test_two_views_cannot_have_one_name() -> None:
    async_endpoint(name="tests.taken")(Optional.as_view())
    async_endpoint(name="tests.taken")(Optional.as_view())  # as when a module is imported again
    for another in (Optional.as_view(floor=1), ReadOnly, as_function):
        with pytest.raises((DuplicateHandler, TypeError)):
            async_endpoint(name="tests.taken")(another)


def test_an_endpoint_can_be_made_again_on_other_terms() -> None:
    class Lower(endpoints.Mirror):
        pass

    made = async_endpoint(queue="low")(Lower)
    assert made is Lower
    assert lookup(f"{__name__}.{Lower.__qualname__}").options.queue == "low"
    assert lookup("tests.api.endpoints.Mirror").options.queue == "default"


def test_the_package_is_imported_without_its_views() -> None:
    import asyncjobs.api

    assert "async_endpoint" in dir(asyncjobs.api)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        asyncjobs.api.nothing  # noqa: B018 - looking is what raises
