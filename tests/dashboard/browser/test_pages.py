"""Every page is there for everybody: by keyboard, without scripts, in both themes; and harmless, whatever it shows."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Query
from tests.dashboard.browser.conftest import Served, Visit, on_one_store
from tests.dashboard.browser.visitor import PASSWORD, USER
from tests.dashboard.pages import PAGES
from tests.dashboard.shop import HOSTILE, LONG, Shop

pytestmark = [pytest.mark.slow, on_one_store]
on_every_page = pytest.mark.parametrize("name", PAGES)

PHONE: Any = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
OUTLINE = """element => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
}"""


@pytest.fixture(scope="module", autouse=True)
def jobs(served: Served) -> None:
    served.stock(Shop.live_an_hour, Shop.operate, Shop.call_names)


def violations(page: Page) -> list[tuple[str, str]]:
    """What axe finds to be serious in our part of the page."""
    found = Axe().run(page, context=".aj").response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(node["html"], node["failureSummary"]) for one in grave for node in one["nodes"]]


@on_every_page
def test_nobody_is_shut_out_of_a_page_in_either_theme(served: Served, visit: Visit, name: str) -> None:
    page = visit(color_scheme="light").see(name, served.engine.store)
    assert violations(page) == []
    assert wide(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []
    assert cramped(page) == []


def cramped(page: Page) -> list[str]:
    """Panels that have too little room when they are opened, for people to read and to fill in."""
    page.locator(".aj details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    sizes = page.locator(".aj-panel:visible").evaluate_all(
        "all => all.map(one => [one.outerHTML.slice(0, 200), one.getBoundingClientRect().width])"
    )
    return [html for html, width in sizes if width < 180] + wide(page)


def wide(page: Page) -> list[str]:
    """What makes the page wider than its window, and tables that do not fit it.

    A phone's window grows with what is in it, the root does not.
    """
    script = """all => {
        const { clientWidth, scrollWidth } = document.documentElement;
        return all
            .filter(one => one.getClientRects().length && (one.matches(".aj-scroll")
                ? one.scrollWidth > one.clientWidth
                : scrollWidth > clientWidth && one.getBoundingClientRect().right > clientWidth))
            .map(one => one.outerHTML.slice(0, 200));
    }"""
    found: list[str] = page.locator("body *").evaluate_all(script)
    return found


@on_every_page
def test_a_page_fits_a_phone_and_shows_names_of_others_as_text(served: Served, visit: Visit, name: str) -> None:
    """It is scrolled down, and never to the side; what is tapped is large enough."""
    page = visit(**PHONE).see(name, served.engine.store)
    assert wide(page) == []
    targets = page.locator(
        ".aj :is(button, select, summary, .aj-tabs a, input:not([type=checkbox], [type=hidden])):visible"
    )
    sizes = targets.evaluate_all("all => all.map(one => [one.outerHTML, one.getBoundingClientRect().height])")
    assert [html for html, height in sizes if height < 43.9] == []
    look_for_harm(page)
    assert cramped(page) == []


@pytest.mark.parametrize("name", [*HOSTILE, f"shop.{LONG}.{LONG}"])
def test_names_of_others_are_text_where_their_job_is_shown(served: Served, visit: Visit, name: str) -> None:
    """On a phone: it has no room for what does not break. The same goes for their queue."""
    [job] = served.engine.find(Query(status=JobStatus.FAILED, name=name)).jobs
    visitor = visit(**PHONE)
    for path in (f"jobs/{job.id}/edit/", f"queues/{quote(job.queue, safe='')}/"):
        page = visitor.go(path)
        look_for_harm(page)
        assert wide(page) == []


def look_for_harm(page: Page) -> None:
    """Dialogs, errors and violations of the policy are seen to by `visit`."""
    page.wait_for_load_state("networkidle")
    assert not set("\x1b\x07\N{RIGHT-TO-LEFT OVERRIDE}") & set(page.locator(".aj").inner_text())
    assert page.locator(".aj :is(script, img, [onerror], [onload], [style])").count() == 0


def test_the_first_page_shows_what_somebody_called_things(visit: Visit) -> None:
    shown = visit().go().locator(".aj").inner_text()
    assert HOSTILE[0] in shown
    assert HOSTILE[1] in shown
    assert LONG in shown


def test_a_page_that_broke_the_policy_would_be_noticed(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go()
    harm = "<img src=x onerror=alert(1)><b style=color:red>"
    with page.expect_console_message(lambda message: "404" in message.text):
        page.evaluate(f"document.body.insertAdjacentHTML('beforeend', '{harm}')")
    assert sum("Content Security Policy" in trouble for trouble in visitor.troubles) == 2
    visitor.forgive("Content Security Policy", "404")


def test_links_and_forms_work_without_scripts(visit: Visit) -> None:
    visitor = visit(java_script_enabled=False, storage_state=None)
    page = visitor.go()
    page.fill("#id_username", USER)
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")
    expect(page.get_by_role("link", name=re.compile("^failed"))).to_be_visible()
    expect(page.locator("#aj-live")).to_be_hidden()
    for tab in page.locator(".aj-tabs a").all():
        target = tab.get_attribute("href")
        assert target is not None
        assert page.request.get(target).ok, target


@pytest.mark.parametrize("name", ["overview", "dead", "preview", "operation", "trash"])
def test_whoever_uses_the_keyboard_skips_to_the_content_and_sees_where_they_are(
    served: Served, visit: Visit, name: str
) -> None:
    page = visit().see(name, served.engine.store)
    page.keyboard.press("Tab")
    expect(page.locator(".skip-to-content-link")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".aj-tabs a").first).to_be_focused()
    stops = page.locator(".aj :is(a, button, input, select, textarea, summary):visible")
    for stop in stops.all():
        expect(stop).to_be_focused()
        assert stop.evaluate(OUTLINE), stop.evaluate("element => element.outerHTML")
        page.keyboard.press("Tab")


def test_escape_closes_a_panel_and_leads_back_to_what_opened_it(visit: Visit) -> None:
    page = visit().go("queues/mail/")
    opener = page.locator("summary", has_text="Pause")
    opener.press("Enter")
    page.get_by_label("Reason").press("Escape")
    expect(page.get_by_label("Reason")).to_be_hidden()
    expect(opener).to_be_focused()


def test_the_status_that_a_phone_shows_jobs_of_is_in_sight(visit: Visit) -> None:
    expect(visit(**PHONE).go("jobs/?status=failed").locator(".aj-statuses [aria-current]")).to_be_in_viewport(ratio=1)
