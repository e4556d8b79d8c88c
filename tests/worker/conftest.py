"""A site with workers on every kind of store that processes can share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from pytest_django import DjangoDbBlocker

from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.registry import Handler
from tests.backends import Backend, OrmBackend, RedisBackend
from tests.servers import redis_url, valkey_url
from tests.workers import Site, site, until

URLS = {"valkey": valkey_url, "redis7": redis_url}


def of_kinds(*kinds: str) -> list[Any]:
    """Kinds of stores as parameters. The fast tests start workers on one of each sort, the others on all."""
    return [kind if kind in FAST else pytest.param(kind, marks=pytest.mark.slow) for kind in kinds]


FAST = {"valkey", "sqlite"}
SHARED_KINDS = of_kinds("valkey", "redis7", "sqlite", "postgres", "mariadb")


class World:
    """A site, and its jobs as seen from here."""

    def __init__(self, site: Site, engine: Engine) -> None:
        self.site = site
        self.engine = engine
        self.store = engine.store

    def submit(self, handler: Handler[..., Any], *args: Any, **options: Any) -> Job:
        return handler.using(**options).submit(*args)

    def stored(self, job: Job) -> Job:
        return self.engine.get(job.id)

    def ended(self, *jobs: Job, seconds: float = 60.0) -> list[Job]:
        """These jobs, once all of them are finished."""

        def look() -> list[Job] | None:
            stored = [job for job in self.store.get([job.id for job in jobs]) if job is not None]
            return stored if all(job.is_terminal for job in stored) and len(stored) == len(jobs) else None

        answer: list[Job] = until(look, seconds=seconds)
        return answer

    def running(self, job: Job) -> bool:
        return self.stored(job).status == JobStatus.IN_PROGRESS and bool(self.starts(job))

    def starts(self, job: Job) -> int:
        return sum(effect.job_id == job.id for effect in self.site.effects("start"))


def database_of(alias: str) -> dict[str, Any]:
    """What another process needs to reach this test database."""
    settings = connections[alias].settings_dict
    names = ("ENGINE", "NAME", "HOST", "PORT", "USER", "PASSWORD", "OPTIONS")
    return {name: settings[name] for name in names}


@pytest.fixture(params=SHARED_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def world(
    kind: str, backends: Callable[[str], Backend], django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> Iterator[World]:
    """A site without jobs, whose workers end with the test. Afterwards every index agrees with every job."""
    yield from open_world(kind, backends, django_db_blocker, tmp_path)


def open_world(
    kind: str, backends: Callable[[str], Backend], django_db_blocker: DjangoDbBlocker, directory: Path
) -> Iterator[World]:
    with django_db_blocker.unblock():
        backend = backends(kind)
        backend.clear()
        engine = Engine(backend.open(), get_conf())
        before = exchange_engine(engine)
        with site(directory, **where(kind, backend)) as running:
            yield World(running, engine)
        exchange_engine(before)
        assert engine.check() == []


@contextmanager
def site_with_users(
    kind: str, backends: Callable[[str], Backend], directory: Path, *users: User, module: str, **settings: Any
) -> Iterator[tuple[Site, Backend]]:
    """A site without jobs, and with these users, who are gone with it. Afterwards every index agrees with every job."""
    backend = backends(kind)
    backend.clear()
    accounts = backend if isinstance(backend, OrmBackend) else backends("sqlite")
    assert isinstance(accounts, OrmBackend)
    people = User.objects.using(accounts.alias)
    people.bulk_create(users)
    options = {"database": database_of(accounts.alias), **where(kind, backend), "module": module}
    options["settings"] = {**options.get("settings", {}), **settings}
    with site(directory, **options) as running:
        yield running, backend
    assert backend.open().check() == []
    people.filter(username__in=[user.username for user in users]).delete()


def where(kind: str, backend: Backend) -> dict[str, Any]:
    """How another process finds these jobs."""
    if isinstance(backend, OrmBackend):
        return {"database": database_of(backend.alias)}
    assert isinstance(backend, RedisBackend)
    return {"redis": URLS[kind](), "settings": {"OPTIONS": {"PREFIX": backend.prefix}}}
