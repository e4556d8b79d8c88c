"""Pictures of the dashboard, for the documentation and for whoever changes how it looks: `make shots`."""

import argparse
import os
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import django

from tests.dashboard.pages import PAGES, PRESSED

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.backends import Backend

IMAGES: Final = Path(__file__).parents[2] / "docs/images"
DESKTOP: Final = {"viewport": {"width": 1280, "height": 800}}
PHONE: Final = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


class Look(NamedTuple):
    """How pages are looked at, and with which jobs."""

    name: str
    stock: str
    options: dict[str, Any]

    @property
    def pages(self) -> list[str]:
        """All, or without jobs those that are about no one thing."""
        return [name for name, address in PAGES.items() if self.stock != "nothing" or _needs_nothing(name, address)]


LOOKS: Final = (
    Look("desktop", "hour", DESKTOP),
    Look("dark", "hour", {**DESKTOP, "color_scheme": "dark"}),
    Look("phone", "hour", PHONE),
    Look("empty", "nothing", DESKTOP),
    Look("names", "names", DESKTOP),
)
LOOKS_BESIDE: Final = (
    Look("empty-phone", "nothing", PHONE),
    Look("names-phone", "names", PHONE),
)


def _needs_nothing(name: str, address: str) -> bool:
    return name not in PRESSED and "{" not in address


def main() -> None:
    parser = argparse.ArgumentParser(prog="make shots", description=__doc__)
    parser.add_argument("--to", type=Path, default=IMAGES, help="the directory they go to (default: docs/images)")
    parser.add_argument("--jobs", type=int, default=0, help="as many jobs besides (default: none)")
    parser.add_argument("--all", action="store_true", help="in more looks, and every page down to its end")
    parser.add_argument("--only", default="", help="a part of the name of the pictures wanted")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with ExitStack() as cleanup:
        take_all(options, cleanup)


def take_all(options: argparse.Namespace, cleanup: ExitStack) -> None:
    from tests.api.live.served import gunicorn
    from tests.backends import BACKENDS
    from tests.dashboard.browser.visitor import chromium, user
    from tests.worker.conftest import site_with_users

    backends = cache(lambda kind: BACKENDS[kind](cleanup))
    directory = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
    made = site_with_users("valkey", backends, directory, user(), module="tests.dashboard.site")
    site, backend = cleanup.enter_context(made)
    server = gunicorn(site)
    server.wait_until_it_listens()
    browser = cleanup.enter_context(chromium())
    options.to.mkdir(parents=True, exist_ok=True)
    for look in LOOKS + LOOKS_BESIDE if options.all else LOOKS:
        stock(backend, look.stock, options.jobs)
        take(browser, server.url, look, backend, options)


def stock(backend: "Backend", name: str, jobs: int) -> None:
    """Puts these jobs in the place of those that were there."""
    from tests.clock import Clock
    from tests.dashboard.shop import shop

    backend.clear()
    clock = Clock(backend.open().now())
    with shop(backend.open(clock=clock), clock) as filled:
        if name == "hour":
            filled.live_an_hour()
            filled.operate()
            filled.fill(jobs)
        if name == "names":
            filled.call_names()


def take(browser: "Browser", url: str, look: Look, backend: "Backend", options: argparse.Namespace) -> None:
    from tests.dashboard.browser.visitor import visitor

    with visitor(browser, url, **look.options) as visited:
        visited.go()
        visited.log_in()
        for name in look.pages:
            picture = options.to / f"{name}-{look.name}.png"
            if options.only in picture.name:
                visited.see(name, backend.open()).wait_for_load_state("networkidle")
                visited.page.screenshot(path=picture, full_page=options.all)
                print(picture, *visited.troubles, sep="\n  ")
                visited.troubles.clear()


if __name__ == "__main__":
    main()
