"""A reply is lost, and the store or its caller repeats the call: nothing doubles, nothing is lost."""

import time
from collections.abc import Callable
from typing import cast

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import StoreUnavailable
from asyncjobs.stores.base import Change, Entry, Pause, Receipt, Repeated
from asyncjobs.stores.redis import RedisStore
from tests.proxy import Proxy
from tests.scene import LEASE, Scene, ids
from tests.servers import RedisServer, free_port
from tests.stores.faulty import insist

pytestmark = pytest.mark.faults
SCRIPT = b"EVALSHA"


@pytest.fixture(params=[1, 2, 5], ids=lambda times: f"lost {times} times")
def losses(request: pytest.FixtureRequest, proxy: Proxy, far: Scene) -> Callable[[], None]:
    """From now on, so many replies are lost in a row. All scripts are known to the server by then."""
    times: int = request.param
    warm_up(far)
    return lambda: proxy.lose_reply(*[SCRIPT] * times)


def warm_up(scene: Scene) -> None:
    """Uses every script once, so that no reply is one that only asks for the script."""
    done = scene.completed(queue="warm-up")
    scene.store.beat("w0", {}, lease=LEASE)
    scene.lapsed()
    scene.store.held("w0")
    scene.found(status=JobStatus.COMPLETED)
    scene.store.counts()
    scene.store.prune({JobStatus.COMPLETED: 0}, limit=1)
    scene.store.delete([done])
    assert scene.counted("warm-up") == {}


def ends(scene: Scene) -> int:
    return sum(minute.count for minute in scene.store.series(5) if minute.queue == "default")


def test_add_stores_every_job_once(scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]) -> None:
    jobs = [scene.job() for _ in range(20)] + [scene.delayed(60_000)]
    losses()
    assert insist(far.store.add, jobs) == jobs
    assert proxy.lost_all
    assert scene.counted() == {JobStatus.QUEUED: 20, JobStatus.SCHEDULED: 1}
    assert sorted(ids(scene.claim(limit=50))) == sorted(ids(jobs[:20]))


def test_a_request_is_answered_as_stored_and_only_once(
    scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]
) -> None:
    twin = scene.add(unique_key="k")
    jobs = [scene.job(), scene.job(unique_key="k")]
    receipt = Receipt("a1", "f", "first", scene.clock() + 60_000)
    losses()
    assert insist(far.store.add, jobs, receipt=receipt) == [jobs[0], twin]
    assert proxy.lost_all
    with pytest.raises(Repeated) as caught:
        far.store.add([scene.job()], receipt=receipt._replace(text="second"))
    assert caught.value.receipt == receipt._replace(twins=((1, twin.id),))
    assert scene.counted() == {JobStatus.QUEUED: 2}


def test_swap_writes_every_change_once(scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]) -> None:
    started = [scene.started() for _ in range(10)]
    entry = Entry("log", scene.clock(), "the last line")
    changes = [Change(job, transitions.complete(job, "1", now=scene.clock()), (entry,)) for job in started]
    losses()
    assert insist(far.store.swap, changes) == [True] * 10
    assert proxy.lost_all
    assert scene.store.get(ids(started)) == [change.new for change in changes]
    assert ends(scene) == 10
    assert [len(scene.store.journal(job.id, "log")) for job in started] == [1] * 10


def test_a_lost_claim_is_found_and_handed_back(
    scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]
) -> None:
    jobs = [scene.add() for _ in range(30)]
    losses()
    claimed = insist(far.claim, limit=3)
    assert proxy.lost_all
    held = far.store.held("w1")
    assert {*ids(claimed)} < {*ids(held)}
    for job in held:
        if job.id not in ids(claimed):
            far.settle(transitions.release, job)
    again = far.claim(limit=50)
    assert sorted(ids(claimed) + ids(again)) == sorted(ids(jobs))
    assert {job.attempt for job in claimed + again} == {1}


def test_exchange_loses_neither_half(scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]) -> None:
    first, *others = [scene.add() for _ in range(20)]
    [started] = far.claim()
    change = Change(started, transitions.complete(started, "1", now=scene.clock()))
    losses()
    written, claimed = insist(far.store.exchange, [change], ["default"], worker="w1", limit=2, lease=LEASE)
    assert proxy.lost_all
    assert written == [True]
    assert scene.stored(first) == change.new
    assert ends(scene) == 1
    held = ids(far.store.held("w1"))
    assert {*ids(claimed)} <= {*held}
    assert sorted(held + ids(scene.claim(worker="w2", limit=50))) == sorted(ids(others))


def test_the_other_verbs_may_be_repeated(scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]) -> None:
    started = scene.started()
    losses()
    assert insist(far.store.beat, "w1", {started.id: started.version}, lease=LEASE).lost == []
    losses()
    assert insist(far.stored, started).version == started.version
    losses()
    assert insist(far.found) == insist(far.store.held, "w1")
    losses()
    assert insist(far.counted) == {JobStatus.IN_PROGRESS: 1}
    done = insist(far.settle, transitions.complete, started, "1")
    losses()
    assert insist(far.store.delete, [done]) == [True]
    assert scene.is_gone(started)


def test_prune_takes_no_more_than_is_old(scene: Scene, far: Scene, proxy: Proxy, losses: Callable[[], None]) -> None:
    old = [scene.completed() for _ in range(4)]
    kept = scene.failed()
    losses()
    insist(far.store.prune, {JobStatus.COMPLETED: 2**52}, limit=10)
    assert proxy.lost_all
    assert scene.store.get(ids([*old, kept])) == [None] * 4 + [kept]


VERBS: dict[str, Callable[[Scene, Job], object]] = {
    "add": lambda scene, job: scene.add(),
    "claim": lambda scene, job: scene.claim("none"),
    "swap": lambda scene, job: scene.settle(transitions.request_cancel, job),
    "exchange": lambda scene, job: scene.store.exchange(
        [Change(job, transitions.complete(job, "1", now=scene.clock()))], ["none"], worker="w", limit=1, lease=LEASE
    ),
    "beat": lambda scene, job: scene.store.beat("w1", {job.id: job.version}, lease=LEASE),
    "lapsed": lambda scene, job: scene.lapsed(),
    "held": lambda scene, job: scene.store.held("w1"),
    "get": lambda scene, job: scene.stored(job),
    "find": lambda scene, job: scene.found(status=JobStatus.IN_PROGRESS),
    "journal": lambda scene, job: scene.store.journal(job.id, "log"),
    "counts": lambda scene, job: scene.counted(),
    "series": lambda scene, job: scene.store.series(1),
    "pause": lambda scene, job: scene.store.pause(Pause(queue="q", since=0)),
    "resume": lambda scene, job: scene.store.resume("q"),
    "prune": lambda scene, job: scene.store.prune({JobStatus.FAILED: 1}, limit=1),
    "delete": lambda scene, job: scene.store.delete([job]),
    "check": lambda scene, job: scene.store.check(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_server_that_forgets_its_scripts_is_taught_them_again(scene: Scene, verb: str) -> None:
    job = scene.started()
    VERBS[verb](scene, job)
    again = scene.started(queue="other")
    cast(RedisStore, scene.store).client.script_flush()
    VERBS[verb](scene, again)


def test_work_goes_on_while_scripts_are_flushed(scene: Scene) -> None:
    scene.store.add([scene.job() for _ in range(50)])
    changes: list[Change] = []
    for _ in range(12):
        cast(RedisStore, scene.store).client.script_flush()
        written, claimed = scene.store.exchange(changes, ["default"], worker="w1", limit=5, lease=LEASE)
        assert all(written)
        changes = [Change(job, transitions.complete(job, "1", now=scene.clock())) for job in claimed]
    assert scene.counted() == {JobStatus.COMPLETED: 50}


def test_a_server_that_is_not_there_is_unavailable_at_once(open_store: Callable[[int], RedisStore]) -> None:
    store = open_store(free_port())
    with pytest.raises(StoreUnavailable):
        store.counts()


@pytest.mark.parametrize("verb", VERBS)
def test_a_server_that_says_nothing_is_unavailable_within_the_timeout(
    scene: Scene, far: Scene, proxy: Proxy, verb: str
) -> None:
    job = scene.started()
    far.stored(job)
    proxy.black_hole = True
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        VERBS[verb](far, job)
    assert time.monotonic() - began < 3
    proxy.black_hole = False
    assert far.stored(job) == scene.stored(job)


def test_a_server_killed_meanwhile_is_unavailable(server: RedisServer, far: Scene) -> None:
    far.add()
    server.stop()
    with pytest.raises(StoreUnavailable):
        far.add()
