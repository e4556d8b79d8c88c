"""A browser, and who looks through it at a site of the tests. Whatever goes wrong in a page is noted."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, sync_playwright

from asyncjobs.stores.base import Store
from tests.dashboard.pages import PRESSED, address
from tests.servers import missing

USER, PASSWORD = "ann", "secret"
HOME: Final = "/admin/asyncjobs/dashboard/"
PATIENCE_MS: Final = 20_000
EVERY_MS: Final = 5_000  # how often a page asks for news
UNSAFE: Final = "DJANGO_ALLOW_ASYNC_UNSAFE"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a window.

    Playwright keeps an event loop in this thread while it runs. Nothing of ours runs in it, but Django sees it.
    """
    path = shutil.which("chromium") or missing("no chromium on PATH")
    before = os.environ.get(UNSAFE)
    os.environ[UNSAFE] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path)
            yield browser
            browser.close()
    finally:
        os.environ.pop(UNSAFE)
        if before is not None:
            os.environ[UNSAFE] = before


def user() -> User:
    """Who may do everything, to be stored."""
    password = MD5PasswordHasher().encode(PASSWORD, "salt")  # as the site hashes
    return User(username=USER, password=password, is_staff=True, is_superuser=True)


class Visitor:
    """Somebody with one page of the site open."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.context: BrowserContext = browser.new_context(base_url=url, **{"reduced_motion": "reduce", **options})
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.page.clock.install()  # it goes on as clocks do, and can be put forward
        self.troubles: list[str] = []
        self.polls: list[str] = []
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self._note("error", str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", self._count)

    def log_in(self) -> None:
        """From the page of the login that the browser has been led to."""
        self.page.fill("#id_username", USER)
        self.page.fill("#id_password", PASSWORD)
        with self.page.expect_navigation():
            self.page.click("[type=submit]")

    def go(self, path: str = "") -> Page:
        """To a page of the dashboard."""
        self.page.goto(f"{HOME}{path}")
        return self.page

    def see(self, name: str, store: Store) -> Page:
        """One of the pages that have a name."""
        self.go(address(name, store))
        if button := PRESSED.get(name):
            with self.page.expect_navigation():
                self.page.get_by_role("button", name=button).first.click()
        return self.page

    def tick(self, after: int = EVERY_MS) -> None:
        """Lets time pass in the browser until the page asks for news."""
        self.page.clock.fast_forward(after)

    def poll(self, after: int = EVERY_MS) -> Response:
        """The answer to the next request for news."""
        with self.page.expect_response(lambda response: "_live=" in response.url) as answer:
            self.tick(after)
        answer.value.finished()
        return answer.value

    def polls_in(self, *, minutes: int) -> int:
        """How often the page asks for news in this time."""
        before = len(self.polls)
        for _ in range(minutes * 60_000 // EVERY_MS):
            self.tick()
        self.page.evaluate("0")
        return len(self.polls) - before

    def forgive(self, *parts: str) -> None:
        """What a test has brought about itself."""
        self.troubles = [trouble for trouble in self.troubles if not any(part in trouble for part in parts)]

    def close(self) -> None:
        self.context.close()

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.troubles.append(text)

    def _count(self, request: Request) -> None:
        if "_live=" in request.url:
            self.polls.append(request.url)

    def _dismiss(self, dialog: Any) -> None:
        self.troubles.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def visitor(browser: Browser, url: str, **options: Any) -> Iterator[Visitor]:
    made = Visitor(browser, url, **options)
    try:
        yield made
    finally:
        made.close()
