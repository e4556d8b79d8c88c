"""What staff do in the dashboard works with scripts and without."""

import pytest
from playwright.sync_api import expect

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Query
from tests.dashboard.browser.conftest import Served, Visit
from tests.dashboard.shop import Shop

pytestmark = pytest.mark.slow

with_and_without_scripts = pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "no-scripts"])


@pytest.fixture(autouse=True)
def jobs(served: Served) -> None:
    served.stock(Shop.live_an_hour)


@with_and_without_scripts
def test_a_queue_is_paused_and_resumed(served: Served, visit: Visit, has_scripts: bool) -> None:  # noqa: FBT001 - a parameter
    page = visit(java_script_enabled=has_scripts).go("queues/")
    mail = page.locator("tr", has=page.get_by_role("link", name="mail", exact=True))
    mail.locator("summary").click()
    mail.get_by_label("Reason").fill("the server is full")
    mail.get_by_role("button", name="Pause the queue").click()
    expect(mail).to_contain_text("the server is full")
    [pause] = [queue.pause for queue in served.engine.counts() if queue.queue == "mail"]
    assert pause is not None
    mail.get_by_role("button", name="Resume").click()
    expect(mail).not_to_contain_text("the server is full")


@with_and_without_scripts
def test_a_failed_job_is_retried_with_a_reason(served: Served, visit: Visit, has_scripts: bool) -> None:  # noqa: FBT001
    [job] = served.engine.find(Query(status=JobStatus.FAILED, limit=1)).jobs
    page = visit(java_script_enabled=has_scripts).go(f"jobs/{job.id}/")
    page.get_by_label("Reason").fill("the bank is back")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".messagelist")).to_be_visible()
    expect(page.locator(".aj-timeline")).to_contain_text("the bank is back")
    assert served.engine.get(job.id).status == JobStatus.SCHEDULED


@with_and_without_scripts
def test_a_job_is_found_opened_and_canceled(served: Served, visit: Visit, has_scripts: bool) -> None:  # noqa: FBT001
    page = visit(java_script_enabled=has_scripts).go("jobs/")
    page.get_by_label("Search", exact=True).fill("tag:monthly")
    page.get_by_label("Status", exact=True).and_(page.locator("select")).select_option("queued")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("list", name="Conditions")).to_contain_text("tag:monthly")
    page.locator(".aj-jobs tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("build_monthly")
    job_id = page.locator("#aj-id").inner_text()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".aj-head")).to_contain_text("canceled")
    assert served.engine.get(job_id).status == JobStatus.CANCELED


@with_and_without_scripts
def test_some_failed_jobs_are_retried_at_once(served: Served, visit: Visit, has_scripts: bool) -> None:  # noqa: FBT001
    page = visit(java_script_enabled=has_scripts).go("jobs/?status=failed")
    failed = served.engine.find(Query(status=JobStatus.FAILED, limit=3)).jobs
    for job in failed:
        page.locator(f"input[value='{job.id}']").check()
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".messagelist")).to_contain_text("3")
    assert {served.engine.get(job.id).status for job in failed} == {JobStatus.SCHEDULED}
    page.go_back()
    expect(page.get_by_role("heading", name="Retry 3 jobs?")).to_be_visible()
