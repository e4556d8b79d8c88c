"""`manage.py jobs`: what operators see, change, and script against."""

import io
import json
from collections.abc import Iterator
from unittest import mock

import pytest

from asyncjobs import Engine, JobStatus, RetryPolicy
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain.job import FIELDS
from asyncjobs.stores.base import Change, Entry, Finding, Store
from asyncjobs.stores.memory import MemoryStore
from tests.backends import Backend
from tests.clock import Clock
from tests.commandline import Ran, jobs
from tests.scene import BOOM, Scene

NOW = "2025-10-09T08:53:20.000Z"


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene(MemoryStore(clock=clock), clock)


@pytest.fixture(autouse=True)
def engine(scene: Scene) -> Iterator[Engine]:
    engine = Engine(scene.store, Conf())
    before = exchange_engine(engine)
    yield engine
    exchange_engine(before)


def listed(*args: str) -> list[str]:
    return [job["id"] for job in jobs("list", "--json", *args).document["jobs"]]


def test_list_shows_the_newest_first(scene: Scene) -> None:
    old = scene.add(name="mail.send", queue="mail")
    scene.clock.advance(90_000)
    new = scene.add()
    head, first, second = jobs("list").out.splitlines()
    assert head.split() == ["ID", "STATUS", "QUEUE", "NAME", "CREATED"]
    assert first.split() == [new.id, "QUEUED", "default", "tests.echo", "0ms", "ago"]
    assert second.split() == [old.id, "QUEUED", "mail", "mail.send", "1m", "ago"]
    assert listed("--oldest-first") == [old.id, new.id]


def test_list_says_what_one_wants_to_know(scene: Scene) -> None:
    scene.delayed(120_000)
    scene.put(scene.delayed(120_000))
    scene.put(scene.delayed(120_000, retry_count=2))
    scene.started()
    scene.failed()
    lines = [line.split("ago", 1)[1].strip() for line in jobs("list").out.splitlines()[1:]]
    assert sorted(lines) == ["BOOM: it broke", "due in 2m", "on w1", "retry 2 due in 2m"]


def test_an_empty_list_is_no_failure() -> None:
    assert jobs("list") == Ran("No jobs.\n", "", 0)
    assert jobs("list", "--json").document == {"jobs": [], "next": ""}
    assert jobs("counts") == Ran("No queues.\n", "", 0)


def test_every_filter_filters(scene: Scene) -> None:
    scene.clock.advance(-3_600_000)
    wanted = scene.failed(name="a", queue="q", owner="ada", tags=("t",))
    scene.clock.advance(3_600_000)
    scene.add()
    for filters in (
        ["--status", "failed"],
        ["--status", "FAILED"],
        ["--queue", "q"],
        ["--name", "a"],
        ["--owner", "ada"],
        ["--tag", "t"],
        ["--created-before", "30m"],
        ["--created-before", "2025-10-09T08:00:00+00:00"],
        ["--created-after", "2h", "--created-before", "2025-10-09T08:53:00Z"],
    ):
        assert listed(*filters) == [wanted.id], filters
    assert len(listed("--created-after", "1d")) == 2
    assert listed("--name", "a", "--queue", "default") == []


def test_pages_follow_each_other(scene: Scene) -> None:
    ids = [scene.add(created_at=number).id for number in range(5)]
    first = jobs("list", "--limit", "2")
    assert len(first.out.splitlines()) == 3
    cursor = first.err.strip().removeprefix("There are more: --after ")
    assert listed("--limit", "2", "--after", cursor) == [ids[2], ids[1]]
    page = jobs("list", "--limit", "4", "--json").document
    assert listed("--after", page["next"]) == [ids[0]]


def test_show_tells_all_of_a_job(scene: Scene) -> None:
    job = scene.failed(payload='{"args":["é"],"kwargs":{}}', retry=RetryPolicy(), owner="ada")
    document = jobs("show", job.id, "--json").document
    assert list(document) == [*FIELDS, "attempts", "log"]
    assert (document["status"], document["created_at"], document["payload"]) == ("FAILED", NOW, job.payload)
    assert document["error"]["code"] == BOOM.code
    assert document["retry"]["kind"] == "exponential"
    text = jobs("show", job.id.upper()).out
    assert f"created_at    {NOW} (0ms ago)" in " ".join(text.split(" "))
    assert "owner         ada" in text
    assert "error         BOOM: builtins.ValueError it broke" in text
    assert text.endswith("    line 1\n    line 2\n")
    assert "cancel_requested" not in text


def test_show_tells_of_the_attempts_and_the_log(scene: Scene) -> None:
    started = scene.started()
    error = {"code": "BOOM", "message": "it\x1b broke", "type": "a.B", "traceback": "x\ny\x07"}
    said = {"attempt": 1, **error, "worker": "w1"}
    attempts = [Entry("attempt", scene.clock(), json.dumps(said)), Entry("attempt", scene.clock(), "[1]")]
    log = [Entry("log", scene.clock(), f"line\n{number}") for number in range(1, 31)]
    scene.store.swap([Change(started, started, (*attempts, *log))])
    document = jobs("show", started.id, "--json").document
    assert document["attempts"][0] == {"number": 1, "at": NOW} | said
    assert document["attempts"][1]["message"] == "[1]"
    assert document["log"][0] == {"number": 1, "at": NOW, "text": "line\n1"}
    assert len(document["log"]) == 30
    text = jobs("show", started.id).out
    assert f"attempt 1 on w1 ended {NOW} (0ms ago)\n    BOOM: a.B it\\x1b broke\n    x\n    y\\x07\n" in text
    assert f"log, lines 11 to 30\n    {NOW}  line\\n11\n" in text


def test_counts_show_every_queue(scene: Scene, engine: Engine) -> None:
    scene.failed(queue="mail")
    scene.add(queue="mail")
    scene.clock.advance(5_000)
    engine.pause("mail", reason="upgrade", until=3_600)
    scene.add(queue="web")
    head, mail, web = jobs("counts").out.splitlines()
    assert head.split() == ["QUEUE", *(status.name for status in JobStatus), "OLDEST"]
    assert mail.split() == [
        *("mail", "1", "0", "0", "0", "0", "1", "0", "5s"),
        *("paused", "until", "2025-10-09T09:53:25.000Z:", "upgrade"),
    ]
    assert web.split() == ["web", "1", "0", "0", "0", "0", "0", "0", "0ms"]
    [only] = jobs("counts", "--queue", "mail", "--json").document["queues"]
    assert (only["queue"], only["counts"]["FAILED"], only["oldest_at"]) == ("mail", 1, NOW)
    assert only["pause"]["reason"] == "upgrade"


def test_cancel_takes_ids(scene: Scene, engine: Engine) -> None:
    second, first = scene.started(), scene.add()
    assert jobs("cancel", first.id, second.id, "--reason", "over") == Ran("cancel: 2 jobs\n", "", 0)
    canceled = engine.get(first.id)
    assert canceled.error is not None
    assert canceled.error.message == "over"
    assert engine.get(second.id).cancel_requested is not None


def test_what_fails_is_told_job_by_job(scene: Scene) -> None:
    done, fine, gone = scene.completed(), scene.add(), "00000000-0000-4000-8000-000000000000"
    ran = jobs("cancel", done.id, fine.id, gone, "nonsense")
    assert (ran.out, ran.code) == ("cancel: 1 job\n", 1)
    assert [line.split("]")[0] for line in ran.err.splitlines()] == [
        "[INVALID_TRANSITION",
        "[JOB_NOT_FOUND",
        "[INVALID_JOB_ID",
    ]
    document = jobs("delete", gone, fine.id, "--json").document
    assert (document["verb"], document["done"], document["skipped"]) == ("delete", 1, 0)
    assert document["errors"] == [{"id": gone, "code": "JOB_NOT_FOUND", "message": f"there is no job {gone}"}]


def test_cancel_retry_and_delete_take_filters(scene: Scene, engine: Engine) -> None:
    for _ in range(3):
        scene.failed(queue="mail")
    scene.add(queue="web")
    assert jobs("retry", "--queue", "mail", "--limit", "2") == Ran("retry: 2 jobs\n", "", 0)
    assert jobs("cancel", "--queue", "mail", "--yes", "--json").document["done"] == 2
    assert jobs("delete", "--queue", "mail", "--yes") == Ran("delete: 3 jobs\n", "", 0)
    assert jobs("delete", "--all", "--yes") == Ran("delete: 1 job\n", "", 0)


def test_what_is_deleted_is_in_the_trash_and_can_be_restored(scene: Scene) -> None:
    assert jobs("trash") == Ran("The trash is empty.\n", "", 0)
    old, new = scene.failed(queue="mail"), scene.add()
    for job in (old, new):
        jobs("delete", job.id)
        scene.clock.advance(60_000)
    ran = jobs("trash", "--limit", "1")
    head, line = ran.out.splitlines()
    assert head.split() == ["ID", "STATUS", "QUEUE", "NAME", "DELETED", "UNTIL"]
    assert line.split() == [new.id, "QUEUED", "default", "tests.echo", "1m", "ago", "in", "23h"]
    cursor = ran.err.strip().removeprefix("There are more: --after ")
    [document] = jobs("trash", "--after", cursor, "--json").document["jobs"]
    assert list(document) == [*FIELDS, "deleted_at", "rests_until"]
    assert (document["id"], document["deleted_at"]) == (old.id, NOW)
    assert jobs("restore", old.id, new.id) == Ran("restore: 2 jobs\n", "", 0)
    assert not scene.is_gone(old)
    assert not scene.is_gone(new)


def test_what_is_not_in_the_trash_is_not_restored(scene: Scene) -> None:
    ran = jobs("restore", scene.job().id, "7")
    assert (ran.out, ran.code) == ("restore: 0 jobs\n", 1)
    assert "none in the trash" in ran.err
    assert "[INVALID_JOB_ID]" in ran.err


def test_nothing_matched_is_a_failure() -> None:
    for verb in ("cancel", "retry", "delete"):
        ran = jobs(verb, "--queue", "none", *["--yes"] * (verb != "retry"))
        assert (ran.out, ran.code) == (f"{verb}: 0 jobs\n", 1)


@pytest.mark.parametrize("args", [["cancel", "--all"], ["delete", "--queue", "default"], ["purge", "default"]])
def test_without_a_terminal_much_must_be_confirmed_by_a_flag(scene: Scene, args: list[str]) -> None:
    job = scene.add()
    ran = jobs(*args)
    assert (ran.out, ran.code) == ("", 2)
    assert ran.err.endswith("Confirm with --yes.")
    assert scene.stored(job) == job


@pytest.mark.parametrize(("reply", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_at_a_terminal_it_asks(scene: Scene, reply: str, code: int) -> None:
    job = scene.add()
    with mock.patch("sys.stdin", io.StringIO(reply)) as stdin:
        stdin.isatty = lambda: True  # type: ignore[method-assign]
        ran = jobs("purge", "default")
    assert ran.code == code
    assert ran.err.startswith("This removes every job of queue default that has not started, for good. Go on? [y/N]")
    assert scene.is_gone(job) == (code == 0)


def test_purge_empties_a_queue(scene: Scene) -> None:
    scene.add()
    assert jobs("purge", "default", "--yes", "--json").document["done"] == 1
    assert jobs("purge", "default", "--yes") == Ran("purge: 0 jobs\n", "", 0)


def test_pause_and_resume(engine: Engine, scene: Scene) -> None:
    assert jobs("pause", "mail", "--until", "2h", "--reason", "upgrade") == Ran(
        "Paused mail until 2025-10-09T10:53:20.000Z.\n", "No queue has been called mail before.\n", 0
    )
    [counts] = engine.counts()
    assert counts.pause is not None
    assert (counts.pause.reason, counts.pause.until) == ("upgrade", scene.clock() + 7_200_000)
    assert jobs("resume", "mail") == Ran("Resumed mail.\n", "", 0)
    assert jobs("resume", "mail") == Ran("It was not paused.\n", "", 1)
    scene.add(queue="mail")
    assert jobs("pause", "mail") == Ran("Paused mail.\n", "", 0)
    assert jobs("pause", "mail", "--json").document == {"queue": "mail", "until": None}


def test_check_is_silent_success_or_says_what_it_found(scene: Scene) -> None:
    assert jobs("check") == Ran("All jobs and indexes agree.\n", "", 0)
    broken = Finding(code="ASTRAY", message="job 1 is astray", job_id="1")
    healed = Finding(code="ASTRAY", message="job 2 was astray", job_id="2", fixed=True)
    with mock.patch.object(scene.store, "check", side_effect=lambda fix: [healed] if fix else [broken, healed]):
        assert jobs("check") == Ran("found ASTRAY: job 1 is astray\nhealed ASTRAY: job 2 was astray\n", "", 1)
        assert jobs("check", "--fix") == Ran("healed ASTRAY: job 2 was astray\n", "", 0)
        found = jobs("check", "--json")
    assert found.code == 1
    assert found.document["findings"][0] == {
        "code": "ASTRAY",
        "message": "job 1 is astray",
        "job_id": "1",
        "fixed": False,
    }


def test_every_verb_works_on_every_store(store: Store, backend: Backend, clock: Clock) -> None:
    exchange_engine(Engine(store, Conf(database=getattr(backend, "alias", "default"))))
    scene = Scene(store, clock)
    scene.failed()
    job = scene.add()
    for args in (
        ["list"],
        ["show", job.id],
        ["counts"],
        ["cancel", job.id],
        ["retry", "--all"],
        ["delete", job.id],
        ["trash"],
        ["restore", job.id],
        ["purge", "default", "--yes"],
        ["pause", "default"],
        ["resume", "default"],
        ["check", "--fix"],
    ):
        ran = jobs(*args, "--json")
        assert ran.code == 0, ran
        assert ran.document
