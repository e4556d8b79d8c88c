"""Whatever is torn out of the server's indexes, the check finds it, puts it back, and no job is lost."""

from collections.abc import Callable

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import DeserializationError
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import JOURNAL_LIMITS, Change, Entry, Query
from asyncjobs.stores.redis import RedisStore
from tests.clock import Clock
from tests.scene import Scene

Damage = Callable[[RedisStore, list[Job]], object]


def _resting(store: RedisStore) -> Job:
    """A job in the trash, with a journal."""
    job = _job(new_ids(1)[0], store.now())
    store.add([job.replace(queue="trashed")])
    store.delete([job], rest_until=store.now() + 5_000, note=Entry("action", 1, "x"))
    return job


def _living(store: RedisStore) -> Job:
    """A job that is in the place of no other, ready, with a unique key."""
    job = _job(new_ids(1)[0], store.now()).replace(queue="living", unique_key="k")
    store.add([job])
    return job


def _key(store: RedisStore, suffix: str) -> str:
    return store.key(suffix)


def _first(store: RedisStore, suffix: str) -> bytes:
    member: bytes = store.client.zrange(_key(store, suffix), 0, 0)[0]
    return member


DAMAGES: dict[str, Damage] = {
    "the stream is deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:stream:default:2")),
    "the group is destroyed": lambda store, jobs: store.client.xgroup_destroy(
        _key(store, "jobs:stream:default:2"), "workers"
    ),
    "the group has passed over entries": lambda store, jobs: store.client.xgroup_setid(
        _key(store, "jobs:stream:default:2"), "workers", "$"
    ),
    "an entry is doubled": lambda store, jobs: store.client.xadd(
        _key(store, "jobs:stream:default:2"), {"j": jobs[0].id}
    ),
    "the leases are deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:inprogress:default")),
    "the delayed set is deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:delayed:default")),
    "the index is deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:index:default:n")),
    "the list of indexes is deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:indexes")),
    "the list of queues is deleted": lambda store, jobs: store.client.delete(_key(store, "queues")),
    "a job is in a second place": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:dlq:default"), {jobs[0].id: 1}
    ),
    "a job that is not there is indexed": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:index:default:n"), {new_ids(1)[0]: 1}
    ),
    "a journal is kept for a job that is not there": lambda store, jobs: store.client.xadd(
        _key(store, f"journal:log:{new_ids(1)[0]}"), {"a": 1, "t": "x"}, id="1-0"
    ),
    "the list of the trash is deleted": lambda store, jobs: (
        _resting(store),
        store.client.delete(_key(store, "trash")),
    ),
    "a job in the trash is listed by another time": lambda store, jobs: store.client.zadd(
        _key(store, "trash"), {_resting(store).id: 1}
    ),
    "a job that is not there is listed in the trash": lambda store, jobs: store.client.zadd(
        _key(store, "trash"), {new_ids(1)[0]: 1}
    ),
    "a journal is left in the trash": lambda store, jobs: store.client.delete(
        _key(store, "trash"), _key(store, f"trash:job:{_resting(store).id}")
    ),
    "a delayed job is listed by another time": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:delayed:default"), {_first(store, "jobs:delayed:default"): 2**50}
    ),
    "a lease is listed by another time": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:inprogress:default"), {_first(store, "jobs:inprogress:default"): 1}
    ),
    "a job is indexed by another time": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:index:default:n"), {jobs[0].id: 1}
    ),
    "a job is in the place of another queue": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:delayed:other"), {_first(store, "jobs:delayed:default"): 1}
    ),
    "a job is in the list of another owner": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:owner:bob"), {jobs[0].id: 1}
    ),
    "a unique key is held by a job without one": lambda store, jobs: store.client.set(
        _key(store, "unique:k"), f"{jobs[0].id}:"
    ),
    "an owner's list is deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:owner:ada")),
}


@pytest.fixture(params=["valkey", "redis7"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_the_check_heals(store: RedisStore, clock: Clock, damage: Damage) -> None:
    jobs = [_job(job_id, clock()) for job_id in new_ids(6)]
    delayed = _job(new_ids(1)[0], clock()).replace(status=JobStatus.SCHEDULED, due_at=clock() + 5_000)
    store.add([*jobs, delayed])
    held = store.claim(["default"], worker="w", limit=2, lease=30_000)
    waiting = [job for job in jobs if job.id not in {claimed.id for claimed in held}]
    damage(store, waiting)

    clean_already = damage is DAMAGES["the group is destroyed"]  # the next claim makes it anew
    assert bool(store.check()) != clean_already
    assert all(finding.fixed for finding in store.check(fix=True))
    assert store.check() == []

    assert {job.id for job in store.find(Query()).jobs} == {job.id for job in [*jobs, delayed]}
    assert {job.id for job in store.held("w")} == {job.id for job in held}
    clock.advance(5_000)
    ready = store.claim(["default"], worker="w2", limit=10, lease=30_000)
    assert {job.id for job in ready} == {job.id for job in [*waiting, delayed]}


FAULT_DAMAGES: dict[str, Damage] = {
    "a fault's jobs are deleted": lambda store, jobs: store.client.delete(_key(store, f"jobs:fault:{jobs[0].fault}")),
    "the list of faults is deleted": lambda store, jobs: store.client.delete(_key(store, "jobs:faults")),
    "a fault is listed at another time": lambda store, jobs: store.client.zadd(
        _key(store, "jobs:faults"), {jobs[0].fault or "": 1}
    ),
    "a fault without jobs is listed": lambda store, jobs: store.client.zadd(_key(store, "jobs:faults"), {"f" * 16: 1}),
    "a fault has a job of another one": lambda store, jobs: store.client.zadd(
        _key(store, f"jobs:fault:{jobs[0].fault}"), {jobs[1].id: 2**50}
    ),
    "a fault has a job at another time": lambda store, jobs: store.client.zadd(
        _key(store, f"jobs:fault:{jobs[0].fault}"), {jobs[0].id: 1}
    ),
    "a job has a fault and is not dead": lambda store, jobs: (
        store.client.hset(_key(store, f"job:{(living := _living(store)).id}"), "Fault", jobs[0].fault),
        store.client.zadd(_key(store, f"jobs:fault:{jobs[0].fault}"), {living.id: 1}),
    ),
    "a fault has a job that is not there": lambda store, jobs: store.client.zadd(
        _key(store, f"jobs:fault:{'f' * 16}"), {new_ids(1)[0]: 1}
    ),
}


@pytest.mark.parametrize("damage", FAULT_DAMAGES.values(), ids=FAULT_DAMAGES.keys())
def test_the_check_heals_faults(scene: Scene, store: RedisStore, damage: Damage) -> None:
    jobs = [scene.failed(), scene.failed(name="other")]
    healthy = store.faults(10)
    damage(store, jobs)
    assert store.check()
    assert all(finding.fixed for finding in store.check(fix=True))
    assert store.check() == []
    assert store.faults(10) == healthy
    assert store.find(Query(fault=jobs[0].fault)).jobs == jobs[:1]


def test_a_unique_key_that_a_job_kept_when_it_was_over_is_let_go(store: RedisStore, clock: Clock) -> None:
    job = _living(store)
    done = transitions.cancel(job, now=clock())
    assert store.swap([Change(job, done)]) == [True]
    store.client.set(_key(store, "unique:k"), f"{job.id}:")
    twin = job.replace(id=new_ids(1)[0])
    assert store.add([twin]) == [done]
    assert [(found.code, found.job_id, found.fixed) for found in store.check(fix=True)] == [
        ("KEY_ASTRAY", job.id, True)
    ]
    assert store.add([twin]) == [twin]
    assert store.check() == []


def test_a_job_in_the_trash_that_does_not_say_until_when_it_rests_is_not_lost(store: RedisStore) -> None:
    job = _resting(store)
    store.client.hdel(_key(store, f"trash:job:{job.id}"), "RestsUntil")
    assert [finding.fixed for finding in store.check(fix=True)] == [True]
    assert store.check() == []
    assert store.restore([job.id]) == [job.replace(queue="trashed", version=2)]


def test_a_live_jobs_journal_is_left_alone(store: RedisStore, clock: Clock) -> None:
    jobs = [_job(job_id, clock()) for job_id in new_ids(120)]
    store.add(jobs)
    store.swap([Change(job, job, tuple(Entry(kind, 1, "x") for kind in JOURNAL_LIMITS)) for job in jobs])
    store.client.delete(store.key(f"job:{jobs[0].id}"))
    found = {(finding.code, finding.job_id) for finding in store.check(fix=True)}
    assert found == {("ASTRAY", jobs[0].id)}
    assert store.check() == []
    left = [[len(store.journal(job.id, kind)) for kind in JOURNAL_LIMITS] for job in jobs]
    kinds = len(JOURNAL_LIMITS)
    assert left == [[0] * kinds, *[[1] * kinds] * 119]


@pytest.mark.parametrize("field, text", [("Status", "700"), ("Tags", "[")])
def test_a_job_of_a_later_release_stays_where_it_is(store: RedisStore, clock: Clock, field: str, text: str) -> None:
    job = _job(new_ids(1)[0], clock()).replace(status=JobStatus.WAITING, tags=("t",), unique_key="k")
    store.add([job])
    store.client.hset(_key(store, f"job:{job.id}"), field, text)
    assert [(found.code, found.fixed) for found in store.check(fix=True)] == [("UNREADABLE", False)]
    for kept in ("jobs:waiting:default", "jobs:index:default:n", "jobs:owner:ada", "jobs:tag:t"):
        assert store.client.zscore(_key(store, kept), job.id)
    assert store.client.get(_key(store, "unique:k"))
    store.client.hset(_key(store, f"job:{job.id}"), mapping={"Status": "150", "Tags": '["t"]'})
    assert store.check() == []


@pytest.mark.parametrize(
    "field, text", [("Retry", '{"kind": "of another release", "unknown": 1}'), ("Tags", "["), ("Tags", '[{"k": 1}]')]
)
def test_a_job_that_cannot_be_read_holds_up_no_other(store: RedisStore, clock: Clock, field: str, text: str) -> None:
    broken, *others = jobs = [_job(job_id, clock()) for job_id in new_ids(3)]
    store.add(jobs)
    store.client.hset(store.key(f"job:{broken.id}"), field, text)
    ids = {job.id for job in others}

    assert {job.id for job in store.find(Query()).jobs} == ids
    assert {job.id for job in store.claim(["default"], worker="w", limit=3, lease=1_000)} == ids
    assert {job.id for job in store.held("w")} == ids
    for _ in range(8):
        clock.advance(400)
        lapsed = store.lapsed(3, lease=1_000)
    assert {job.id for job in lapsed} == ids
    with pytest.raises(DeserializationError, match=broken.id):
        store.get([broken.id])
    assert [job is not None for job in store.get_readable([job.id for job in jobs])] == [False, True, True]
    assert [(found.code, found.job_id, found.fixed) for found in store.check(fix=True)] == [
        ("UNREADABLE", broken.id, False)
    ]
    assert store.delete([broken.replace(version=2)]) == [True]
    assert store.check() == []


def _job(job_id: str, now: int) -> Job:
    return Job(id=job_id, name="n", owner="ada", created_at=now, updated_at=now)
