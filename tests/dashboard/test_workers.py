"""The page of workers, and the orders given there."""

import json
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from asyncjobs import Engine
from asyncjobs.dashboard.crews import Crew, crews, ended, serving
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import WorkerRecord
from tests.dashboard.conftest import ClientAs, StaffWith

PAGE = reverse("admin:asyncjobs_workers")
ORDER = reverse("admin:asyncjobs_worker_order")
LEASE = 30_000
NOW = 1_000_000_000
HOSTILE = "</script><img src=x onerror=alert(1)>{{7*7}}\u202e\x1b"
SAID: dict[str, Any] = {"name": "w1", "host": "h1", "supervisor": 7, "since": 1.0, "queues": ["*"], "state": "working"}


def beat(engine: Engine, worker: str = "p1", **facts: Any) -> None:
    engine.store.beat(worker, {}, lease=LEASE, about=json.dumps(SAID | {"pid": 8} | facts))


def record(worker: str = "p1", *, silence: int = 0, order: str = "", **facts: Any) -> WorkerRecord:
    return WorkerRecord(worker, NOW - silence, json.dumps(SAID | facts), order)


def found(*records: WorkerRecord) -> list[Crew]:
    return crews(records, now=NOW, lease=LEASE)


def text(client: Client, **params: Any) -> str:
    response = client.get(PAGE, params)
    assert response.status_code == 200
    return response.content.decode()


def key_on(page: str) -> str:
    return re.findall(r'name="worker" value="(\w+)"', page)[0]


def give(client: Client, order: str, worker: str) -> list[str]:
    """What is said afterwards."""
    response = client.post(ORDER, {"next": PAGE, "order": order, "worker": worker}, follow=True)
    return [str(message) for message in response.context["messages"]]


def orders(engine: Engine) -> dict[str, str]:
    return {record.worker: record.order for record in engine.store.workers()}


def test_processes_of_one_worker_come_together() -> None:
    [first, second] = found(record("p1"), record("p2"), record("p3", supervisor=9))
    assert sorted(len(crew.processes) for crew in (first, second)) == [1, 2]
    assert first.key != second.key


def test_those_that_fell_silent_come_first() -> None:
    [first, second] = found(record("p1", name="a"), record("p2", name="b", silence=LEASE + 1))
    assert (first.name, first.is_silent, second.is_silent) == ("b", True, False)
    assert [process.state for process in first.processes] == ["silent"]


def test_one_is_silent_after_a_lease_and_not_before() -> None:
    assert not found(record(silence=LEASE))[0].is_silent
    assert found(record(silence=LEASE + 1))[0].is_silent


def test_those_that_have_ended_come_apart() -> None:
    records = [record("p1", state="ended", exitcode=-9, silence=5), record("p2", state="ended"), record("p3")]
    assert [process.id for crew in found(*records) for process in crew.processes] == ["p3"]
    assert [(name, process.id) for name, _, process in ended(records, limit=2)] == [("w1", "p2"), ("w1", "p1")]
    assert len(ended(records, limit=1)) == 1


@pytest.mark.parametrize(
    ("order", "state", "left"),
    [
        ("quiet", "working", "quiet"),
        ("quiet", "quiet", ""),
        ("work", "quiet", "work"),
        ("work", "working", ""),
        ("stop", "quiet", "stop"),
        ("stop", "ending", ""),
        ("", "working", ""),
        ("dance", "working", ""),
    ],
)
def test_an_order_is_told_until_it_is_obeyed(order: str, state: str, left: str) -> None:
    [crew] = found(record(order=order, state=state))
    assert [process.order for process in crew.processes] == [left]


@pytest.mark.parametrize(
    ("queues", "exclude", "serves"),
    [
        (["*"], [], True),
        (["mail"], [], True),
        (["m*"], ["ma*"], False),
        (["mail"], ["mail"], False),
        (["x"], [], False),
    ],
)
def test_which_queues_a_worker_serves(queues: list[str], exclude: list[str], serves: bool) -> None:  # noqa: FBT001 - a parameter
    workers = found(record(queues=queues, exclude=exclude))
    assert bool(serving(workers, "mail")) is serves


@pytest.mark.parametrize(
    "about", ["", "no json", "[]", "null", '{"queues": 7, "jobs": "x", "pid": [], "since": "now"}']
)
def test_a_record_that_says_nothing_of_use_is_a_worker_by_itself(about: str) -> None:
    [crew] = found(WorkerRecord("p1", NOW, about))
    assert (crew.name, crew.queues, crew.since, crew.processes[0].pid) == ("p1", (), None, None)
    assert not crew.serves("mail")


def test_only_ids_of_jobs_are_links() -> None:
    [job_id] = new_ids(1)
    [crew] = found(record(jobs=[job_id, "../../admin", 7, None], running=4))
    assert crew.processes[0].jobs == (job_id,)


def test_without_workers_the_page_says_how_to_start_one(engine: Engine, boss: Client) -> None:
    assert "runjobworker" in text(boss)


def test_the_page_says_who_lives_and_what_runs(engine: Engine, boss: Client) -> None:
    [job_id] = new_ids(1)
    beat(engine, jobs=[job_id], running=1, memory=50_000_000, version="1.2", threads=4)
    beat(engine, "p2", pid=9)
    page = text(boss)
    assert reverse("admin:asyncjobs_job", args=[job_id]) in page
    for fact in ("version 1.2", "4 threads each", "all queues", "47.7\xa0MB", "working", "idle"):
        assert fact in page


def test_a_poll_brings_what_has_its_place_on_the_page(engine: Engine, boss: Client) -> None:
    beat(engine)
    news, page = text(boss, _live=""), text(boss)
    ids = set(re.findall(r'id="([^"]+)" hx-swap-oob', news)) - {"aj-rev"}
    assert ids <= set(re.findall(r'id="([^"]+)"', page))
    assert "<tr" not in news
    [digest] = re.findall(r'name="_live" value="(\w+)"', news)
    assert boss.get(PAGE, {"_live": digest}).status_code == 204


def test_a_poll_tells_of_processes_that_the_page_does_not_have(engine: Engine, boss: Client) -> None:
    beat(engine)
    [seen] = re.findall(r'name="seen" value="(\w+)"', text(boss))
    assert "come or gone" not in text(boss, _live="", seen=seen)
    beat(engine, "p2")
    assert "come or gone" in text(boss, _live="", seen=seen)


@pytest.mark.parametrize("order", ["quiet", "work", "stop"])
def test_an_order_is_for_all_processes_of_a_worker_and_no_other(engine: Engine, boss: Client, order: str) -> None:
    beat(engine)
    key = key_on(text(boss))
    beat(engine, "p2")  # it came after the page was made
    beat(engine, "p3", supervisor=99)
    beat(engine, "p4", state="ended")
    [said] = give(boss, order, key)
    assert said.startswith("Worker w1 ")
    assert orders(engine) == {"p1": order, "p2": order, "p3": "", "p4": ""}
    assert LogEntry.objects.get().object_repr == "worker w1 on h1"


def test_what_a_worker_says_is_text_in_messages_and_in_the_history(engine: Engine, boss: Client) -> None:
    beat(engine, name=HOSTILE)
    [said] = give(boss, "stop", key_on(text(boss)))
    assert not re.search("[\u202e\x1b]", said + LogEntry.objects.get().object_repr)
    give(boss, "stop", key_on(text(boss)))
    assert "<img src=x" not in boss.get(PAGE).content.decode()


@pytest.mark.parametrize(("order", "worker"), [("dance", ""), ("stop", "nobody"), ("", "")])
def test_an_order_that_is_none_or_for_nobody_is_not_given(
    engine: Engine, boss: Client, order: str, worker: str
) -> None:
    beat(engine)
    [said] = give(boss, order, worker or key_on(text(boss)))
    assert "nothing was ordered" in said
    assert orders(engine) == {"p1": ""}
    assert not LogEntry.objects.exists()


def test_orders_are_offered_to_those_who_may_give_them(
    engine: Engine, client_as: ClientAs, staff_with: StaffWith
) -> None:
    beat(engine)
    assert ORDER not in text(client_as(staff_with("view_dashboard", "pause_queue")))
    assert ORDER in text(client_as(staff_with("view_dashboard", "control_worker")))
