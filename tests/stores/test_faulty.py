"""Calls that fail before or after they were done are repeated: nothing is lost and nothing done twice."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import StoreUnavailable
from asyncjobs.stores.base import Change, Entry, Gone, Pause, Receipt, Store
from tests.backends import Backend
from tests.clock import Clock
from tests.scene import BOOM, LEASE, Scene, ids
from tests.stores.faulty import Fault, FaultyStore, insist

faults = st.lists(st.sampled_from(Fault), max_size=40)
quickly = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Worker:
    """Works off a queue on a store that fails, and takes back what a lost answer left in its name."""

    def __init__(self, store: Any, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def run(self) -> None:
        while jobs := self._claimed():
            changes = [self._change(job) for job in jobs]
            assert insist(self._store.swap, changes) == [True] * len(changes)

    def _claimed(self) -> list[Job]:
        try:
            return self._store.claim(["default"], worker="w1", limit=3, lease=LEASE)
        except StoreUnavailable:
            self._give_back(insist(self._store.held, "w1"))
            return self._claimed()

    def _give_back(self, jobs: list[Job]) -> None:
        changes = [Change(job, transitions.release(job, now=self._clock())) for job in jobs]
        assert insist(self._store.swap, changes) == [True] * len(changes)

    def _change(self, job: Job) -> Change:
        if job.payload == "fails once" and job.retry_count == 0:
            entry = Entry("attempt", self._clock(), f"attempt {job.attempt}")
            return Change(job, transitions.fail(job, BOOM, delay=0, now=self._clock()), (entry,))
        return Change(job, transitions.complete(job, "1", now=self._clock()))


def emptied(backend: Backend, clock: Clock) -> Store:
    backend.clear()
    return backend.open(clock=clock)


@quickly
@given(faults=faults)
def test_every_job_runs_to_its_end_once(backend: Backend, clock: Clock, faults: list[Fault]) -> None:
    store = emptied(backend, clock)
    scene, faulty = Scene(store, clock), FaultyStore(store, faults)
    jobs = [scene.job(payload="fails once" if place % 3 == 0 else "") for place in range(7)]
    for batch in (jobs[:3], jobs[3:]):
        assert insist(faulty.add, batch) == batch
    Worker(faulty, clock).run()
    stored = [scene.stored(job) for job in jobs]
    assert scene.counted() == {JobStatus.COMPLETED: len(jobs)}
    assert [minute.count for minute in store.series(1)] == [len(jobs)]
    assert [job.attempt for job in stored] == [2, 1, 1, 2, 1, 1, 2]
    assert [len(store.journal(job.id, "attempt")) for job in stored] == [1, 0, 0, 1, 0, 0, 1]
    assert (store.held("w1"), store.check()) == ([], [])


@quickly
@given(faults=faults)
def test_every_verb_may_be_repeated(backend: Backend, clock: Clock, faults: list[Fault]) -> None:
    store = emptied(backend, clock)
    scene, faulty = Scene(store, clock), FaultyStore(store, faults)
    job, twin = scene.job(unique_key="k", owner="ada"), scene.job(unique_key="k")
    receipt = Receipt("a1", "f", "first", clock() + 1_000)
    assert insist(faulty.add, [job, twin], receipt=receipt) == [job, job]
    insist(faulty.pause, Pause(queue="default", since=clock()))
    assert scene.claim() == []
    insist(faulty.resume, "default")
    [started] = scene.claim()
    assert insist(faulty.beat, "w1", {job.id: started.version}, lease=LEASE).lost == []
    failed = move(faulty, transitions.fail, started, BOOM, delay=None, now=clock())
    retried = move(faulty, transitions.retry, failed, now=clock())
    canceled = move(faulty, transitions.cancel, retried, now=clock())
    assert insist(faulty.get, [job.id, twin.id]) == [canceled, None]
    assert insist(faulty.delete, [canceled], rest_until=clock() + 1_000) == [True]
    [restored] = insist(faulty.restore, [job.id])
    assert restored == canceled.replace(version=canceled.version + 1)
    assert insist(faulty.delete, [restored]) == [True]
    assert store.gone(job.id) == Gone("ada", clock())
    assert sorted(minute.count for minute in store.series(1)) == [1, 1]
    assert scene.counted() == {}
    assert store.check() == []


def move(store: Any, transition: Callable[..., Job], job: Job, *args: Any, **options: Any) -> Job:
    new = transition(job, *args, **options)
    assert insist(store.swap, [Change(job, new)]) == [True]
    return new


def test_a_claim_whose_answer_was_lost_is_found_by_held(scene: Scene) -> None:
    first, second = scene.add(), scene.add()
    faulty = FaultyStore(scene.store, [Fault.AFTER])
    claimed = insist(faulty.claim, ["default"], worker="w1", limit=1, lease=LEASE)
    assert sorted(ids(scene.store.held("w1"))) == sorted([first.id, second.id])
    [lost] = [job for job in scene.store.held("w1") if job.id not in ids(claimed)]
    released = scene.settle(transitions.release, lost)
    assert (released.attempt, released.status) == (0, JobStatus.QUEUED)
    assert ids(scene.claim(worker="w2", limit=5)) == [lost.id]
