"""Clients of the API, and who they are. Jobs are kept in memory, unless a test says otherwise."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from pytest_django import Settings
from rest_framework.test import APIClient

from asyncjobs import Engine
from asyncjobs.testing import memory_jobs
from tests.api import jobs as jobs
from tests.api.hooks.jobs import CERTIFICATE
from tests.api.receiver import HOST, Receiver, make_certificate, receiving
from tests.api.wire import Server, serving

ClientOf = Callable[..., "JsonClient"]
StaffWith = Callable[..., User]


class JsonClient(APIClient):
    """Sends JSON, unless told otherwise."""

    default_format = "json"


@pytest.fixture
def engine() -> Iterator[Engine]:
    """The engine that the views use: an empty one, in memory."""
    with memory_jobs() as engine:
        yield engine


@pytest.fixture
def server() -> Iterator[Server]:
    """What raw requests are sent to."""
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def nobody_throttled() -> Iterator[None]:
    """No test starts, or leaves, with requests counted."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def unlimited(settings: Settings) -> None:
    """As many requests as a test likes."""
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": None, "asyncjobs-poll": None}}


@pytest.fixture
def client_of() -> ClientOf:
    """Makes a client, of a server with threads, that is this user, or nobody; headers go with every request."""

    def client(user: User | None = None, **headers: str) -> JsonClient:
        made = JsonClient(headers=headers or None)
        made.defaults["wsgi.multithread"] = True  # type: ignore[assignment]  # not all of an environ is text
        if user is not None:
            made.force_authenticate(user)
        return made

    return client


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob")


@pytest.fixture
def staff(db: None) -> User:
    """Staff without any permission."""
    return User.objects.create_user("staff", is_staff=True)


@pytest.fixture
def boss(db: None) -> User:
    return User.objects.create_superuser("boss")


@pytest.fixture
def staff_with(db: None) -> StaffWith:
    """Makes staff with these permissions of ours: `staff_with("view_dashboard")`."""

    def made(*codenames: str, **fields: Any) -> User:
        usual: dict[str, Any] = {"username": "-".join(("staff", *codenames)), "is_staff": True}
        user = User.objects.create_user(**usual | fields)
        user.user_permissions.set(map(_permission, codenames))
        return user

    return made


def _permission(codename: str) -> Permission:
    return Permission.objects.get(content_type__app_label="asyncjobs", codename=codename)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("certificates"), HOST)


@pytest.fixture
def receiver(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver of webhooks, on loopback."""
    monkeypatch.setenv(CERTIFICATE, str(certificate))
    with receiving(certificate) as receiver:
        yield receiver
