"""Two may want the same job at the same moment; one gets it. Real stores, real threads, each on its own connection."""

from collections.abc import Callable
from functools import partial
from threading import Barrier, BrokenBarrierError
from typing import Any, NamedTuple

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import QueueFull
from asyncjobs.stores.base import MAX_BATCH, Change, Entry, Store
from tests.backends import Backend, Effort
from tests.scene import BOOM, LEASE, Scene, ids
from tests.threads import in_threads

CLAIMERS = 8
FOREVER = 2**52


@pytest.fixture
def scene(live_store: Store) -> Scene:
    return Scene(live_store, live_store.now)


@pytest.fixture
def rival(backend: Backend, live_store: Store) -> Scene:
    """The other one's store: the same jobs, another connection."""
    store = backend.open()
    return Scene(store, store.now)


class Duel(NamedTuple):
    """Round after round, both act at once on what was prepared, and the judge sees it and both their answers."""

    rounds: int

    def __call__(
        self,
        prepare: Callable[[], Any],
        first: Callable[[Any], Any],
        second: Callable[[Any], Any],
        judge: Callable[..., None],
    ) -> None:
        prize: list[Any] = []
        answers: list[Any] = [None, None]
        start = Barrier(2, action=lambda: prize.append(prepare()))
        end = Barrier(2, action=lambda: judge(prize.pop(), *answers))

        def fight(place: int, act: Callable[[Any], Any]) -> None:
            try:
                for _ in range(self.rounds):
                    start.wait()
                    answers[place] = act(prize[0])
                    end.wait()
            except BrokenBarrierError:
                return
            except BaseException:
                start.abort()
                end.abort()
                raise

        in_threads(lambda: fight(0, first), lambda: fight(1, second))


@pytest.fixture
def duel(effort: Effort) -> Duel:
    return Duel(rounds=2_000 if effort == "long" else 100)


def work_off(backend: Backend) -> list[str]:
    """Claims and completes until nothing is ready; answers the ids of what was claimed."""
    store = backend.open()
    claimed: list[str] = []
    changes: list[Change] = []
    worker = f"w{id(store)}"
    while True:
        written, jobs = store.exchange(changes, ["default"], worker=worker, limit=20, lease=60_000)
        assert all(written)
        if not jobs and not changes:
            return claimed
        claimed += ids(jobs)
        changes = [Change(job, transitions.complete(job, "1", now=store.now())) for job in jobs]


def test_eight_claimers_get_every_job_once(backend: Backend, scene: Scene, effort: Effort) -> None:
    jobs = [scene.job() for _ in range(5_000 if effort == "long" else 1_000)]
    for start in range(0, len(jobs), MAX_BATCH):
        scene.store.add(jobs[start : start + MAX_BATCH])
    claimed = in_threads(*[lambda: work_off(backend)] * CLAIMERS)
    claimed.append(work_off(backend))
    assert sorted(job_id for each in claimed for job_id in each) == sorted(ids(jobs))
    assert scene.counted() == {JobStatus.COMPLETED: len(jobs)}
    assert sum(minute.count for minute in scene.store.series(10)) == len(jobs)


def test_a_job_is_canceled_or_claimed(scene: Scene, rival: Scene, duel: Duel) -> None:
    def cancel(job: Job) -> bool:
        return scene.swap(job, transitions.cancel(job, now=scene.clock()))

    def judge(job: Job, canceled: bool, claimed: list[Job]) -> None:  # noqa: FBT001 - an answer
        assert ids(claimed) == ([] if canceled else [job.id])
        stored = scene.stored(job)
        assert stored.status == (JobStatus.CANCELED if canceled else JobStatus.IN_PROGRESS)
        assert scene.store.delete([stored]) == [True]

    duel(scene.add, cancel, lambda job: rival.claim(), judge)


def test_a_job_is_settled_or_rescued(scene: Scene, rival: Scene, duel: Duel) -> None:
    def settle(job: Job) -> bool:
        return scene.swap(job, transitions.complete(job, "1", now=scene.clock()))

    def rescue(job: Job) -> bool:
        return rival.swap(job, transitions.rescue(job, now=rival.clock()))

    def judge(job: Job, settled: bool, rescued: bool) -> None:  # noqa: FBT001 - answers
        assert settled != rescued
        stored = scene.stored(job)
        assert stored.status == (JobStatus.COMPLETED if settled else JobStatus.QUEUED)
        assert scene.store.delete([stored]) == [True]

    duel(scene.started, settle, rescue, judge)


def test_a_job_is_retried_or_pruned(scene: Scene, rival: Scene, duel: Duel) -> None:
    def retry(job: Job) -> bool:
        return scene.swap(job, transitions.retry(job, now=scene.clock()))

    def prune(job: Job) -> int:
        return rival.store.prune({JobStatus.FAILED: FOREVER}, limit=10)

    def judge(job: Job, retried: bool, pruned: int) -> None:  # noqa: FBT001 - an answer
        assert (retried, pruned) in [(True, 0), (False, 1)]
        if pruned:
            assert scene.is_gone(job)
        else:
            assert scene.store.delete(scene.claim()) == [True]

    duel(scene.failed, retry, prune, judge)


def test_a_cancel_request_survives_the_settle_beside_it(scene: Scene, rival: Scene, duel: Duel) -> None:
    def settle(job: Job) -> bool:
        return scene.swap(job, transitions.fail(job, BOOM, delay=60_000, now=scene.clock()))

    def request(job: Job) -> bool:
        return rival.swap(job, transitions.request_cancel(job, now=rival.clock()))

    def judge(job: Job, settled: bool, requested: bool) -> None:  # noqa: FBT001 - answers
        stored = scene.stored(job)
        assert settled
        assert (stored.status, stored.cancel_requested is not None) == (JobStatus.SCHEDULED, requested)
        assert scene.store.delete([stored]) == [True]

    duel(scene.started, settle, request, judge)


def test_a_beat_and_a_settle_do_not_undo_each_other(scene: Scene, rival: Scene, duel: Duel) -> None:
    def settle(job: Job) -> bool:
        return scene.swap(job, transitions.release(job, now=scene.clock()))

    def beat(job: Job) -> list[str]:
        return rival.store.beat("w1", {job.id: job.version}, lease=LEASE).lost

    def judge(job: Job, settled: bool, lost: list[str]) -> None:  # noqa: FBT001 - an answer
        stored = scene.stored(job)
        assert settled
        assert (stored.status, stored.claimed_until) == (JobStatus.QUEUED, None)
        assert scene.store.delete(scene.claim()) == [True]

    duel(scene.started, settle, beat, judge)


def test_one_of_two_twins_is_stored(scene: Scene, rival: Scene, duel: Duel) -> None:
    def add(own: Scene) -> Callable[[str], Job]:
        return lambda key: own.store.add([own.job(unique_key=key)])[0]

    def judge(key: str, first: Job, second: Job) -> None:
        assert first.id == second.id
        assert ids(scene.found()) == [first.id]
        assert scene.store.delete([first]) == [True]

    duel(lambda: "k", add(scene), add(rival), judge)


def test_one_job_added_twice_at_once_is_stored_once(scene: Scene, rival: Scene, duel: Duel) -> None:
    def judge(job: Job, first: list[Job], second: list[Job]) -> None:
        assert first == second == [job]
        assert scene.counted() == {JobStatus.QUEUED: 1}
        assert scene.store.delete(scene.claim()) == [True]

    duel(scene.job, lambda job: scene.store.add([job]), lambda job: rival.store.add([job]), judge)


def test_the_last_free_place_of_a_queue_is_given_once(scene: Scene, rival: Scene, duel: Duel) -> None:
    def add(own: Scene) -> Callable[[None], bool]:
        def act(_: None) -> bool:
            try:
                return bool(own.store.add([own.job()], limits={"default": 1}))
            except QueueFull:
                return False

        return act

    def judge(_: None, first: bool, second: bool) -> None:  # noqa: FBT001 - answers
        assert first != second
        assert scene.counted() == {JobStatus.QUEUED: 1}
        assert scene.store.delete(scene.claim()) == [True]

    duel(lambda: None, add(scene), add(rival), judge)


def test_a_job_comes_back_from_the_trash_once(scene: Scene, rival: Scene, duel: Duel) -> None:
    def laid() -> Job:
        job = scene.add(unique_key="k", tags=("red",))
        assert scene.store.delete([job], rest_until=FOREVER) == [True]
        return job

    def judge(job: Job, first: list[Job], second: list[Job]) -> None:
        assert first == second == [job.replace(version=job.version + 1)]
        assert scene.counted() == {JobStatus.QUEUED: 1}
        assert scene.store.delete(scene.claim()) == [True]

    duel(laid, lambda job: scene.store.restore([job.id]), lambda job: rival.store.restore([job.id]), judge)


def test_a_job_rests_or_is_back_when_it_is_deleted_and_restored_at_once(scene: Scene, rival: Scene, duel: Duel) -> None:
    def judge(job: Job, deleted: list[bool], restored: list[Job | None]) -> None:
        assert deleted == [True]
        assert restored in ([job], [None], [job.replace(version=job.version + 1)])
        rests = scene.store.rests(job.id) is not None
        assert scene.is_gone(job) == rests == (restored != [job.replace(version=job.version + 1)])
        assert [back and back.id for back in scene.store.restore([job.id])] == [job.id]
        assert scene.store.delete(scene.claim()) == [True]

    def delete(job: Job) -> list[bool]:
        return scene.store.delete([job], rest_until=FOREVER)

    duel(scene.add, delete, lambda job: rival.store.restore([job.id]), judge)


def test_no_line_of_a_journal_is_lost_or_numbered_twice(backend: Backend, scene: Scene) -> None:
    shared, *own = scene.started_many(5)
    rounds = 12

    def write(place: int) -> None:
        store = backend.open()
        for number in range(rounds):
            line = Entry("log", 1, f"{place}.{number}")
            assert store.swap([Change(job, job, (line,)) for job in (own[place], shared)]) == [True, True]

    in_threads(*[partial(write, place) for place in range(len(own))])
    expected = [[f"{place}.{number}" for number in range(rounds)] for place in range(len(own))]
    assert [[entry.text for entry in scene.store.journal(job.id, "log")] for job in own] == expected
    entries = scene.store.journal(shared.id, "log")
    assert sorted(entry.text for entry in entries) == sorted(text for texts in expected for text in texts)
    assert [entry.number for entry in entries] == list(range(1, rounds * len(own) + 1))
