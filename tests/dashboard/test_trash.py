"""The trash: staff see what was deleted, by whom and why, and put it back."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.test import Client

from asyncjobs import Engine, Job
from asyncjobs.actions import action_entry, read_action
from asyncjobs.dashboard.views import trash
from asyncjobs.domain.job import JobStatus
from asyncjobs.testing import memory_jobs
from tests.dashboard.conftest import ClientAs, StaffWith
from tests.dashboard.test_job import HOSTILE, Poll, address, text_of
from tests.dashboard.test_preview import confirm
from tests.scene import Scene

TRASH, RESTORE = "/admin/asyncjobs/dashboard/trash/", "/admin/asyncjobs/dashboard/trash/restore/"


@pytest.fixture
def scene(engine: Engine) -> Scene:
    return Scene(engine.store, engine.store.now)


def deleted(scene: Scene, engine: Engine, **fields: Any) -> Job:
    job = scene.failed(**fields)
    engine.delete(job.id)
    return job


def restore(client: Client, *ids: str, **more: Any) -> list[str]:
    response = client.post(RESTORE, {"id": ids, "next": TRASH, **more})
    assert (response.status_code, response["Location"]) == (302, TRASH)
    return [str(message) for message in get_messages(response.wsgi_request)]


def actions(engine: Engine, job: Job) -> list[dict[str, Any]]:
    return [read_action(entry) for entry in engine.store.journal(job.id, "action")]


def test_an_empty_trash_says_so(boss: Client, engine: Engine) -> None:
    text = text_of(boss.get(TRASH))
    assert "The trash is empty." in text
    assert "rests here for 24 hours" in text


def test_a_deleted_job_is_listed_with_who_deleted_it_and_why(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed(queue="mail")
    boss.post(address(job, "delete/"), {"next": address(job), "reason": "sent twice"})
    page = boss.get(TRASH)
    row = text_of(page)[text_of(page).index("Goes for good") :]
    for said in ("failed", "tests.echo", job.id[:8], "mail", "boss", "sent twice"):
        assert said in row
    assert f'href="{address(job)}"' in page.content.decode()
    assert TRASH in boss.get("/admin/asyncjobs/dashboard/jobs/").content.decode()


def test_chosen_jobs_are_put_back(boss: Client, engine: Engine, scene: Scene) -> None:
    first, second, third = (deleted(scene, engine) for _ in range(3))
    assert restore(boss, first.id, second.id) == ["2 jobs were restored."]
    assert engine.get(first.id).version == first.version + 1
    assert [rest.job.id for rest in engine.trash().resting] == [third.id]
    logged = LogEntry.objects.get()
    assert actions(engine, first) == [{"action": "restore", "by": str(logged.user_id)}]
    assert second.id in logged.change_message
    assert "boss restored it from the trash" in text_of(boss.get(address(first)))


def test_the_button_of_a_row_restores_that_one_whatever_is_chosen(boss: Client, engine: Engine, scene: Scene) -> None:
    first, second = deleted(scene, engine), deleted(scene, engine)
    assert restore(boss, first.id, only=second.id) == ["1 job was restored."]
    assert [rest.job.id for rest in engine.trash().resting] == [first.id]


def test_what_is_not_there_any_more_is_told(boss: Client, engine: Engine, scene: Scene) -> None:
    job = deleted(scene, engine)
    assert restore(boss, job.id, str(uuid4())) == ["1 job was restored.", "1 job is not in the trash any more."]


def test_nothing_chosen_nothing_done(boss: Client, engine: Engine) -> None:
    assert restore(boss) == ["No jobs were selected."]
    assert LogEntry.objects.count() == 0


def test_a_job_that_is_there_is_not_put_back(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    assert restore(boss, job.id) == ["1 job is not in the trash any more."]
    assert LogEntry.objects.count() == 0
    assert actions(engine, job) == []


@pytest.mark.parametrize("ids", [["nope"], [str(uuid4()) for _ in range(201)]], ids=["no id", "too many"])
def test_what_no_form_of_ours_sends_is_refused(boss: Client, engine: Engine, ids: list[str]) -> None:
    assert boss.post(RESTORE, {"id": ids}).status_code == 400
    assert boss.get(RESTORE).status_code == 405


def test_pages_follow_each_other(boss: Client, engine: Engine, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trash, "ROWS", 2)
    jobs = {deleted(scene, engine).id for _ in range(3)}
    first = boss.get(TRASH).content.decode()
    [older] = re.findall(r'href="(\?after=[^"]*)"', first)
    second = boss.get(TRASH + older).content.decode()
    assert {*re.findall('name="id" value="(.*?)"', first), *re.findall('name="id" value="(.*?)"', second)} == jobs
    assert "Older" not in second
    assert f'href="{TRASH}"' in second
    assert boss.get(TRASH, {"after": "nonsense"})["Location"] == TRASH


def test_the_page_of_a_job_in_the_trash_offers_it_back(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    boss.post(address(job, "delete/"), {"next": address(job), "reason": "no use"})
    page = boss.get(address(job))
    assert page.status_code == 200
    text = text_of(page)
    assert "This job is in the trash" in text
    assert "by boss" in text
    assert "no use" in text
    back = boss.post(RESTORE, {"only": job.id, "next": address(job)}, follow=True)
    assert back.redirect_chain == [(address(job), 302)]
    assert back.status_code == 200
    assert "boss deleted it" in text_of(back)


def test_an_open_page_says_that_its_job_rests(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    poll = Poll(boss, job)
    engine.delete(job.id)
    assert "It rests in the trash." in poll().content.decode()


def test_before_a_job_is_deleted_it_is_said_for_how_long_it_rests(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    assert "rests in the trash for 24 hours" in text_of(boss.get(address(job)))
    preview = boss.post("/admin/asyncjobs/dashboard/chosen/", {"act": "delete", "id": [job.id], "next": TRASH})
    assert "They rest in the trash for 24 hours" in text_of(preview)


def test_jobs_that_were_chosen_from_a_list_say_who_deleted_them(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    confirm(boss, "delete", job.id, reason="too many")
    [rest] = engine.trash().resting
    assert rest.note is not None
    assert read_action(rest.note)["reason"] == "too many"
    assert abs(rest.note.at - rest.at) < 1_000
    assert "too many" in text_of(boss.get(TRASH))


def test_of_a_job_that_a_program_deleted_nobody_is_named(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.failed()
    engine.note(job.id, action_entry("retry", by="1", now=5, reason="an older story"))
    engine.delete(job.id)
    assert "an older story" not in text_of(boss.get(TRASH))


def test_a_site_without_a_trash_says_what_a_delete_does(boss: Client, settings: Any) -> None:
    settings.ASYNCJOBS = {"TRASH": 0}
    with memory_jobs() as engine:
        job = Scene(engine.store, engine.store.now).failed()
        assert "what is deleted goes for good at once" in text_of(boss.get(TRASH))
        assert "The job goes for good" in text_of(boss.get(address(job)))


def test_restoring_needs_the_permission_to_delete(
    client_as: ClientAs, staff_with: StaffWith, engine: Engine, scene: Scene
) -> None:
    job = deleted(scene, engine)
    assert Client().post(RESTORE, {"id": job.id}).status_code == 302
    for lacking in ((), ("delete_job",), ("view_dashboard", "retry_job", "cancel_job")):
        assert client_as(staff_with(*lacking)).post(RESTORE, {"id": job.id}).status_code == 403
    onlooker = client_as(staff_with("view_dashboard"))
    for url in (TRASH, address(job)):
        page = onlooker.get(url).content.decode()
        assert job.id in page
        assert 'name="only"' not in page
    assert engine.rests(job.id)
    restore(client_as(staff_with("view_dashboard", "delete_job")), job.id)
    assert engine.get(job.id).status == JobStatus.FAILED


def test_a_form_without_the_token_is_refused(boss: Client, engine: Engine, scene: Scene) -> None:
    job = deleted(scene, engine)
    boss.handler.enforce_csrf_checks = True
    assert boss.post(RESTORE, {"id": job.id}).status_code == 403
    assert engine.rests(job.id)


def test_what_others_wrote_is_text(boss: Client, engine: Engine, scene: Scene) -> None:
    job = scene.add(name=HOSTILE, queue=HOSTILE)
    engine.delete(job.id, note=action_entry("delete", by=HOSTILE, now=5, reason=HOSTILE))
    for url in (TRASH, address(job)):
        page = boss.get(url).content.decode()
        assert "<img" not in page
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page
        assert "onerror=alert(1)" in page
