"""A project may have more than one admin site: nobody who is in one of them is led into another."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client, override_settings
from django.urls import path

from asyncjobs import Engine
from asyncjobs.admin import register
from tests.dashboard.test_permissions import Case, Place, in_every_case

other = admin.AdminSite("other")
register(other)
urlpatterns = [path("admin/", admin.site.urls), path("other/", other.urls)]


@pytest.fixture(autouse=True)
def two_sites() -> Any:
    with override_settings(ROOT_URLCONF=__name__):
        yield


def strays(response: Any) -> list[str]:
    """Wherever the answer leads to, but for this admin site, and the home page of the project."""
    named = re.findall(r'(?:href|action|hx-get|value)="(/[^"]+)"', response.content.decode())
    found = [*named, response.headers.get("Location", "/other/")]
    return [target for target in found if not target.startswith(("/other/", "/static/"))]


def test_the_other_site_offers_its_own(engine: Engine, boss: Client) -> None:
    assert "/other/asyncjobs/dashboard/" in boss.get("/other/").content.decode()


@in_every_case
def test_whatever_is_seen_or_done_in_the_other_site_leads_on_within_it(
    engine: Engine, boss: Client, case: Case
) -> None:
    place = Place(engine, case)
    place.url = place.url.replace("/admin/", "/other/", 1)
    for response in (place.get(boss), place.post(boss)):
        assert strays(response) == []
        if response.status_code == 302:
            assert strays(boss.get(response.headers["Location"])) == []


@pytest.mark.parametrize("wanted", ["", "https://evil.example/", "javascript:alert(1)"])
def test_an_act_in_the_other_site_leads_back_to_it(engine: Engine, boss: Client, wanted: str) -> None:
    engine.pause("mail")
    answer = boss.post("/other/asyncjobs/dashboard/queues/mail/resume/", {"next": wanted})
    assert answer.headers["Location"] == "/other/asyncjobs/dashboard/"


def test_registering_twice_is_no_error() -> None:
    register(other)
    assert len(other._registry) == 1
