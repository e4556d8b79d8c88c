"""A store that is not there: every page says so within the admin, and one that is open stays as it is."""

import asyncio
import logging
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from asyncjobs import Engine, JobStatus
from asyncjobs.api.waiting import Watcher
from asyncjobs.conf import Conf
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.starting import carried_out
from asyncjobs.stores.base import Store
from asyncjobs.stores.redis import RedisStore
from asyncjobs.testing import memory_jobs
from tests.api.test_unavailable import engine_on
from tests.dashboard.test_operation_pages import text_of
from tests.dashboard.test_permissions import CASES, Place
from tests.scene import Scene

PREVIEWS = ("chosen", "matching")  # which lead whoever comes without a choice elsewhere
HOME = "/admin/asyncjobs/dashboard/"


def assert_unavailable(response: Any) -> None:
    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) >= 1
    text = text_of(response)
    assert "The store that keeps the jobs cannot be used right now." in text
    assert "Dead letters" in text
    for secret in ("hidden", "127.0.0.1", "refused", "Traceback"):
        assert secret not in text


def test_every_address_says_so_within_the_admin(boss: Client, dead_store: Store) -> None:
    for case in CASES:
        with memory_jobs() as engine:
            place = Place(engine, case)
        with engine_on(dead_store):
            shown, done = place.get(boss), place.post(boss)
        for response, usual in ((shown, case.get), (done, case.post)):
            if usual == 405 or (case.address in PREVIEWS and response is shown):
                assert response.status_code == usual, case
            else:
                assert_unavailable(response)
    assert LogEntry.objects.count() == 0


def test_a_page_leads_to_itself_and_an_act_to_where_it_was_done(boss: Client, dead_store: Store) -> None:
    with engine_on(dead_store):
        page = boss.get(HOME + "jobs/", {"status": "failed"})
        act = boss.post(HOME + "queues/mail/resume/", {"next": HOME + "queues/"})
    assert f'href="{HOME}jobs/?status=failed"' in page.content.decode()
    assert "Nobody knows" not in text_of(page)
    assert re.search('<a [^>]* aria-current="page">Jobs</a>', page.content.decode())
    assert f'href="{HOME}queues/"' in act.content.decode()
    assert "Nobody knows whether what you asked for was done." in text_of(act)


def test_a_poll_brings_nothing_and_is_an_error(
    boss: Client, dead_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_on(dead_store), caplog.at_level(logging.ERROR, "asyncjobs.dashboard"):
        response = boss.get(HOME, {"_live": "x"}, headers={"HX-Request": "true"})
    assert (response.status_code, response.content) == (503, b"")
    assert int(response.headers["Retry-After"]) >= 1
    assert [record.exc_info for record in caplog.records if record.name == "asyncjobs.dashboard"] == [None]


@pytest.mark.parametrize("kind", ["fakeredis"])
def test_a_job_that_a_later_release_wrote_holds_up_nobody_who_asks_for_others(boss: Client, scene: Scene) -> None:
    store, engine = scene.store, Engine(scene.store, Conf())
    assert isinstance(store, RedisStore)
    jobs = [scene.add(), scene.add()]
    order = Order.of_search("", {}, deed="cancel", frozen=scene.clock.advance(10) - 1, by="7")
    canceled = carried_out(engine, order)
    broken, other = (job.id for job in jobs)
    store.client.hset(store.key(f"job:{broken}"), "Tags", "[")

    async def looks() -> Any:
        watcher = Watcher(engine)
        return await asyncio.gather(*(watcher.look(job_id, pause=0) for job_id in (broken, other)))

    assert [job and job.id for job in asyncio.run(looks())] == [None, other]
    with engine_on(store):
        assert boss.get(HOME + "jobs/", {"_live": "", "ids": f"{broken},{other}", "since": "0"}).status_code == 200
        assert boss.get(HOME + "jobs/", {"q": broken}).status_code == 200
        assert boss.get(HOME + "delayed/", {"_live": "", "id": [broken, other]}).status_code == 200
        chosen = {"act": "retry", "id": [broken, other], "next": HOME}
        assert "1 job" in text_of(boss.post(HOME + "chosen/", chosen))
        page, act = boss.get(HOME + f"jobs/{broken}/"), boss.post(HOME + f"jobs/{broken}/cancel/")
        assert (page.status_code, act.status_code) == (500, 500)
        assert "This job cannot be read" in text_of(page)
        assert boss.get(HOME + f"jobs/{broken}/", {"_live": ""}, headers={"HX-Request": "true"}).content == b""
    undone = carried_out(engine, Order(deed="cancel", frozen=scene.clock.advance(10), by="7", undoes=canceled.id))
    assert undone.status == JobStatus.COMPLETED
    assert scene.stored(jobs[1]).status == JobStatus.QUEUED
    store.client.hdel(store.key(f"job:{broken}"), "Tags")
