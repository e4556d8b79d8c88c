"""Waiting for work: everything that makes a job claimable ends a wait, and so does a byte on a pipe."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import pytest
import redis
from django.db import connections

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
from asyncjobs.errors import StoreUnavailable
from asyncjobs.stores.base import Change, Pause, Store
from asyncjobs.stores.redis import RedisStore, keys
from asyncjobs.stores.redis.line import Line
from asyncjobs.stores.redis.waiting import CALL_OFF_S, Waiter
from asyncjobs.stores.waking import readable
from tests import servers
from tests.backends import Backend
from tests.promptness import best_of
from tests.proxy import proxy_to
from tests.scene import BOOM, LEASE, Scene
from tests.threads import PATIENCE, in_threads

SOON = 5.0  # seconds; far less than what `wait` was told, far more than it should need
LONG = 9_000
MANY = 10

on_redis = pytest.mark.parametrize("kind", ["valkey", "redis7"])
alone = pytest.mark.parametrize("kind", ["valkey"])  # what any server does


@pytest.fixture
def scene(live_store: Store) -> Scene:
    return Scene(live_store, live_store.now)


class Pipe(NamedTuple):
    """Its reading end wakes whoever waits on it."""

    end: int
    other: int

    def wake(self) -> None:
        os.write(self.other, b"!")

    def empty(self) -> None:
        assert os.read(self.end, 2) == b"!"


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe(*os.pipe())
    yield pipe
    for end in pipe:
        os.close(end)


def seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def wait_until_claimed(store: Store, *queues: str, timeout: int = LONG) -> list[Job]:
    """What a worker does that has nothing to do: a wait may end early, but not for nothing again and again."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        store.wait(queues or ("default",), timeout=timeout)
        claimed = store.claim(queues or ("default",), worker="w", limit=1, lease=LEASE)
        if claimed:
            return claimed
    return []


def is_blocked(store: Store) -> bool:
    """Whether somebody waits; of a store that cannot tell, it is taken on trust."""
    return not isinstance(store, RedisStore) or _blocked(store) > 0


def _blocked(store: RedisStore) -> int:
    if type(store.client).__module__.startswith("fakeredis"):
        return 1
    return sum("b" in client["flags"] for client in store.client.client_list())


def after_a_wait_began(backend: Backend, act: Callable[[], object], *, queue: str = "default") -> None:
    """Somebody waits for a job of the queue, then this is done to it, and that one gets the job."""
    store = backend.open()

    def work() -> list[Job]:
        return wait_until_claimed(backend.open(), queue)

    def disturb() -> list[Job]:
        until(lambda: is_blocked(store))
        act()
        return []

    took = time.monotonic()
    claimed, _ = in_threads(work, disturb)
    assert len(claimed) == 1
    assert time.monotonic() - took < SOON


def test_a_wait_ends_at_once_when_a_job_is_ready(scene: Scene) -> None:
    scene.add(queue="b")
    assert seconds(lambda: scene.store.wait(["a", "b"], timeout=LONG)) < SOON


def test_a_wait_ends_at_once_when_a_job_is_due(scene: Scene) -> None:
    scene.put(scene.delayed(-1))
    assert seconds(lambda: scene.store.wait(["default"], timeout=LONG)) < SOON


def test_a_wait_without_queues_ends_with_its_timeout(scene: Scene) -> None:
    assert seconds(lambda: scene.store.wait([], timeout=20)) < SOON


def test_a_job_that_is_added_ends_a_wait(backend: Backend, scene: Scene) -> None:
    after_a_wait_began(backend, lambda: Scene(backend.open(), scene.clock).add())


def test_a_job_that_is_released_ends_a_wait(backend: Backend, scene: Scene) -> None:
    job = scene.started()
    after_a_wait_began(backend, lambda: scene.settle(transitions.release, job))


def test_a_job_that_is_retried_by_hand_ends_a_wait(backend: Backend, scene: Scene) -> None:
    job = scene.failed()
    after_a_wait_began(backend, lambda: scene.settle(transitions.retry, job))


def test_a_job_that_fails_and_is_due_again_ends_a_wait(backend: Backend, scene: Scene) -> None:
    job = scene.started()
    after_a_wait_began(backend, lambda: scene.settle(transitions.fail, job, BOOM, delay=50))


def test_a_job_that_is_to_run_now_ends_a_wait(backend: Backend, scene: Scene) -> None:
    job = scene.put(scene.delayed(3_600_000))
    after_a_wait_began(backend, lambda: scene.settle(transitions.run_now, job))


def test_a_job_that_comes_back_from_the_trash_ends_a_wait(backend: Backend, scene: Scene) -> None:
    job = scene.add()
    scene.store.delete([job], rest_until=scene.clock() + 3_600_000)
    after_a_wait_began(backend, lambda: scene.store.restore([job.id]))


def test_a_job_of_a_queue_that_is_resumed_ends_a_wait(backend: Backend, scene: Scene) -> None:
    scene.add()
    scene.store.pause(Pause(queue="default", since=scene.clock()))
    after_a_wait_began(backend, lambda: scene.store.resume("default"))


def test_a_queue_that_is_paused_and_resumed_while_one_waits_ends_a_wait(backend: Backend, scene: Scene) -> None:
    def pause_add_resume() -> None:
        scene.store.pause(Pause(queue="default", since=scene.clock()))
        scene.add()
        assert scene.store.resume("default")

    after_a_wait_began(backend, pause_add_resume)


def test_the_end_of_a_pause_ends_a_wait(backend: Backend, scene: Scene) -> None:
    scene.add()
    scene.store.pause(Pause(queue="default", since=scene.clock(), until=scene.clock() + 100))
    assert wait_until_claimed(backend.open())


def test_a_job_that_falls_due_ends_a_wait_in_time(scene: Scene) -> None:
    scene.store.wait(["default"], timeout=1)

    def late_by() -> float:
        job = scene.put(scene.delayed(150))
        [claimed] = wait_until_claimed(scene.store)
        assert claimed.id == job.id
        return scene.clock() - (job.due_at or 0)

    assert -10 < best_of(late_by, enough=100) < 100, "by a clock that is an estimate"


def test_a_job_that_is_added_later_and_due_earlier_ends_a_wait(backend: Backend, scene: Scene) -> None:
    scene.put(scene.delayed(3_600_000))
    after_a_wait_began(backend, lambda: scene.put(scene.delayed(50)))


def test_a_byte_on_the_pipe_ends_a_wait_time_after_time(scene: Scene, pipe: Pipe) -> None:
    for _ in range(20):
        timer = threading.Timer(0.005, pipe.wake)
        timer.start()
        began = time.monotonic()
        while not readable(pipe.end, timeout=0):
            scene.store.wait(["default"], timeout=LONG, wake=pipe.end)
        assert time.monotonic() - began < 1
        timer.join()
        pipe.empty()
    scene.add()
    assert wait_until_claimed(scene.store)


def test_a_byte_that_is_there_already_ends_a_wait_and_stays(scene: Scene, pipe: Pipe) -> None:
    pipe.wake()
    assert seconds(lambda: scene.store.wait(["default"], timeout=LONG, wake=pipe.end)) < 1
    pipe.empty()


def test_nothing_on_the_pipe_ends_no_wait_with_a_ready_job(scene: Scene, pipe: Pipe) -> None:
    scene.add()
    assert seconds(lambda: scene.store.wait(["default"], timeout=LONG, wake=pipe.end)) < SOON


def test_a_job_of_a_paused_queue_ends_no_wait(scene: Scene, kind: str) -> None:
    if kind in {"fakeredis", "memory"}:
        pytest.skip("ends a wait early, as it may")
    scene.add()
    scene.store.pause(Pause(queue="default", since=scene.clock()))
    assert seconds(lambda: scene.store.wait(["default", "other"], timeout=100)) > 0.09


class Crowd:
    """Threads that wait for one job each, as workers do."""

    def __init__(self, backend: Backend, size: int) -> None:
        self._backend = backend
        self._pool = ThreadPoolExecutor(size)
        self._is_over = threading.Event()
        self.waits = 0
        self.claimed: list[Job] = []
        self.members: list[Future[None]] = [self._pool.submit(self._work) for _ in range(size)]

    def _work(self) -> None:
        store = self._backend.open()
        try:
            while not self._is_over.is_set():
                store.wait(["default"], timeout=LONG)
                self.waits += 1
                self.claimed += store.claim(["default"], worker="w", limit=1, lease=LEASE)
        finally:
            connections.close_all()

    def close(self, scene: Scene) -> None:
        """A worker each gets a job, so that nobody waits any longer."""
        self._is_over.set()
        scene.store.add([scene.job() for _ in self.members])
        for member in self.members:
            member.result(PATIENCE)
        self._pool.shutdown()


@contextmanager
def crowd(backend: Backend, scene: Scene, size: int = MANY) -> Iterator[Crowd]:
    together = Crowd(backend, size)
    try:
        until(lambda: _blocked(scene.store) == size)  # type: ignore[arg-type]
        together.waits = 0
        yield together
    finally:
        together.close(scene)


@on_redis
def test_one_job_wakes_one_of_many(backend: Backend, scene: Scene) -> None:
    with crowd(backend, scene) as workers:
        scene.add()
        until(lambda: workers.claimed and _blocked(scene.store) == MANY)  # type: ignore[arg-type]
        assert workers.waits == 1


@on_redis
def test_many_jobs_wake_one_after_another_until_all_are_taken(backend: Backend, scene: Scene) -> None:
    with crowd(backend, scene) as workers:
        scene.store.add([scene.job() for _ in range(3 * MANY)])
        until(lambda: len(workers.claimed) == 3 * MANY)


@on_redis
def test_one_of_many_is_back_for_a_delayed_job(backend: Backend, scene: Scene) -> None:
    with crowd(backend, scene) as workers:
        job = scene.put(scene.delayed(100))
        until(lambda: workers.claimed)
        assert workers.claimed[0].id == job.id
        until(lambda: _blocked(scene.store) == MANY)  # type: ignore[arg-type]
        assert workers.waits <= 3, "for the new timer, for the job, for a token left over"


@on_redis
def test_one_who_gets_something_to_do_leaves_the_timer_to_another(backend: Backend, scene: Scene) -> None:
    first, second = backend.open(), backend.open()
    job = scene.put(scene.delayed(200))
    scene.store.wait(["default"], timeout=1)  # takes the token

    def hold_the_timer() -> list[Job]:
        claimed = wait_until_claimed(first)
        assert claimed[0].id != job.id
        return claimed  # and works on it for long

    def wait_with_it() -> list[Job]:
        until(lambda: _blocked(scene.store) == 1)  # type: ignore[arg-type]
        return wait_until_claimed(second)

    def add() -> list[Job]:
        until(lambda: _blocked(scene.store) == 2)  # type: ignore[arg-type]
        return [scene.add()]

    _, [claimed], _ = in_threads(hold_the_timer, wait_with_it, add)
    assert claimed.id == job.id
    assert scene.clock() - (job.due_at or 0) < 500


@alone
def test_waits_leave_no_connections_behind(backend: Backend, scene: Scene, pipe: Pipe) -> None:
    store: RedisStore = scene.store  # type: ignore[assignment]
    store.wait(["default"], timeout=1)
    before = len(store.client.client_list())
    pipe.wake()
    for _ in range(20):
        store.wait(["default"], timeout=LONG, wake=pipe.end)
        store.wait(["default"], timeout=1)
    assert len(store.client.client_list()) == before
    assert _blocked(store) == 0


@alone
def test_one_who_was_woken_takes_no_token_with_him(backend: Backend, scene: Scene, pipe: Pipe) -> None:
    pipe.wake()
    scene.store.wait(["default"], timeout=LONG, wake=pipe.end)
    scene.add()
    assert wait_until_claimed(backend.open())


@alone
def test_one_who_is_woken_as_soon_as_he_waits_is_not_held_up(scene: Scene, pipe: Pipe) -> None:
    """The server is told to let him go before it has seen that he waits, which takes a longer way here."""
    store: RedisStore = scene.store  # type: ignore[assignment]
    bell = store.key(keys.bell("default"))
    pipe.wake()
    with proxy_to(_port()) as proxy, redis.Redis.from_url(f"redis://127.0.0.1:{proxy.port}/0") as longer:
        proxy.seconds = 0.005
        waiter = Waiter(longer, Line(store.client))
        waits = [seconds(lambda: waiter.wait([bell], timeout=LONG, wake=pipe.end)) for _ in range(5)]
    assert min(waits) < CALL_OFF_S / 2


@alone
def test_a_server_that_is_gone_while_one_waits_is_an_error_of_ours(kind: str) -> None:
    server = servers.RedisServer(servers.valkey_binary())
    store = RedisStore(server.url, timeout=1)

    def wait() -> None:
        with pytest.raises(StoreUnavailable):
            store.wait(["default"], timeout=LONG)

    def demote() -> None:
        until(lambda: _blocked(store) == 1)
        store.client.replicaof("127.0.0.1", 1)

    try:
        in_threads(wait, demote)
        with pytest.raises(StoreUnavailable):
            store.turn("t", every=1)
    finally:
        store.client.close()
        server.stop()


def _port() -> int:
    return int(servers.valkey_url().rsplit(":", 1)[1].split("/")[0])


@alone
def test_a_server_that_says_nothing_more_holds_up_nobody_who_is_woken(backend: Backend, pipe: Pipe) -> None:
    with proxy_to(_port()) as proxy:
        store = RedisStore(f"redis://127.0.0.1:{proxy.port}/0", prefix="silent", timeout=0.3)
        store.wait(["default"], timeout=1)

        def wait() -> None:
            assert seconds(lambda: store.wait(["default"], timeout=LONG, wake=pipe.end)) < SOON
            with pytest.raises(StoreUnavailable):
                store.wait(["default"], timeout=1)

        def silence() -> None:
            until(lambda: _blocked(backend.open()) == 1)  # type: ignore[arg-type]
            proxy.black_hole = True
            pipe.wake()

        in_threads(wait, silence)


@pytest.mark.parametrize("kind", ["postgres"])
def test_a_job_is_heard_of_when_its_transaction_commits(backend: Backend, scene: Scene) -> None:
    from django.db import transaction

    def add() -> None:
        with transaction.atomic(using="postgres"):
            Scene(backend.open(), scene.clock).add()

    after_a_wait_began(backend, add)


@pytest.mark.parametrize("kind", ["postgres"])
def test_a_settled_job_is_not_heard_of(backend: Backend, scene: Scene) -> None:
    jobs = [scene.started() for _ in range(2)]
    heard: list[str] = []
    connection = connections["postgres"]
    with connection.cursor() as cursor:
        cursor.execute("LISTEN asyncjobs")
        connection.connection.add_notify_handler(lambda notify: heard.append(notify.payload))
        scene.store.swap([Change(job, transitions.complete(job, "1", now=scene.clock())) for job in jobs])
        cursor.execute("SELECT 1")
        assert heard == []
        scene.add(queue="mail")
        cursor.execute("SELECT 1")
        assert heard == ["mail"]
    connection.close()
