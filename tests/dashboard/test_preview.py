"""What is to be done to jobs, chosen or all that match: shown first, then done, and told."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.actions import OPERATION, read_action
from asyncjobs.dashboard.deeds import DEEDS, OFFERED
from asyncjobs.dashboard.operations.orders import Order, signed
from asyncjobs.dashboard.views.preview import SALT
from asyncjobs.domain.job import Job
from tests.api import jobs
from tests.dashboard.conftest import ClientAs
from tests.scene import Scene

PREVIEW, CARRY = "/admin/asyncjobs/dashboard/chosen/", "/admin/asyncjobs/dashboard/carry/"
MATCHING = "/admin/asyncjobs/dashboard/matching/"
LIST = "/admin/asyncjobs/dashboard/jobs/?status=failed"
UNKNOWN = "0a1b2c3d-0000-4000-8000-000000000001"


@pytest.fixture
def of_each(engine: Engine) -> dict[JobStatus, Job]:
    return Scene(engine.store, engine.store.now).one_of_each()


def post(client: Client, url: str, act: str, *ids: str, **more: Any) -> Any:
    return client.post(url, {"act": act, "id": ids, "next": LIST, **more})


def confirm(client: Client, act: str, *ids: str, **more: Any) -> Any:
    """What is answered to whoever says yes to what was shown."""
    return carry(client, order_in(post(client, PREVIEW, act, *ids)), **more)


def carry(client: Client, order: str, **more: Any) -> Any:
    return client.post(CARRY, {"order": order, "next": LIST, **more})


def order_in(response: Any) -> str:
    [order] = re.findall(r'name="order" value="([^"]*)"', response.content.decode())
    return unescape(str(order))


def told(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def statuses(engine: Engine) -> list[JobStatus]:
    return sorted(job.status for job in engine.find(Query()).jobs if job.name != OPERATION)


def test_a_preview_shows_what_would_be_done_and_does_nothing(
    boss: Client, engine: Engine, of_each: dict[JobStatus, Job]
) -> None:
    ids = [job.id for job in of_each.values()]
    text = post(boss, PREVIEW, "retry", *ids, UNKNOWN).content.decode()
    assert "Retry 2 jobs?" in text
    skipped = text[text.index("Will be skipped") : text.index("These are")]
    assert re.findall(r"(\d) job: ([^<]*)", skipped) == [
        *[("1", "neither failed nor canceled")] * 5,
        ("1", "not there any more"),
    ]
    assert f'href="{LIST}"' in unescape(text)
    assert statuses(engine) == sorted(JobStatus)


@pytest.mark.parametrize("name", OFFERED)
def test_a_deed_is_done_in_its_statuses_and_in_no_other(
    boss: Client, engine: Engine, of_each: dict[JobStatus, Job], name: str
) -> None:
    response = confirm(boss, name, *(job.id for job in of_each.values()), reason="it is late")
    assert (response.status_code, response["Location"]) == (302, LIST)
    for status, before in of_each.items():
        [after] = engine.store.get([before.id])
        is_changed = after is None or (after.version, after.cancel_requested) != (before.version, None)
        assert is_changed == (status in DEEDS[name].statuses), status
    done, skipped = told(response)
    assert str(len(DEEDS[name].statuses)) in done
    assert str(len(JobStatus) - len(DEEDS[name].statuses)) in skipped


def test_who_did_it_and_why_is_kept_with_the_job_and_in_the_history(
    boss: Client, engine: Engine, of_each: dict[JobStatus, Job]
) -> None:
    failed = of_each[JobStatus.FAILED]
    confirm(boss, "retry", failed.id, reason=" the gateway is back ")
    [entry] = engine.store.journal(failed.id, "action")
    [operation] = engine.find(Query(name=OPERATION)).jobs
    logged = LogEntry.objects.get()
    said = {"action": "retry", "by": str(logged.user_id), "reason": "the gateway is back", "operation": operation.id}
    assert read_action(entry) == said
    assert logged.object_repr == f"operation {operation.id}"
    assert "the gateway is back" in logged.change_message
    assert failed.id in logged.change_message


def test_done_twice_it_is_done_once(boss: Client, engine: Engine, of_each: dict[JobStatus, Job]) -> None:
    failed = of_each[JobStatus.FAILED]
    order = order_in(post(boss, PREVIEW, "retry", failed.id, failed.id))
    carry(boss, order)
    again = carry(boss, order)
    assert (again.status_code, again["Location"]) == (302, LIST)
    assert told(again)[-1].startswith("Nothing was done")
    assert len(engine.store.journal(failed.id, "action")) == 1
    assert len(engine.find(Query(name=OPERATION)).jobs) == LogEntry.objects.count() == 1


def test_when_nothing_is_left_to_do_that_is_said(boss: Client, engine: Engine, of_each: dict[JobStatus, Job]) -> None:
    order = order_in(post(boss, MATCHING, "retry", q="status:failed"))
    engine.retry(of_each[JobStatus.FAILED].id)
    assert told(carry(boss, order))[0].startswith("Nothing was done")
    assert engine.find(Query(name=OPERATION)).jobs == []


def test_nothing_chosen_nothing_done(boss: Client, engine: Engine) -> None:
    response = post(boss, PREVIEW, "retry")
    assert (response.status_code, response["Location"]) == (302, LIST)
    assert told(response) == ["No jobs were selected."]
    assert b"None of these jobs can be changed so" in post(boss, PREVIEW, "retry", UNKNOWN).content
    assert LogEntry.objects.count() == 0


@pytest.mark.parametrize("name", sorted(set(DEEDS) - set(OFFERED)))
def test_a_deed_with_a_view_of_its_own_is_done_by_no_other(
    boss: Client, engine: Engine, of_each: dict[JobStatus, Job], name: str
) -> None:
    for url in (PREVIEW, MATCHING):
        assert post(boss, url, name, *(job.id for job in of_each.values())).status_code == 400
    order = Order(deed=name, frozen=engine.store.now(), by=str(User.objects.get().pk), ids=(UNKNOWN,))
    assert carry(boss, signed(order, salt=SALT)).status_code == 400


def test_what_no_form_of_ours_sends_is_refused(boss: Client, engine: Engine) -> None:
    assert post(boss, PREVIEW, "explode", UNKNOWN).status_code == 400
    assert post(boss, PREVIEW, "retry", "x").status_code == 400
    assert post(boss, PREVIEW, "retry", *[UNKNOWN] * 201).status_code == 400
    assert post(boss, MATCHING, "explode").status_code == 400
    assert boss.post(PREVIEW, {}).status_code == 400


def test_an_order_that_nobody_was_shown_is_refused(
    boss: Client, engine: Engine, client_as: ClientAs, of_each: dict[JobStatus, Job]
) -> None:
    order = order_in(post(boss, PREVIEW, "delete", of_each[JobStatus.FAILED].id))
    mine = Order(deed="delete", frozen=engine.store.now(), by=str(User.objects.get().pk), ids=(UNKNOWN,))
    for forged in ("", "x", order[:-1], order.swapcase(), signed(mine), signed(mine, salt="mine")):
        assert carry(boss, forged).status_code == 400
    other = client_as(User.objects.create_superuser("other"))
    assert carry(other, order).status_code == 403
    assert statuses(engine) == sorted(JobStatus)


def test_a_reason_that_cannot_be_kept_is_refused(boss: Client, engine: Engine, of_each: dict[JobStatus, Job]) -> None:
    for reason in ("x" * 501, "a\nb"):
        response = confirm(boss, "retry", of_each[JobStatus.FAILED].id, reason=reason)
        assert response.status_code == 422
        assert b"a reason is" in response.content
    assert statuses(engine) == sorted(JobStatus)


def test_it_leads_back_to_this_site_alone(boss: Client, engine: Engine, of_each: dict[JobStatus, Job]) -> None:
    response = confirm(boss, "retry", of_each[JobStatus.FAILED].id, next="https://evil.example/")
    assert response["Location"] == "/admin/asyncjobs/dashboard/"
    text = post(boss, PREVIEW, "retry", UNKNOWN, next="javascript:alert(1)").content.decode()
    assert "javascript:" not in text


def test_what_others_wrote_is_text(boss: Client, engine: Engine) -> None:
    hostile = "</script><img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE}"
    [job] = jobs.add.jobs_of([jobs.add.call(1)])
    engine.store.add([job.replace(name=hostile)])
    text = post(boss, PREVIEW, "cancel", job.id).content.decode()
    assert "<img" not in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert "onerror=alert(1)" in text
