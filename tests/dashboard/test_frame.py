"""Who gets to see the dashboard, and where."""

import pytest
from django.conf import settings
from django.test import Client, override_settings

from asyncjobs import Engine
from tests.dashboard.conftest import ClientAs, StaffWith

HOME = "/admin/asyncjobs/dashboard/"
POLL = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{HOME}?page=2"}


def test_the_admin_offers_it_to_those_who_may_see_it(
    engine: Engine, client_as: ClientAs, staff_with: StaffWith
) -> None:
    assert HOME not in client_as(staff_with("retry_job")).get("/admin/").content.decode()
    assert HOME in client_as(staff_with("view_dashboard")).get("/admin/").content.decode()


def test_a_poll_of_somebody_logged_out_leads_the_page_to_the_login_and_back(db: None, engine: Engine) -> None:
    response = Client().get(HOME, {"_live": ""}, headers=POLL)
    assert response.status_code == 204
    assert response.headers["HX-Redirect"] == "/admin/login/?next=%2Fadmin%2Fasyncjobs%2Fdashboard%2F%3Fpage%3D2"


def test_a_poll_names_no_other_site_as_the_way_back(db: None, engine: Engine) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "https://evil.example/x"}
    response = Client().get(HOME, {"_live": ""}, headers=headers)
    assert "evil" not in response.headers["HX-Redirect"]


@pytest.mark.parametrize("method", ["put", "delete"])
def test_a_page_is_for_reading(engine: Engine, boss: Client, method: str) -> None:
    response = getattr(boss, method)(HOME)
    assert response.status_code == 405


def test_whose_session_ends_before_a_form_is_sent_is_told_so_and_comes_back_to_it(db: None, engine: Engine) -> None:
    client = Client()
    response = client.post(f"{HOME}queues/mail/resume/", {"next": f"{HOME}queues/"})
    assert response.headers["Location"] == "/admin/login/?next=%2Fadmin%2Fasyncjobs%2Fdashboard%2Fqueues%2F"
    assert "You were not logged in any more: nothing was done." in client.get(response.headers["Location"]).text


def test_pages_are_not_kept_by_caches(engine: Engine, boss: Client) -> None:
    assert "no-store" in boss.get(HOME).headers["Cache-Control"]


def test_a_browser_can_go_back_to_a_preview(engine: Engine, boss: Client) -> None:
    """A form was answered with it: it would have to be sent again otherwise, and browsers ask before they do."""
    response = boss.post(f"{HOME}matching/", {"act": "retry"})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "private, no-cache"


def test_a_site_without_htmx_has_the_pages_all_the_same(engine: Engine, boss: Client) -> None:
    assert "htmx-2" in boss.get(HOME).content.decode()
    with override_settings(INSTALLED_APPS=[app for app in settings.INSTALLED_APPS if app != "django_htmx"]):
        assert "htmx-2" not in boss.get(HOME).content.decode()
