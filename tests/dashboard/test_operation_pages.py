"""The pages of operations: from a search to what was done to all it found, and back."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.actions import OPERATION
from asyncjobs.dashboard.operations import looking, starting
from asyncjobs.dashboard.operations.carrying import carry_out
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.starting import carried_out, submitted
from asyncjobs.dashboard.views import operations as operations_view
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
from asyncjobs.errors import StoreUnavailable
from asyncjobs.ids import new_ids
from asyncjobs.testing import run_jobs
from tests.dashboard.conftest import ClientAs, StaffWith
from tests.dashboard.test_preview import LIST, MATCHING, PREVIEW, carry, order_in, post, told
from tests.scene import BOOM, Scene
from tests.workers import until

HOME = "/admin/asyncjobs/dashboard/operations/"
JOBS = "/admin/asyncjobs/dashboard/jobs/"
HOSTILE = "</script><img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE}{{7*7}}"


@pytest.fixture
def scene(engine: Engine) -> Scene:
    return Scene(engine.store, engine.store.now)


def failed(scene: Scene, count: int, **fields: Any) -> list[Job]:
    return [scene.failed(**fields) for _ in range(count)]


def operations(engine: Engine) -> list[Job]:
    return engine.find(Query(name=OPERATION)).jobs


def address(operation: Job, part: str = "") -> str:
    return f"{HOME}{operation.id}/{part}"


def text_of(response: Any) -> str:
    """What one reads on the page, on one line."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", response.content.decode())).split())


def statuses(engine: Engine) -> set[JobStatus]:
    return {job.status for job in engine.find(Query(queue="default", limit=200)).jobs}


def test_the_list_offers_all_that_match_where_there_is_more_than_a_page(boss: Client, scene: Scene) -> None:
    failed(scene, 50)
    assert 'name="all"' not in boss.get(f"{JOBS}?status=failed").content.decode()
    failed(scene, 3)
    page = boss.get(f"{JOBS}?status=failed")
    assert "Select all 53 that match" in text_of(page)
    assert re.search('<input type="hidden" name="status" value="failed">', page.content.decode())
    assert "Select all that match" in text_of(boss.get(f"{JOBS}?q=echo"))
    assert 'name="all"' not in boss.get(f"{JOBS}?q=stat:failed").content.decode()


def test_all_jobs_are_meant_where_nothing_was_searched_for(boss: Client, engine: Engine, scene: Scene) -> None:
    failed(scene, 2)
    shown = post(boss, MATCHING, "retry")
    assert "Retry 2 jobs? All jobs, as they are now." in text_of(shown)
    carry(boss, order_in(shown))
    [operation] = operations(engine)
    assert "all jobs there were" in text_of(boss.get(address(operation)))


def test_all_that_match_are_shown_and_then_left_to_a_worker(boss: Client, engine: Engine, scene: Scene) -> None:
    failed(scene, 51)
    scene.completed()
    shown = post(boss, PREVIEW, "retry", all="1", q="echo")
    text = text_of(shown)
    assert "Retry 51 jobs?" in text
    assert "All jobs that match echo , as they are now." in text
    assert "1 job: neither failed nor canceled" in text
    assert "default 0 +51" in text
    assert "as a job of queue asyncjobs, and no worker listens to that queue now" in text
    late = scene.failed()
    response = carry(boss, order_in(shown), reason="fixed")
    [operation] = operations(engine)
    assert (response.status_code, response["Location"]) == (302, address(operation))
    assert statuses(engine) == {JobStatus.FAILED, JobStatus.COMPLETED}
    page = text_of(boss.get(address(operation)))
    assert "Retry · 51 jobs" in page
    assert "waits for a worker" in page
    run_jobs(queues=["asyncjobs"])
    page = text_of(boss.get(address(operation)))
    for said in ("51 of 51", "51 jobs changed", "All that matched echo", "Who boss", "Why fixed", "Undo"):
        assert said in page
    assert scene.stored(late) == late
    logged = LogEntry.objects.get()
    assert logged.object_repr == f"operation {operation.id}"
    assert logged.change_message == "retry: 51 jobs: echo: fixed"


def test_few_that_match_are_done_at_once(boss: Client, engine: Engine, scene: Scene) -> None:
    jobs = failed(scene, 3)
    response = carry(boss, order_in(post(boss, MATCHING, "retry", status="failed")))
    assert response["Location"] == LIST
    assert told(response)[0].startswith("3 jobs run again. That begins in 10 s.")
    assert {scene.stored(job).status for job in jobs} == {JobStatus.SCHEDULED}


def test_a_search_that_is_partly_understood_finds_nothing_to_change(boss: Client, scene: Scene) -> None:
    failed(scene, 1)
    response = post(boss, MATCHING, "delete", q="eror:gateway")
    assert response["Location"] == LIST
    assert "only partly understood" in told(response)[0]


@pytest.mark.parametrize("queue", ["a\x85b", "x" * 301, "x" * 200_000], ids=["unfit", "long", "very long"])
def test_what_was_chosen_and_cannot_be_looked_for_is_refused(boss: Client, scene: Scene, queue: str) -> None:
    """It would be read as the name of another queue."""
    scene.add(queue="a b")
    response = post(boss, MATCHING, "delete", queue=queue)
    assert (response.status_code, response["Location"]) == (302, LIST)
    assert "only partly understood" in told(response)[0]


def test_conditions_that_no_job_fits_are_not_counted_as_one_of_them(
    boss: Client, engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LOOKED_AT", 400)
    engine.store.add([scene.job(queue="a") for _ in range(1_000)])
    assert "1,000" not in text_of(post(boss, MATCHING, "cancel", q="queue:a queue:b"))


def test_many_jobs_are_changed_with_a_reason_only(boss: Client, engine: Engine, scene: Scene) -> None:
    failed(scene, 100)
    order = order_in(post(boss, MATCHING, "retry"))
    refused = carry(boss, order)
    assert refused.status_code == 422
    assert "Please say why" in text_of(refused)
    assert carry(boss, order_in(refused), reason="fixed").status_code == 302
    assert carry(boss, order_in(post(boss, MATCHING, "delete", q="-id:0000")), reason="").status_code == 422


def test_a_thousand_jobs_are_deleted_by_typing_their_number(boss: Client, engine: Engine, scene: Scene) -> None:
    engine.store.add([scene.job() for _ in range(1_000)])
    shown = post(boss, MATCHING, "delete")
    assert "Type 1000 to confirm" in text_of(shown)
    for typed in ("", "100", "10000"):
        assert carry(boss, order_in(shown), reason="junk", typed=typed).status_code == 422
    assert carry(boss, order_in(shown), reason="junk", typed="1,000").status_code == 302


def test_the_number_typed_is_the_one_that_was_shown_whatever_has_come_since(
    boss: Client, engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LOOKED_AT", 400)
    old = engine.store.add([scene.job() for _ in range(1_000)])
    until(lambda: scene.store.now() > old[-1].created_at)
    shown = post(boss, MATCHING, "delete", queue="default")
    [late] = engine.store.add([scene.job()])
    refused = carry(boss, order_in(shown), reason="junk", typed="1001")
    assert "Delete 1,000 jobs?" in text_of(refused)
    assert "Type 1000 to confirm" in text_of(refused)
    assert carry(boss, order_in(refused), reason="junk", typed="1000").status_code == 302
    run_jobs(queues=["asyncjobs"])
    assert scene.found(queue="default") == [late]


def test_where_nobody_counted_the_jobs_that_is_said(
    boss: Client, engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LOOKED_AT", 400)
    rare = scene.failed(name="rare")
    later = rare.created_at + 1
    others = {"status": JobStatus.FAILED, "created_at": later, "updated_at": later, "completed_at": later}
    scene.store.add([scene.job(**others) for _ in range(500)])
    until(lambda: scene.store.now() > later)
    shown = post(boss, MATCHING, "delete", q="rare")
    assert "Delete: all jobs that match?" in text_of(shown)
    assert "nobody has counted them" in text_of(shown)
    assert carry(boss, order_in(shown), reason="junk", typed="0").status_code == 422
    assert carry(boss, order_in(shown), reason="junk", typed="all").status_code == 302
    [operation] = operations(engine)
    page = text_of(boss.get(address(operation)))
    assert "waits for a worker" in page
    assert "0 so far" in page
    run_jobs(queues=["asyncjobs"])
    assert "1 of 1" in text_of(boss.get(address(operation)))
    assert (scene.is_gone(rare), len(scene.found(status=JobStatus.FAILED))) == (True, 500)


def test_dead_jobs_of_a_group_are_counted_however_many(
    boss: Client, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LOOKED_AT", 400)
    job = scene.failed()
    scene.store.add([job.replace(id=job_id) for job_id in new_ids(999)])
    assert "Retry 1,000 jobs?" in text_of(post(boss, MATCHING, "retry", q=f"fault:{job.fault}", status="failed"))


def test_what_cannot_be_undone_is_said_before(boss: Client, scene: Scene) -> None:
    scene.started()
    scene.add()
    text = text_of(post(boss, MATCHING, "cancel"))
    assert "What is waiting can be brought back" in text
    assert "1 job running now: asked to stop, and that cannot be undone." in text


@pytest.fixture
def operation(boss: Client, engine: Engine, scene: Scene) -> Job:
    failed(scene, 3)
    return carried_out(engine, Order.of_search("", {}, deed="retry", frozen=engine.store.now(), by="1"))


def test_an_operation_is_undone_from_its_page_once(boss: Client, engine: Engine, operation: Job) -> None:
    response = boss.post(address(operation, "undo/"), {"next": LIST})
    assert response["Location"] == LIST
    assert told(response) == ["3 jobs are what they were."]
    assert statuses(engine) == {JobStatus.FAILED}
    [undo, _] = operations(engine)
    page = boss.get(address(operation)).content.decode()
    assert address(undo) in page
    assert address(operation, "undo/") not in page
    assert told(boss.post(address(operation, "undo/")))[-1] == "This is undone already, or just being undone."
    assert "Undo" in text_of(boss.get(address(undo)))
    assert told(boss.post(address(undo, "undo/")))[-1].startswith("Nothing of this can be undone")
    assert operations(engine) == [undo, operation]


def test_an_undo_that_was_stopped_can_be_ordered_anew(
    boss: Client, engine: Engine, operation: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations_view, "INLINE", 2)
    boss.post(address(operation, "undo/"))
    assert "It is being undone" in text_of(boss.get(address(operation)))
    [undo, _] = operations(engine)
    engine.cancel(undo.id)
    assert address(operation, "undo/") in boss.get(address(operation)).content.decode()
    boss.post(address(operation, "undo/"))
    run_jobs(queues=["asyncjobs"])
    assert "It was undone" in text_of(boss.get(address(operation)))
    assert statuses(engine) == {JobStatus.FAILED}


def test_an_operation_that_goes_on_is_stopped_and_not_undone(boss: Client, engine: Engine, scene: Scene) -> None:
    failed(scene, 3)
    waiting = submitted(engine, Order.of_search("", {}, deed="retry", frozen=engine.store.now(), by="1"))
    page = boss.get(address(waiting)).content.decode()
    assert "Stop it" in page
    assert address(waiting, "undo/") not in page
    assert told(boss.post(address(waiting, "undo/")))[0].startswith("Nothing of this can be undone, or not yet")
    boss.post(f"/admin/asyncjobs/dashboard/jobs/{waiting.id}/cancel/")
    stopped = boss.get(address(waiting))
    assert "It does not go on. What is left is ordered anew: choose from the jobs" in text_of(stopped)
    assert engine.get(waiting.id).status == JobStatus.CANCELED
    assert statuses(engine) == {JobStatus.FAILED}


def test_whoever_may_retry_jobs_cannot_have_a_stopped_deletion_go_on(
    engine: Engine, scene: Scene, client_as: ClientAs, staff_with: StaffWith
) -> None:
    [job] = failed(scene, 1)
    waiting = submitted(engine, Order.of_search("", {}, deed="delete", frozen=engine.store.now(), by="1"))
    stopped = engine.cancel(waiting.id)
    staff = client_as(staff_with("view_dashboard", "retry_job"))
    page = f"{JOBS}{stopped.id}/"
    assert f'formaction="{page}retry/"' not in staff.get(page).content.decode()
    refused = staff.post(f"{page}retry/", {"next": page})
    assert told(refused) == ["Nothing was done: operations are ordered anew, not run again."]
    shown = text_of(post(staff, PREVIEW, "retry", stopped.id))
    assert "1 job: operations are ordered anew, not run again" in shown
    assert engine.get(stopped.id) == stopped
    assert scene.stored(job) == job


def test_an_undo_wants_the_permission_of_what_it_undoes(
    engine: Engine, operation: Job, client_as: ClientAs, staff_with: StaffWith
) -> None:
    without = client_as(staff_with("view_dashboard", "delete_job", "cancel_job"))
    assert without.post(address(operation, "undo/")).status_code == 403
    assert "Undo" not in text_of(without.get(address(operation)))
    allowed = client_as(staff_with("view_dashboard", "retry_job"))
    assert allowed.post(address(operation, "undo/")).status_code == 302
    assert statuses(engine) == {JobStatus.FAILED}


def test_deleted_jobs_are_brought_back_while_they_rest(boss: Client, engine: Engine, scene: Scene) -> None:
    failed(scene, 2)
    deleted = carried_out(engine, Order.of_search("", {}, deed="delete", frozen=engine.store.now(), by="1"))
    page = text_of(boss.get(address(deleted)))
    assert "Undo" in page
    assert "They go for good" in page
    assert told(boss.post(address(deleted, "undo/"))) == ["2 jobs are what they were."]
    purged = carried_out(engine, Order.of_search("", {"queue": "q"}, deed="purge", frozen=engine.store.now(), by="1"))
    assert "Undo" not in text_of(boss.get(address(purged)))


def test_the_history_knows_of_an_order_before_it_is_carried_out(
    boss: Client, engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    [job] = failed(scene, 1)

    def failing(*given: Any) -> Any:
        assert LogEntry.objects.count() == 1
        raise StoreUnavailable("gone for a moment")

    with monkeypatch.context() as patch:
        patch.setattr(starting, "carry_out", failing)
        response = boss.post(f"{JOBS}{job.id}/retry/", {"next": LIST, "reason": "fixed"})
    assert told(response) == ["This was interrupted: a worker goes on with it."]
    run_jobs(queues=["asyncjobs"])
    assert scene.stored(job).status == JobStatus.SCHEDULED
    [operation] = operations(engine)
    logged = LogEntry.objects.get()
    assert logged.object_repr == f"operation {operation.id}"
    assert logged.change_message == f"retry: 1 job: {job.id}: fixed"


@pytest.mark.parametrize("deed", ["retry", "delete"])
def test_what_failed_without_a_word_is_undone_all_the_same(
    boss: Client, engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    monkeypatch.setattr(operations_view, "INLINE", 2)
    jobs = failed(scene, 3)
    order = Order.of_search("", {}, deed=deed, frozen=engine.store.now(), by="1")
    submitted(engine, order)
    [held] = scene.claim("asyncjobs")
    carry_out(engine, held, order, lambda tally: None)
    dead = scene.settle(transitions.fail, held, BOOM, delay=None)
    assert "Undo" in text_of(boss.get(address(dead)))
    response = boss.post(address(dead, "undo/"), {"next": LIST})
    undo = operations(engine)[0]
    assert response["Location"] == address(undo), "three jobs are too many for a request here"
    run_jobs(queues=["asyncjobs"])
    assert {scene.stored(job).status for job in jobs} == {JobStatus.FAILED}
    assert "3 of 3" in text_of(boss.get(address(undo)))


def test_a_poll_brings_what_is_new(boss: Client, operation: Job) -> None:
    first = boss.get(address(operation), {"_live": ""})
    [digest] = re.findall(r'name="_live" value="(\w+)"', first.content.decode())
    assert boss.get(address(operation), {"_live": digest}).status_code == 204


def test_a_poll_of_the_list_brings_how_far_those_on_it_are(boss: Client, engine: Engine, scene: Scene) -> None:
    failed(scene, 3)
    waiting = submitted(engine, Order.of_search("", {}, deed="retry", frozen=engine.store.now(), by="1"))
    assert f'<input type="hidden" name="id" value="{waiting.id}">' in boss.get(HOME).content.decode()
    assert text_of(boss.get(HOME, {"_live": "", "id": waiting.id})) == "queued 0 0"
    run_jobs(queues=["asyncjobs"])
    assert text_of(boss.get(HOME, {"_live": "", "id": waiting.id})) == "completed 3 0"
    assert boss.get(HOME, {"_live": "", "id": "no id"}).status_code == 400


def test_operations_are_listed_newest_first(boss: Client, engine: Engine, operation: Job) -> None:
    assert "Nothing was done to many jobs" not in text_of(boss.get(HOME))
    page = text_of(boss.get(HOME))
    assert "Retry completed 3 0" in page
    assert boss.get(HOME, {"after": "nonsense"}).status_code == 404


@pytest.mark.parametrize("job_id", ["nope", "00000000-0000-4000-8000-000000000000"])
def test_there_are_no_other_operations(boss: Client, engine: Engine, job_id: str) -> None:
    assert boss.get(f"{HOME}{job_id}/").status_code == 404
    assert boss.post(f"{HOME}{job_id}/undo/").status_code == 404


def test_a_job_of_another_name_is_no_operation(boss: Client, scene: Scene) -> None:
    assert boss.get(address(scene.add())).status_code == 404


def test_an_order_of_somebody_else_is_shown_as_unreadable(boss: Client, engine: Engine, operation: Job) -> None:
    [forged] = engine.store.add([operation.replace(id=Scene(engine.store, engine.store.now).job().id, payload="{}")])
    assert "An order that cannot be read" in text_of(boss.get(address(forged)))
    assert boss.post(address(forged, "undo/")).status_code == 403


def test_what_people_wrote_is_text(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed(name="x")
    order = Order.of_search("x", {}, deed="retry", frozen=engine.store.now(), by=HOSTILE).but(reason=HOSTILE)
    operation = carried_out(engine, order)
    for page in (boss.get(HOME), boss.get(address(operation)), boss.get(f"{JOBS}{job.id}/")):
        assert "<img" not in page.content.decode()
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page.content.decode()
