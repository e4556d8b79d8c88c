"""`manage.py runjobworker`, as people and programs use it. Real processes."""

import json
import os
import re
import socket
import threading
from pathlib import Path

import pytest
import redis

from asyncjobs.conf import get_conf
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.ids import new_ids
from asyncjobs.stores.redis import RedisStore
from asyncjobs.stores.redis.connection import client_from_url
from tests.servers import free_port, valkey_url
from tests.worker import jobs
from tests.worker.conftest import World
from tests.workers import Site, Worker, site, until


@pytest.fixture
def kind() -> str:
    return "valkey"


@pytest.fixture
def offline(tmp_path: Path) -> Site:
    """A site for workers that do not get as far as the store."""
    return Site(tmp_path)


def ended(worker: Worker, code: int) -> str:
    assert worker.wait() == code, worker.said()
    worker.close()
    return worker.said()


def abouts(world: World) -> list[dict[str, object]]:
    return [json.loads(record.about) for record in world.store.workers()]


def test_a_worker_says_what_it_is_going_to_do(world: World) -> None:
    worker = world.site.start("--burst", "--processes=2", "--queues=a,b*", "--exclude=b1", "--name=alpha", "--lease=9")
    said = ended(worker, 0)
    assert re.search(r"^asyncjobs \S+ · alpha$", said, re.MULTILINE)
    assert re.search(r"^  store +.*127\.0\.0\.1", said, re.MULTILINE)
    assert re.search(r"^  queues +a, b\*, but b1$", said, re.MULTILINE)
    assert re.search(r"^  handlers +tests\.worker\.jobs\.answers.* and \d+ more$", said, re.MULTILINE)
    assert re.search(r"^  children +2, each 1 threads and 100 coroutines$", said, re.MULTILINE)
    assert re.search(r"^  lease +9 s; grace 20 s$", said, re.MULTILINE)


@pytest.mark.slow
def test_logs_for_programs_are_one_document_a_line(world: World) -> None:
    failing, canceled = jobs.boom.submit("two\nlines"), jobs.polite.submit(30)
    worker = world.site.start("--processes=1", "--threads=2", "--json-logs", "--skip-checks")
    until(lambda: world.running(canceled))
    world.engine.cancel(canceled.id)
    world.ended(failing, canceled)
    assert worker.stop() == 0
    documents = [json.loads(line) for line in worker.said().splitlines()]
    assert "store" in documents[0]["message"]
    by_job = {document["job_id"]: document for document in documents if "job_id" in document}
    assert "two\nlines" in by_job[failing.id]["message"]
    assert "canceled" in by_job[canceled.id]["message"]
    assert {"time", "level", "logger", "pid", "message"} <= documents[-1].keys()


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--queues=a b"], "a queue name is"),
        (["--queues=,"], "name at least one queue"),
        (["--exclude=a/b"], "a queue name is"),
        (["--processes=0"], "is no number from 1"),
        (["--processes=1.5"], "is no whole number"),
        (["--threads=many"], "is no number from 1"),
        (["--lease=nan"], "is no number from 1"),
        (["--lease=0.1"], "is no number from 1"),
        (["--grace=-1"], "is no number from 0"),
        (["--name="], "the name is empty"),
        (["--dev-redis"], 'set ASYNCJOBS = {"STORE": "redis"'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_clear_line_and_exit_code_2(offline: Site, flags: list[str], what: str) -> None:
    said = ended(offline.start(*flags), 2)
    assert what in said.splitlines()[-1]
    assert "Traceback" not in said


def test_jobs_in_memory_are_no_jobs_for_a_worker(tmp_path: Path) -> None:
    said = ended(Site(tmp_path, settings={"STORE": "memory"}).start("--skip-checks"), 2)
    assert said.count("\n") == 1
    assert "Jobs in memory cannot be seen from another process" in said


def test_a_probe_finds_a_live_worker_by_machine_and_by_name(world: World) -> None:
    world.site.start("--processes=1", "--name=alpha")
    until(lambda: any(about["name"] == "alpha" for about in abouts(world)))
    checks = [world.site.start("--check"), world.site.start("--check", "--name=alpha")]
    assert [ended(check, 0).splitlines()[-1] for check in checks] == ["Alive."] * 2
    assert "no worker of this machine" in ended(world.site.start("--check", "--name=beta"), 1)


def test_a_probe_finds_no_worker_where_there_was_none_and_when_it_has_ended(world: World) -> None:
    assert "no worker of this machine" in ended(world.site.start("--check"), 1)
    worker = world.site.start("--processes=1")
    until(lambda: abouts(world))
    assert worker.stop() == 0
    assert [about["state"] for about in abouts(world)] == ["ended"]
    assert "no worker of this machine" in ended(world.site.start("--check"), 1)


def test_a_probe_fails_when_the_store_cannot_be_reached(tmp_path: Path) -> None:
    away = Site(tmp_path, redis=f"redis://127.0.0.1:{free_port()}/0")
    said = ended(away.start("--check"), 1)
    assert "STORE_UNAVAILABLE" in said
    assert "Traceback" not in said


def test_records_have_the_documented_facts(world: World) -> None:
    worker = world.site.start("--processes=1", "--threads=2", "--name=alpha", "--queues=default,b*")
    job = jobs.nap.submit(30)
    until(lambda: any(about["jobs"] for about in abouts(world)))
    [about] = abouts(world)
    [record] = world.store.workers()
    assert record.worker == world.stored(job).worker
    assert (
        about.items()
        >= {
            "name": "alpha",
            "host": socket.gethostname(),
            "supervisor": worker.pid,
            "pid": worker.children()[0],
            "queues": ["default", "b*"],
            "threads": 2,
            "async_concurrency": 100,
            "jobs": [job.id],
            "running": 1,
            "state": "working",
        }.items()
    )
    assert isinstance(about["memory"], int)
    assert about["memory"] > 10_000_000


def test_a_worker_tells_of_itself_and_its_children(world: World) -> None:
    world.site.environment["WORKER_TEST_SIGNALS"] = "1"
    worker = world.site.start("--processes=1", "--name=alpha")
    until(lambda: "signal worker_started" in worker.said())
    [pid] = until(worker.children)
    assert worker.stop() == 0, worker.said()
    told = re.findall(r"^signal (\w+) None (.*)$", worker.said(), re.MULTILINE)
    assert [name for name, _ in told] == [
        "child_started",
        "worker_started",
        "worker_stopping",
        "child_ended",
        "worker_stopped",
    ]
    facts = dict(told)
    assert facts["worker_started"] == facts["worker_stopping"] == facts["worker_stopped"] == "worker='alpha'"
    assert re.fullmatch(rf"pid={pid} worker='[0-9a-f-]{{36}}'", facts["child_started"])
    assert re.fullmatch(rf"exitcode=0 pid={pid} worker='[0-9a-f-]{{36}}'", facts["child_ended"])


SHOP = """
import time
from asyncjobs import job
from tests.worker.jobs import effect

@job(name="shop.version")
def version(seconds):
    effect("start")
    time.sleep(seconds)
    effect("{0}")
"""


def submit_version(world: World, seconds: float) -> Job:
    job = Job(id=new_ids(1)[0], name="shop.version", payload=json.dumps({"args": [seconds], "kwargs": {}}))
    return world.engine.submit(job.replace(created_at=world.store.now()))


@pytest.mark.slow
def test_a_worker_runs_new_code_once_it_is_there_and_loses_no_job(world: World, tmp_path: Path) -> None:
    shop = tmp_path / "code" / "shop"
    shop.mkdir(parents=True)
    (shop / "__init__.py").touch()
    (shop / "jobs.py").write_text(SHOP.format("old code"))
    environment = world.site.environment
    environment["PYTHONPATH"] += os.pathsep + str(shop.parent)
    environment |= {"WORKER_TEST_APPS": "shop", "PYTHONDONTWRITEBYTECODE": "1"}
    worker = world.site.start("--processes=1", "--reload")
    world.ended(submit_version(world, 0))
    in_flight = submit_version(world, 0.5)
    until(lambda: world.running(in_flight))
    before = worker.children()
    (shop / "jobs.py").write_text(SHOP.format("the new code"))
    until(lambda: "starting again" in worker.said())
    [first] = world.ended(in_flight)
    assert (first.status, first.attempt) == (JobStatus.COMPLETED, 1)
    after = submit_version(world, 0)
    world.ended(after)
    words = {effect.job_id: effect.word for effect in world.site.effects()}
    assert (words[in_flight.id], words[after.id]) == ("old code", "the new code")
    assert worker.process.poll() is None
    assert worker.children() != before
    assert worker.stop() == 0, worker.said()


@pytest.mark.slow
def test_a_child_that_has_grown_too_big_is_replaced(world: World) -> None:
    worker = world.site.start("--processes=1", "--max-memory=300")
    grown = jobs.grows.submit(400)
    world.ended(grown)
    [effect] = world.site.effects("start")
    until(lambda: effect.pid not in worker.children(), seconds=20)
    [after] = world.ended(jobs.quick.submit())
    assert after.status == JobStatus.COMPLETED
    assert world.stored(grown).status == JobStatus.COMPLETED
    assert world.site.effects("end")[0].pid != effect.pid


def at(port: int) -> str:
    return f"redis://127.0.0.1:{port}/0"


def test_a_server_is_started_where_the_settings_look_for_one_and_ends_with_the_worker(tmp_path: Path) -> None:
    port = free_port()
    with site(tmp_path, redis=at(port)) as running:
        worker = running.start("--dev-redis", "--processes=1")
        until(lambda: "  lease" in worker.said() or worker.process.poll() is not None)
        with client_from_url(at(port), timeout=5) as client:
            engine = Engine(RedisStore(client), get_conf())
            job = engine.submit(job_of(jobs.answers.name, engine))
            until(lambda: engine.get(job.id).status == JobStatus.COMPLETED)
        assert worker.stop() == 0, worker.said()
        until(lambda: not is_listening(port), seconds=15)


def job_of(name: str, engine: Engine) -> Job:
    payload = json.dumps({"args": [1], "kwargs": {}})
    return Job(id=new_ids(1)[0], name=name, payload=payload, created_at=engine.store.now())


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_that_is_there_already_is_used_and_left_running(tmp_path: Path) -> None:
    url = valkey_url()
    settings = {"OPTIONS": {"PREFIX": "dev-redis"}}
    with site(tmp_path, redis=url, settings=settings) as running, redis.Redis.from_url(url) as client:
        assert running.start("--dev-redis", "--burst", "--processes=1").wait() == 0
        assert client.ping()
        for key in client.scan_iter(match="dev-redis:*"):
            client.delete(key)


def test_what_listens_there_and_is_no_redis_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=answer_rudely, args=(server,), daemon=True).start()
        with site(tmp_path, redis=at(port)) as running:
            said = ended(running.start("--dev-redis"), 1)
    assert f"No server for --dev-redis on port {port}" in said
    assert "Traceback" not in said


def answer_rudely(server: socket.socket) -> None:
    try:
        while True:
            connection, _ = server.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()
    except OSError:
        return  # the test is over


@pytest.mark.parametrize(
    "url", ["redis://192.0.2.1:6379/0", "rediss://127.0.0.1:6379/0", "redis://:x@127.0.0.1:6379/0"]
)
def test_a_server_that_cannot_be_provided_is_wrong_usage(tmp_path: Path, url: str) -> None:
    said = ended(Site(tmp_path, redis=url).start("--dev-redis", "--skip-checks"), 2)
    assert said.count("\n") == 1
    assert said.startswith("CommandError: For --dev-redis, set ASYNCJOBS")
