"""Many jobs are changed at once, watched and brought back, with scripts and without."""

import re

import pytest
from playwright.sync_api import Page, expect

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Query
from tests.dashboard.browser.conftest import Served, Visit
from tests.dashboard.browser.test_acting import with_and_without_scripts
from tests.dashboard.browser.visitor import Visitor
from tests.dashboard.shop import NO_RATE
from tests.workers import until

pytestmark = pytest.mark.slow

OPERATIONS = "asyncjobs"  # their queue, which the worker serves; that of the jobs is served by nobody


def dead(served: Served) -> int:
    return sum(queue.by_status.get(JobStatus.FAILED, 0) for queue in served.engine.counts())


def confirm(page: Page, deed: str, *, reason: str) -> None:
    """Says yes to what is shown."""
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=deed).click()


def retry_all(page: Page, *, count: str) -> None:
    """From a list that shows some of them."""
    page.get_by_label(f"Select all {count} that match").check()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("heading", name=f"Retry {count} jobs?")).to_be_visible()
    confirm(page, "Retry", reason="the bank is back")
    expect(page).to_have_url(re.compile("/operations/"))


def followed(visited: Visitor) -> list[int]:
    """How many jobs the page of an operation said it was through with, from one poll to the next until it was over."""
    head = visited.page.locator("article .aj-head")
    bar = visited.page.get_by_role("progressbar")
    seen: list[int] = []

    def is_over() -> bool:
        is_completed = "completed" in head.inner_text()
        seen.append(int(bar.get_attribute("value") or 0))
        if not is_completed:
            visited.poll()
        return is_completed

    until(is_over)
    return seen


def test_ten_thousand_jobs_are_retried_and_brought_back_while_somebody_watches(served: Served, visit: Visit) -> None:
    served.stock(lambda shop: shop.die(10_000))
    served.engine.pause(OPERATIONS)
    visited = visit()
    page = visited.go("jobs/?status=failed")
    page.get_by_label("Select all jobs of the page").check()
    expect(page.locator("[data-aj-chosen]")).to_have_text("50")
    retry_all(page, count="10,000")
    expect(page.locator("article")).to_contain_text("waits for a worker")
    served.engine.resume(OPERATIONS)
    seen = followed(visited)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1], dead(served)) == (0, 10_000, 0)
    expect(page.locator("#aj-outcome")).to_have_text("10,000 jobs changed")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="Undo: Retry")).to_be_visible()
    assert followed(visited)[-1] == 10_000
    expect(page.locator("#aj-outcome")).to_have_text("10,000 jobs brought back")
    assert dead(served) == 10_000


def test_a_job_tells_of_the_operations_that_changed_it(served: Served, visit: Visit) -> None:
    served.stock(lambda shop: shop.die(60))
    visited = visit()
    retry_all(visited.go("jobs/?status=failed"), count="60")
    followed(visited)
    visited.page.get_by_role("button", name="Undo").click()
    followed(visited)
    [job] = served.engine.find(Query(status=JobStatus.FAILED, limit=1)).jobs
    page = visited.go(f"jobs/{job.id}/")
    retried, undone = page.locator(".aj-timeline li", has=page.get_by_role("link", name="operation")).all()
    expect(retried).to_contain_text("ann had it run again")
    expect(retried).to_contain_text("the bank is back")
    expect(undone).to_contain_text("ann took that back")
    undone.get_by_role("link", name="operation").click()
    expect(page.get_by_role("heading", name="Undo: Retry · 60 jobs")).to_be_visible()
    page.get_by_role("link", name="of this operation").click()
    expect(page.get_by_role("heading", name="Retry · 60 jobs", exact=True)).to_be_visible()


def test_a_group_of_dead_letters_is_retried(served: Served, visit: Visit) -> None:
    served.stock(lambda shop: shop.die(60), lambda shop: shop.die(2, NO_RATE))
    visited = visit()
    page = visited.go("dead/")
    group = page.locator("tr", has_text="the bank's gateway did not answer")
    group.get_by_role("button", name="Retry all").click()
    expect(page.get_by_role("heading", name="Retry 60 jobs?")).to_be_visible()
    confirm(page, "Retry", reason="the bank is back")
    followed(visited)
    expect(page.locator("#aj-outcome")).to_have_text("60 jobs changed")
    visited.go("dead/")
    expect(page.locator(".aj-groups tbody tr")).to_have_count(1)
    expect(group).to_have_count(0)


def test_what_fails_after_the_preview_is_left_alone(served: Served, visit: Visit) -> None:
    served.stock(lambda shop: shop.die(60))
    visited = visit()
    page = visited.go("jobs/?status=failed")
    page.get_by_label("Select all 60 that match").check()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("heading", name="Retry 60 jobs?")).to_be_visible()
    served.add(lambda shop: shop.die(5))
    confirm(page, "Retry", reason="the bank is back")
    followed(visited)
    expect(page.locator("#aj-outcome")).to_have_text("60 jobs changed")
    assert dead(served) == 5


def test_all_that_match_are_retried_without_scripts(served: Served, visit: Visit) -> None:
    served.stock(lambda shop: shop.die(60))
    page = visit(java_script_enabled=False).go("jobs/?status=failed")
    retry_all(page, count="60")
    until(lambda: dead(served) == 0)
    undo = page.get_by_role("button", name="Undo")
    until(lambda: page.reload() and undo.is_visible())
    undo.click()
    until(lambda: dead(served) == 60)


@with_and_without_scripts
def test_what_was_done_to_a_few_jobs_is_undone_from_the_message(
    served: Served,
    visit: Visit,
    has_scripts: bool,  # noqa: FBT001
) -> None:
    served.stock(lambda shop: shop.die(5))
    page = visit(java_script_enabled=has_scripts).go("jobs/?status=failed")
    delete_three(page)
    assert dead(served) == 2
    page.locator(".messagelist").get_by_role("button", name="Undo").click()
    expect(page.locator(".messagelist")).to_contain_text("3 jobs are what they were.")
    assert dead(served) == 5


def test_deleted_jobs_are_found_in_the_trash_and_restored(served: Served, visit: Visit) -> None:
    served.stock(lambda shop: shop.die(5))
    page = visit().go("jobs/?status=failed")
    delete_three(page)
    page.get_by_role("link", name="Trash").click()
    expect(page.locator(".aj-trash tbody tr")).to_have_count(3)
    expect(page.locator(".aj-trash .aj-reason")).to_have_text(["nobody wants them"] * 3)
    page.get_by_label("Select all jobs of the page").check()
    page.get_by_role("button", name="Restore the selected").click()
    expect(page.locator(".messagelist")).to_contain_text("3 jobs were restored.")
    expect(page.get_by_text("The trash is empty.")).to_be_visible()
    assert dead(served) == 5


def delete_three(page: Page) -> None:
    for row in page.locator("input[name=id]").all()[:3]:
        row.check()
    page.get_by_role("button", name="Delete").click()
    confirm(page, "Delete", reason="nobody wants them")
    expect(page.locator(".messagelist")).to_contain_text("3 jobs are deleted.")
