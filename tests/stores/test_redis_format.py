"""The hash of a job is the one that readers of the mirrored system know, and the keys are those of the reference."""

import json
import re
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError, JobStatus, Progress
from asyncjobs.domain.retry import fixed
from asyncjobs.stores.base import GONE_MS, Change, Entry, Pause, Receipt
from asyncjobs.stores.redis import RedisStore, codec
from tests.clock import Clock

GOLDEN = Path(__file__).parent / "golden" / "job_hash.json"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "redis.md"
ID = "6f1c2b8e-4d0a-4b57-9a63-0c8f6d1e2a34"
WORKER = "0e9d8c7b-6a59-4887-b665-544332211000"
TIMES = ("RetryDelayUntil", "CreatedAt", "StartedAt", "CompletedAt", "LastUpdatedAt")
REQUIRED = (
    *("Id", "Name", "Status", "Headers", "RouteParams", "QueryParams", "Payload", "Result", "Error", "RetryCount"),
    *("MaxRetries", "RetryDelayUntil", "WorkerId", "CreatedAt", "StartedAt", "CompletedAt", "LastUpdatedAt"),
)
ROUND_TRIP_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}[+-]\d\d:\d\d")


@pytest.fixture(params=["fakeredis", "valkey", "redis7"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def hash_of(store: RedisStore, job_id: str = ID) -> dict[str, str]:
    stored = store.client.hgetall(store.key(f"job:{job_id}"))
    return {name.decode(): value.decode() for name, value in stored.items()}


def full_job(now: int) -> Job:
    return Job(
        id=ID,
        name="shop.reports.build",
        queue="reports",
        priority=40,
        headers={"X-Request-ID": ["r-1"], "Accept": ["text/html", None]},
        route_params={"year": 2026},
        query_params=[("page", ["1"]), ("sort", ["name", None])],
        payload='{"args":[1],"kwargs":{"größe":"漢"}}',
        max_retries=5,
        created_at=now,
        updated_at=now,
        timeout_ms=30_000,
        soft_timeout_ms=25_000,
        retry=fixed(5),
        unique_key="report:2026",
        owner="ada",
        tags=("monthly", "vip"),
    )


def run_once(store: RedisStore, clock: Clock) -> None:
    store.add([full_job(clock())])
    clock.advance(1_500)
    [started] = store.claim(["reports"], worker=WORKER, limit=1, lease=30_000)
    noted = transitions.report(started, Progress(done=1, total=3), now=clock())
    clock.advance(250)
    error = JobError(code="ValueError", message="no such year", type="builtins.ValueError", traceback="…")
    assert store.swap([Change(started, noted, (Entry("log", clock(), "größe"),))]) == [True]
    assert store.swap([Change(noted, transitions.fail(noted, error, delay=None, now=clock()))]) == [True]


def test_the_hash_is_the_golden_one(store: RedisStore, clock: Clock) -> None:
    run_once(store, clock)
    stored = hash_of(store)
    assert stored.pop("Entry")
    assert stored == json.loads(GOLDEN.read_text())


def test_an_entry_of_a_journal_has_its_number_its_time_and_its_text(store: RedisStore, clock: Clock) -> None:
    run_once(store, clock)
    entries = store.client.xrange(store.key(f"journal:log:{ID}"))
    assert entries == [(b"1-0", {b"a": str(clock()).encode(), b"t": "größe".encode()})]


def test_a_new_job_has_the_fields_of_the_mirrored_system_and_no_others(store: RedisStore, clock: Clock) -> None:
    store.add([Job(id=ID, name="n", created_at=clock(), updated_at=clock())])
    assert sorted(set(hash_of(store)) - {"Entry"}) == sorted(REQUIRED)


def test_every_value_reads_as_the_mirrored_system_reads_it(store: RedisStore, clock: Clock) -> None:
    run_once(store, clock)
    stored = hash_of(store)
    assert str(UUID(stored["Id"])) == stored["Id"]
    assert str(UUID(stored["WorkerId"])) == stored["WorkerId"]
    for name in ("Status", "RetryCount", "MaxRetries"):
        assert str(int(stored[name])) == stored[name]
    for name in TIMES:
        assert not stored[name] or ROUND_TRIP_TIME.fullmatch(stored[name])
    assert isinstance(json.loads(stored["Headers"]), dict)
    assert isinstance(json.loads(stored["RouteParams"]), dict)
    assert [set(pair) for pair in json.loads(stored["QueryParams"])] == [{"Key", "Value"}] * 2
    assert {"Code", "Message"} <= json.loads(stored["Error"]).keys()


def test_what_is_back_at_its_default_is_gone_from_the_hash(store: RedisStore, clock: Clock) -> None:
    run_once(store, clock)
    assert "ClaimedUntil" not in hash_of(store)


def test_a_time_with_another_offset_is_read(store: RedisStore) -> None:
    text = "2026-03-01T02:00:00.1230000+02:00"
    expected = datetime.fromisoformat("2026-03-01T00:00:00.123+00:00")
    assert codec.read_time(text) == round(expected.timestamp() * 1000)


def test_fields_of_another_release_are_left_alone(store: RedisStore, clock: Clock) -> None:
    store.add([full_job(clock())])
    store.client.hset(store.key(f"job:{ID}"), "FromTheFuture", "1")
    [started] = store.claim(["reports"], worker=WORKER, limit=1, lease=30_000)
    store.swap([Change(started, transitions.complete(started, "1", now=clock()))])
    assert hash_of(store)["FromTheFuture"] == "1"


def test_a_pause_that_says_not_who_it_was_is_read(store: RedisStore, clock: Clock) -> None:
    store.client.hset(store.key("paused"), "mail", f":{clock()}:why: no disk")
    store.client.sadd(store.key("queues"), "mail")
    [counts] = store.counts()
    assert counts.pause == Pause(queue="mail", since=clock(), reason="why: no disk")
    assert store.resume("mail")


def test_every_key_is_in_the_reference(store: RedisStore, clock: Clock) -> None:
    run_once(store, clock)
    store.add([Job(id=str(UUID(int=n)), name="n", created_at=clock(), updated_at=clock()) for n in range(3)])
    [job] = store.claim(["default"], worker=WORKER, limit=1, lease=30_000)
    store.swap([Change(job, transitions.fail(job, JobError(code="X", message=""), delay=5_000, now=clock()))])
    [job] = store.claim(["default"], worker=WORKER, limit=1, lease=30_000)
    store.swap([Change(job, transitions.complete(job, None, now=clock()))])
    store.pause(Pause(queue="mail", since=clock()))
    store.resume("mail")
    store.add([Job(id=str(UUID(int=9)), name="n", queue="later", status=JobStatus.SCHEDULED, due_at=clock() + 1,
                   created_at=clock(), updated_at=clock())])  # fmt: skip
    store.wait(["later"], timeout=2)
    assert store.turn("prune", every=1)
    receipt = Receipt("0a", "0b", "text", clock() + 60_000)
    store.add([owned := full_job(clock()).replace(id=str(UUID(int=10)), unique_key=None)], receipt=receipt)
    assert store.delete([owned], rest_until=clock() + 1, note=Entry("action", 1, "x")) == [True]
    store.beat(WORKER, {}, lease=30_000)
    left = {key.decode().removeprefix(store.prefix) for key in store.client.scan_iter(f"{store.prefix}:*")}
    unknown = {key for key in left if not any(pattern.fullmatch(key) for pattern in documented_keys())}
    assert left
    assert not unknown


def test_what_is_left_of_a_request_and_of_a_job_expires(store: RedisStore, clock: Clock) -> None:
    store.add([full_job(clock())], receipt=Receipt("0a", "0b", "text", clock() + 60_000))
    [job] = store.get([ID])
    assert job is not None
    assert store.delete([job]) == [True]
    lives = {name: store.client.pttl(store.key(name)) for name in ("receipt:0a", f"gone:{ID}")}
    assert 50_000 < lives["receipt:0a"] <= 60_000
    assert GONE_MS - 10_000 < lives[f"gone:{ID}"] <= GONE_MS


def documented_keys() -> list[re.Pattern[str]]:
    names = re.findall(r"^\| `ae(:[^`]+)` \|", REFERENCE.read_text(), re.MULTILINE)
    assert len(names) > 15
    return [re.compile(re.sub(r"<\w+>", ".+", name)) for name in names]
