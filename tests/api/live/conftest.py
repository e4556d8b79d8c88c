"""The site that is served, on every kind of store that processes can share, and its clients."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from pytest_django import DjangoDbBlocker

from asyncjobs.conf import get_conf
from asyncjobs.engine import Engine
from tests.api.live.served import PASSWORD, USER, Api, Gate, Served
from tests.backends import Backend
from tests.worker.conftest import SHARED_KINDS, site_with_users

LIMITS = {"LONGEST_WAIT": 2, "MOST_WAITING": 8, "MOST_STREAMS": 12}
OTHER = "bob"


@pytest.fixture(scope="package", params=SHARED_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="package")
def served(
    kind: str,
    backends: Callable[[str], Backend],
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Served]:
    """The site with two users."""
    password = MD5PasswordHasher().encode(PASSWORD, "salt")
    users = [User(username=name, password=password) for name in (USER, OTHER)]
    directory = tmp_path_factory.mktemp(kind)
    made = site_with_users(kind, backends, directory, *users, module="tests.api.live.site", API=LIMITS)
    with django_db_blocker.unblock(), made as (site, backend):
        yield Served(site, Engine(backend.open(), get_conf()))


@pytest.fixture(params=["wsgi", "asgi"])
def api(request: pytest.FixtureRequest, served: Served) -> Iterator[Api]:
    """A client of each sort of server in turn."""
    with Api(served.url(request.param)) as api:
        yield api


@pytest.fixture
def wsgi(served: Served) -> Iterator[Api]:
    with Api(served.url("wsgi")) as api:
        yield api


@pytest.fixture
def asgi(served: Served) -> Iterator[Api]:
    with Api(served.url("asgi")) as api:
        yield api


@pytest.fixture
def gate(served: Served) -> Iterator[Gate]:
    """It is opened when the test is over, so that no handler waits on."""
    gate = served.gate()
    yield gate
    gate.open(100)
