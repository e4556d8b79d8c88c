"""A site with a dashboard on kinds of stores, with a worker, and those who look at it through a browser."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from pytest_django import DjangoDbBlocker

from asyncjobs.conf import get_conf
from asyncjobs.engine import Engine
from tests.api.live.served import Gate, gunicorn
from tests.backends import Backend
from tests.clock import Clock
from tests.dashboard.browser.visitor import Visitor, chromium, user, visitor
from tests.dashboard.shop import Shop, shop
from tests.worker.conftest import of_kinds, site_with_users
from tests.workers import Site

Visit = Callable[..., Visitor]

on_one_store = pytest.mark.parametrize("kind", ["valkey"], indirect=True)


class Served:
    """The site on one kind of store, and its jobs as seen from here."""

    def __init__(self, site: Site, backend: Backend) -> None:
        self.site = site
        self.backend = backend
        self.engine = Engine(backend.open(), get_conf())
        server = gunicorn(site)
        site.start("--processes=1", "--threads=4", "--queues=default,asyncjobs")
        server.wait_until_it_listens()
        self.url = server.url

    def stock(self, *fills: Callable[[Shop], object]) -> None:
        """Puts the jobs of a shop in the place of what there was."""
        self.backend.clear()
        self.add(*fills)

    def add(self, *fills: Callable[[Shop], object]) -> None:
        """Adds jobs of a shop, as of now."""
        clock = Clock(self.engine.store.now())
        with shop(self.backend.open(clock=clock), clock) as filled:
            for fill in fills:
                fill(filled)


@pytest.fixture(scope="package", params=of_kinds("valkey", "sqlite"))
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
    made = site_with_users(kind, backends, tmp_path_factory.mktemp(kind), user(), module="tests.dashboard.site")
    with django_db_blocker.unblock(), made as (site, backend):
        yield Served(site, backend)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def session(served: Served, browser: Browser) -> Any:
    """What a browser keeps of a login."""
    with visitor(browser, served.url) as visited:
        visited.go()
        visited.log_in()
        return visited.context.storage_state()


@pytest.fixture
def visit(served: Served, browser: Browser, session: Any) -> Iterator[Visit]:
    """Makes visitors who are logged in, unless told otherwise. Nothing goes wrong in any page of theirs."""
    visitors: list[Visitor] = []
    with ExitStack() as cleanup:

        def visit(**options: Any) -> Visitor:
            made = cleanup.enter_context(visitor(browser, served.url, **{"storage_state": session, **options}))
            visitors.append(made)
            return made

        yield visit
    assert [trouble for made in visitors for trouble in made.troubles] == []


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """A file by whose length the test lets a handler go on. It is opened when the test is over."""
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.open(100)
