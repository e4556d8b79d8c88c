"""The Lua files: each is small, says what it does, is used, and agrees with its counterpart in Python."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.domain.lease import LeaseClock, tick
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import Pause
from asyncjobs.stores.redis import RedisStore, codec, keys, scripts
from tests.clock import Clock

FILES = sorted(Path(str(scripts.LUA)).glob("*.lua"))
quickly = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["fakeredis", "valkey", "redis7"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def calls(store: RedisStore) -> int:
    """How many scripts the server has run."""
    return int(store.client.info("commandstats")["cmdstat_evalsha"]["calls"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_script_is_short_and_says_what_it_does(file: Path) -> None:
    lines = file.read_text().splitlines()
    assert re.match(r"-- [A-Z].*", lines[0])
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 140


def test_every_file_is_used() -> None:
    text = {file.stem: file.read_text() for file in FILES}
    used = {name for body in text.values() for name in re.findall(r"^--- @include (\w+)", body, re.MULTILINE)}
    assert set(text) == used | set(scripts.ENTRIES)


def test_an_include_is_pasted_once() -> None:
    body = scripts.compose("claim")
    assert body.count("local function job_key(") == 1
    assert "@include" not in body


@pytest.mark.parametrize("name", sorted(scripts.ENTRIES))
def test_payloads_never_pass_through_cjson(name: str) -> None:
    decoded = re.findall(r"cjson\.decode(?:\(|, )(.*?)\)", scripts.compose(name))
    assert scripts.compose(name).count("cjson.decode") == len(decoded)
    assert set(decoded) <= {"ARGV[at]", "ARGV[3]", "facts", "text or '[]'"}


def test_only_new_jobs_are_refused_at_the_memory_limit() -> None:
    flags = {name: script.body.splitlines()[0] for name, script in scripts.load(flags=True).items()}
    assert flags.pop("add") == "#!lua"
    assert set(flags.values()) == {"#!lua flags=allow-oom"}


@pytest.mark.parametrize("kind", ["valkey"])
def test_a_page_of_the_trash_is_read_by_several_scripts(store: RedisStore, clock: Clock) -> None:
    """Each may have a payload and a result of 64 KiB, and others wait for a script."""
    jobs = [Job(id=job_id, name="n", created_at=clock(), updated_at=clock()) for job_id in new_ids(250)]
    store.add(jobs)
    store.delete(jobs, rest_until=clock())
    before = calls(store)
    page = store.trash(limit=250)
    assert {resting.job.id for resting in page.resting} == {job.id for job in jobs}
    assert calls(store) - before == 4


@pytest.mark.parametrize("kind", ["valkey"])
def test_what_falls_due_in_many_queues_is_counted_by_several_scripts(store: RedisStore, clock: Clock) -> None:
    for number in range(25):
        store.pause(Pause(queue=f"q{number}", since=clock()))
    before = calls(store)
    store.due(range(100))
    assert calls(store) - before == 3


def test_promotion_chooses_the_lane_that_python_does(store: RedisStore, clock: Clock) -> None:
    priorities = range(-100, 101, 4)
    due = clock() + 1
    ids = new_ids(len(priorities))
    for job_id, priority in zip(ids, priorities, strict=True):
        job = Job(id=job_id, name="n", priority=priority, created_at=clock(), updated_at=clock())
        store.add([job.replace(status=JobStatus.SCHEDULED, due_at=due)])
    clock.advance(1)
    store.claim(["default"], worker="w", limit=0, lease=1_000)
    for lane in range(keys.LANES):
        entries = store.client.xrange(store.key(keys.stream("default", lane)))
        found = sorted(fields[b"j"].decode() for _, fields in entries)
        assert found == sorted(i for i, p in zip(ids, priorities, strict=True) if keys.lane(p) == lane)


@quickly
@given(moment=st.integers(0, 4_102_444_800_000))
def test_lua_writes_times_as_python_does(store: RedisStore, clock: Clock, moment: int) -> None:
    body = "--- @include iso\nreturn iso(tonumber(ARGV[1]))"
    composed = scripts._INCLUDE.sub(lambda match: scripts.compose(match[1]), body)
    assert store.client.eval(composed, 1, store.prefix, moment).decode() == codec.time_text(moment)


@quickly
@given(jumps=st.lists(st.integers(-7_200_000, 7_200_000), max_size=8))
def test_lua_keeps_the_clock_of_leases_as_python_does(store: RedisStore, clock: Clock, jumps: list[int]) -> None:
    lease = 10_000
    store.client.delete(store.key("clock"))
    store.lapsed(1, lease=lease)
    expected = LeaseClock(clock())
    for jump in jumps:
        clock.advance(jump)
        store.lapsed(1, lease=lease)
        expected = tick(expected, clock(), lease)
        stored = store.client.hgetall(store.key("clock"))
        assert {name.decode(): int(value) for name, value in stored.items()} == {
            "last": expected.last,
            "offset": expected.offset,
            "grace": expected.grace,
        }
