"""A page that is looked at stays fresh, and whoever looks at it keeps their place."""

import pytest
from playwright.sync_api import expect

from tests.api.live.jobs import walk
from tests.api.live.served import Gate
from tests.dashboard.browser.conftest import Served, Visit, on_one_store
from tests.dashboard.browser.visitor import HOME, Visitor
from tests.dashboard.shop import Shop
from tests.workers import until

pytestmark = pytest.mark.slow

RUNNING, COMPLETED = "#aj-tile-300", "#aj-tile-400"


@pytest.fixture(autouse=True)
def no_jobs(served: Served) -> None:
    served.stock()


def submitted(served: Served, gate: Gate, *, steps: int = 1) -> str:
    """The id of a job that runs, and takes a step whenever the gate is opened."""
    [job] = served.engine.submit_many(walk.jobs_of([walk.call(str(gate), steps)]))
    until(lambda: served.engine.get(job.id).attempt)
    return job.id


def test_numbers_change_while_jobs_run_and_the_page_is_not_loaded_again(
    served: Served, visit: Visit, gate: Gate
) -> None:
    job_id = submitted(served, gate)
    visitor = visit()
    page = visitor.go()
    page.evaluate("window.isTheSame = true")
    expect(page.locator(RUNNING)).to_have_text("1")
    gate.open()
    until(lambda: served.engine.get(job_id).is_terminal)
    visitor.poll()
    expect(page.locator(RUNNING)).to_have_text("0")
    expect(page.locator(COMPLETED)).to_have_text("1")
    assert page.evaluate("window.isTheSame")


def test_an_empty_page_shows_the_first_job_as_soon_as_there_is_one(served: Served, visit: Visit, gate: Gate) -> None:
    visitor = visit()
    page = visitor.go()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    submitted(served, gate)
    visitor.poll()
    expect(page.locator(RUNNING)).to_have_text("1")


def test_focus_and_scroll_survive_ten_polls_and_so_does_what_has_not_changed(served: Served, visit: Visit) -> None:
    served.stock(Shop.live_an_hour)
    visitor = visit(viewport={"width": 1280, "height": 400})
    page = visitor.go()
    visitor.poll()
    page.locator("#aj-failure-2").focus()
    page.evaluate("window.scrollTo(0, 333); window.kept = document.activeElement")
    for _ in range(10):
        served.engine.submit_many(walk.using(queue="reports").jobs_of([walk.call("", 1)]))
        visitor.poll()
    assert page.evaluate("document.activeElement === window.kept && window.kept.id") == "aj-failure-2"
    assert page.evaluate("window.scrollY") == 333


def test_what_is_chosen_typed_and_opened_survives_ten_polls(served: Served, visit: Visit) -> None:
    served.stock(Shop.live_an_hour)
    visitor = visit(viewport={"width": 1280, "height": 400})
    page = visitor.go("jobs/")
    rows = page.locator("input[data-aj-row]")
    for row in (0, 2):
        rows.nth(row).check()
    rows.nth(5).click(modifiers=["Shift"])
    page.get_by_text("How to search").click()
    page.locator("#aj-q").press_sequentially("queue:ma")
    page.evaluate("window.scrollTo(0, 333)")
    for _ in range(10):
        served.engine.submit_many(walk.using(queue="reports").jobs_of([walk.call("", 1)]))
        visitor.poll()
    assert [row.is_checked() for row in rows.all()[:7]] == [True, False, True, True, True, True, False]
    expect(page.locator("[data-aj-chosen]")).to_have_text("5")
    expect(page.locator("#aj-q")).to_have_value("queue:ma")
    expect(page.locator("#aj-q")).to_be_focused()
    expect(page.locator("details").first).to_have_attribute("open", "")
    assert page.evaluate("window.scrollY") == 333
    expect(page.locator("#aj-new")).to_contain_text("10")


def test_a_job_is_watched_line_by_line_until_it_has_ended(served: Served, visit: Visit, gate: Gate) -> None:
    job_id = submitted(served, gate, steps=2)
    visitor = visit()
    page = visitor.go(f"jobs/{job_id}/")
    expect(page.locator(".aj-head")).to_contain_text("running")
    gate.open()
    until(lambda: served.engine.get(job_id).progress)
    visitor.poll()
    expect(page.locator("#aj-progress")).to_contain_text("1 of 2")
    expect(page.locator("#aj-log")).to_contain_text("step 1")
    gate.open()
    until(lambda: served.engine.get(job_id).is_terminal)
    visitor.poll()
    expect(page.locator(".aj-head")).to_contain_text("completed")
    expect(page.locator("#aj-log p")).to_have_count(2)
    expect(page.locator(".aj-timeline")).to_contain_text("completed")


@on_one_store
def test_a_poll_that_has_nothing_new_is_answered_with_nothing(served: Served, visit: Visit) -> None:
    served.stock(Shop.live_an_hour)
    visitor = visit()
    visitor.go()
    assert visitor.poll().status == 200
    assert visitor.poll().status == 204


@on_one_store
def test_a_pause_lasts_until_it_is_ended_also_on_the_next_page(served: Served, visit: Visit) -> None:
    visitor = visit()
    page = visitor.go()
    visitor.poll()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#aj-live-state")).to_have_text("paused")
    assert visitor.polls_in(minutes=1) == 0
    visitor.go()
    expect(page.locator("#aj-live-state")).to_have_text("paused")
    with page.expect_response(lambda response: "_live=" in response.url):
        page.get_by_role("button", name="Resume").click()
    expect(page.locator("#aj-live-state")).to_contain_text("updated")


@on_one_store
def test_a_page_nobody_sees_asks_for_nothing_until_it_is_seen_again(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go()
    set_hidden(visitor, "true")
    assert visitor.polls_in(minutes=1) == 0
    with page.expect_response(lambda response: "_live=" in response.url):
        set_hidden(visitor, "false")


def set_hidden(visitor: Visitor, hidden: str) -> None:
    visitor.page.evaluate(
        f"Object.defineProperty(document, 'hidden', {{ value: {hidden}, configurable: true }});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )


@on_one_store
def test_nothing_changes_while_text_is_selected(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    assert visitor.polls_in(minutes=1) == 0


@on_one_store
def test_a_lost_connection_is_said_and_found_again(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go()
    for lose in (lambda route: route.abort(), lambda route: route.fulfill(status=503)):
        page.route("**/*_live=*", lose)
        visitor.tick()
        expect(page.locator("#aj-live-state")).to_contain_text("no connection")
        page.unroute("**/*_live=*")
        visitor.poll(after=20_000)
        expect(page.locator("#aj-live-state")).to_contain_text("updated")
        expect(page.locator("#aj-live-said")).to_have_text("updated")
    visitor.forgive("net::ERR_FAILED", "htmx:sendError", "htmx:afterRequest", "status of 503", "Status Error Code 503")


@on_one_store
def test_whose_session_has_expired_is_led_to_the_login_and_back(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go()
    visitor.context.clear_cookies()
    visitor.tick()
    page.wait_for_url("**/admin/login/?next=*")
    visitor.log_in()
    page.wait_for_url(f"**{HOME}")
    expect(page.get_by_role("heading", name="Background jobs", level=1)).to_be_visible()
