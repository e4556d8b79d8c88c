"""Clients of the dashboard, and who they are. Jobs are kept in memory."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from asyncjobs import Engine
from asyncjobs.testing import memory_jobs

ClientAs = Callable[[User], Client]
StaffWith = Callable[..., User]


@pytest.fixture
def engine() -> Iterator[Engine]:
    """The engine that the views use: an empty one, in memory."""
    with memory_jobs() as engine:
        yield engine


@pytest.fixture
def client_as() -> ClientAs:
    """Makes a client that is logged in as this user."""

    def client(user: User) -> Client:
        made = Client()
        made.force_login(user)
        return made

    return client


@pytest.fixture
def boss(db: None, client_as: ClientAs) -> Client:
    """A client of somebody who may do everything."""
    return client_as(User.objects.create_superuser("boss"))


@pytest.fixture
def staff_with(db: None) -> StaffWith:
    """Makes staff with these permissions of ours: `staff_with("view_dashboard")`."""

    def made(*codenames: str) -> User:
        user = User.objects.create_user("-".join(("staff", *codenames)), is_staff=True)
        permissions = Permission.objects.filter(content_type__app_label="asyncjobs", codename__in=codenames)
        assert len(permissions) == len(codenames)
        user.user_permissions.set(permissions)
        return user

    return made
