"""The trash: jobs deleted with a time to rest are gone for everybody, and come back as they were."""

from typing import Any

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import TERMINAL, Job, JobStatus
from asyncjobs.errors import AsyncJobsError, InvalidJob, InvalidQuery
from asyncjobs.stores.base import JOURNAL_LIMITS, MAX_ENTRY, Change, Entry, Resting, Store
from tests.scene import LEASE, Scene, ids

HOUR = 3_600_000
RICH: dict[str, Any] = {
    "priority": 40,
    "payload": '{"a": "\\u0000 é"}',
    "owner": "zoë: 7",
    "tags": ("red", "blue"),
    "workflow_id": "0f0d2f5e-9d0e-4b0a-8a43-0d2f5e9d0e4b",
}


def lay(scene: Scene, *jobs: Job, hours: int = 1, note: Entry | None = None) -> None:
    until = scene.clock() + hours * HOUR
    assert scene.store.delete(jobs, rest_until=until, note=note) == [True] * len(jobs)


def back(scene: Scene, job: Job) -> Job:
    [restored] = scene.store.restore([job.id])
    assert restored is not None
    return restored


def resting(scene: Scene) -> list[str]:
    return [rest.job.id for rest in scene.store.trash().resting]


@pytest.mark.parametrize("status", JobStatus)
def test_a_job_in_the_trash_is_gone_from_everywhere(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status, **RICH)
    lay(scene, job)
    assert scene.is_gone(job)
    assert scene.found() == scene.found(status=status) == scene.found(owner=job.owner) == scene.found(tag="red") == []
    assert scene.counted() == {}
    assert scene.store.held("w1") == scene.claim() == []
    assert scene.store.gone(job.id) is not None
    assert scene.store.check() == []


@pytest.mark.parametrize("status", JobStatus)
def test_a_restored_job_is_as_it_was_in_its_next_version(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status, **RICH)
    lay(scene, job)
    scene.clock.advance(5)
    restored = back(scene, job)
    assert restored == scene.stored(job) == job.replace(version=job.version + 1)
    assert scene.found() == scene.found(status=status) == scene.found(owner=job.owner) == [restored]
    assert scene.found(tag="red") == scene.found(tag="blue") == [restored]
    assert scene.counted() == {status: 1}
    assert scene.store.gone(job.id) is None
    assert resting(scene) == []
    assert scene.store.check() == []


def test_it_is_known_of_a_job_when_it_was_deleted_and_until_when_it_rests(scene: Scene) -> None:
    job = scene.failed(**RICH)
    expected = Resting(job, scene.clock(), scene.clock() + HOUR)
    lay(scene, job)
    scene.clock.advance(7)
    assert scene.store.rests(job.id) == expected
    assert scene.store.trash().resting == [expected]


def test_a_version_says_which_deletion_is_meant(scene: Scene) -> None:
    again, once = scene.failed(), scene.failed()
    meant = {job.id: job.version for job in (again, once)}
    lay(scene, again, once)
    lay(scene, back(scene, again))
    assert ids(filter(None, scene.store.restore(list(meant), versions=meant))) == [once.id]
    assert resting(scene) == [again.id]
    assert scene.store.restore([again.id], versions={}) == [None]


def test_a_job_that_does_not_rest_is_not_in_the_trash(scene: Scene) -> None:
    deleted, stored = scene.add(), scene.add()
    scene.store.delete([deleted])
    assert [scene.store.rests(job.id) for job in (deleted, stored, scene.job())] == [None] * 3
    assert scene.store.trash() == ([], "")


def test_of_what_neither_rests_nor_is_stored_nothing_comes_back(scene: Scene) -> None:
    assert scene.store.restore([scene.job().id]) == [None]
    assert scene.store.restore([]) == []


def test_a_changed_job_is_not_laid_into_the_trash(scene: Scene) -> None:
    job = scene.add()
    [claimed] = scene.claim()
    assert scene.store.delete([job], rest_until=scene.clock() + HOUR) == [False]
    assert (scene.stored(job), resting(scene)) == (claimed, [])


def test_restoring_again_answers_what_is_stored(scene: Scene) -> None:
    job = scene.add()
    lay(scene, job)
    restored = back(scene, job)
    assert back(scene, job) == restored
    [claimed] = scene.claim()
    assert back(scene, job) == claimed


def test_a_restored_job_is_claimed_and_finished(scene: Scene) -> None:
    job = scene.add(**RICH)
    lay(scene, job)
    restored = back(scene, job)
    [claimed] = scene.claim()
    assert claimed == transitions.start(restored, worker="w1", until=scene.clock() + LEASE, now=scene.clock())
    assert scene.settle(transitions.complete, claimed, "1").status == JobStatus.COMPLETED


def test_a_delayed_job_that_fell_due_in_the_trash_runs_once_it_is_back(scene: Scene) -> None:
    job = scene.put(scene.delayed(1_000))
    lay(scene, job)
    scene.clock.advance(2_000)
    assert scene.claim() == []
    back(scene, job)
    assert ids(scene.claim()) == [job.id]


def test_the_holder_of_a_job_loses_it_to_the_trash_for_good(scene: Scene) -> None:
    job = scene.started()
    done = Change(job, transitions.complete(job, "1", now=scene.clock()))
    lay(scene, job)
    assert scene.store.swap([done]) == [False]
    back(scene, job)
    assert scene.store.swap([done]) == [False]
    assert scene.store.beat("w1", {job.id: job.version}, lease=LEASE).lost == [job.id]


def test_a_stale_delete_does_not_touch_the_restored_job(scene: Scene) -> None:
    job = scene.add()
    lay(scene, job)
    restored = back(scene, job)
    assert scene.store.delete([job], rest_until=scene.clock() + HOUR) == [False]
    assert scene.stored(job) == restored


def test_a_job_goes_to_the_trash_and_back_many_times(scene: Scene) -> None:
    job = scene.failed(tags=("red",), owner="ada")
    for _ in range(3):
        lay(scene, job)
        job = back(scene, job)
    assert scene.found(tag="red") == [job]
    assert scene.counted() == {JobStatus.FAILED: 1}


class TestUniqueKeys:
    @pytest.mark.parametrize("holds", ["pending", "running", "ttl"])
    def test_the_key_is_free_meanwhile_and_held_again_afterwards(self, scene: Scene, holds: Any) -> None:
        until = scene.clock() + HOUR if holds == "ttl" else None
        job = scene.add(unique_key="k", unique_while=holds, unique_until=until)
        lay(scene, job)
        other = scene.add(unique_key="k")
        assert scene.store.delete([other]) == [True]
        back(scene, job)
        assert ids(scene.store.add([scene.job(unique_key="k")])) == [job.id]

    def test_a_key_that_another_one_took_stays_his(self, scene: Scene) -> None:
        job = scene.add(unique_key="k")
        lay(scene, job)
        other = scene.add(unique_key="k")
        assert back(scene, job).unique_key == "k"
        assert scene.counted() == {JobStatus.QUEUED: 2}
        assert ids(scene.store.add([scene.job(unique_key="k")])) == [other.id]

    def test_a_finished_job_takes_no_key(self, scene: Scene) -> None:
        job = scene.completed(unique_key="k")
        lay(scene, job)
        back(scene, job)
        assert scene.add(unique_key="k").unique_key == "k"

    def test_a_time_that_is_over_is_over(self, scene: Scene) -> None:
        job = scene.add(unique_key="k", unique_while="ttl", unique_until=scene.clock() + 1_000)
        lay(scene, job)
        scene.clock.advance(1_000)
        back(scene, job)
        assert scene.add(unique_key="k").id != job.id


class TestJournals:
    def test_the_journal_comes_back_with_the_job(self, scene: Scene) -> None:
        job = scene.started()
        entries = tuple(Entry(kind, 1, f"{kind} {n}") for kind in JOURNAL_LIMITS for n in (1, 2))
        scene.store.swap([Change(job, job, entries)])
        before = [scene.store.journal(job.id, kind) for kind in JOURNAL_LIMITS]
        lay(scene, job)
        assert [scene.store.journal(job.id, kind) for kind in JOURNAL_LIMITS] == [[]] * len(JOURNAL_LIMITS)
        back(scene, job)
        assert [scene.store.journal(job.id, kind) for kind in JOURNAL_LIMITS] == before

    def test_a_note_is_the_last_entry_and_known_of_what_rests(self, scene: Scene) -> None:
        job, silent = scene.started_many(2)
        scene.store.swap([Change(job, job, (Entry("action", 1, "retried"),))])
        note = Entry("action", scene.clock(), "deleted by zoë")
        lay(scene, job, note=note)
        lay(scene, silent)
        assert [rest and rest.note for rest in map(scene.store.rests, ids([job, silent]))] == [
            note._replace(number=2),
            None,
        ]
        assert {rest.job.id: rest.note for rest in scene.store.trash().resting} == {
            job.id: note._replace(number=2),
            silent.id: None,
        }
        back(scene, job)
        assert [entry.text for entry in scene.store.journal(job.id, "action")] == ["retried", "deleted by zoë"]

    def test_a_note_keeps_to_the_length_of_the_journal(self, scene: Scene) -> None:
        job = scene.started()
        most = JOURNAL_LIMITS["action"]
        scene.store.swap([Change(job, job, tuple(Entry("action", 1, str(number)) for number in range(most)))])
        lay(scene, job, note=Entry("action", 1, "last"))
        back(scene, job)
        kept = scene.store.journal(job.id, "action")
        assert (len(kept), kept[0].number, kept[-1].text) == (most, 2, "last")

    def test_a_note_on_a_return_is_made_once(self, scene: Scene) -> None:
        job = scene.add()
        lay(scene, job, note=Entry("action", 1, "deleted"))
        note = Entry("action", 2, "restored")
        for _ in range(2):
            scene.store.restore([job.id], note=note)
        assert [entry.text for entry in scene.store.journal(job.id, "action")] == ["deleted", "restored"]

    def test_a_stale_delete_notes_nothing(self, scene: Scene) -> None:
        job = scene.add()
        scene.claim()
        assert scene.store.delete([job], rest_until=scene.clock(), note=Entry("action", 1, "x")) == [False]
        assert scene.store.journal(job.id, "action") == []

    def test_a_note_that_is_too_large_is_refused(self, scene: Scene) -> None:
        job = scene.add()
        with pytest.raises(InvalidJob):
            scene.store.delete([job], rest_until=scene.clock(), note=Entry("action", 1, "x" * (MAX_ENTRY + 1)))
        with pytest.raises(InvalidJob):
            scene.store.restore([job.id], note=Entry("action", 1, "x" * (MAX_ENTRY + 1)))
        assert scene.stored(job) == job


class TestAnIdThatIsUsedAgain:
    def test_the_stored_job_is_never_overwritten(self, scene: Scene) -> None:
        job = scene.add(payload='"first"')
        lay(scene, job, note=Entry("action", 1, "of the first"))
        second = scene.put(job.replace(payload='"second"'))
        assert scene.store.journal(job.id, "action") == []
        assert back(scene, job) == second
        assert resting(scene) == [job.id]

    def test_the_trash_holds_the_last_one_deleted(self, scene: Scene) -> None:
        job = scene.add(payload='"first"')
        lay(scene, job, note=Entry("action", 1, "of the first"))
        second = scene.put(job.replace(payload='"second"'))
        lay(scene, second, hours=2)
        assert scene.store.trash().resting == [Resting(second, scene.clock(), scene.clock() + 2 * HOUR)]
        assert back(scene, job).payload == '"second"'
        assert scene.store.journal(job.id, "action") == []


class TestPages:
    def test_the_last_deleted_comes_first_page_after_page(self, scene: Scene) -> None:
        jobs = [scene.add() for _ in range(5)]
        for job in jobs:
            lay(scene, job)
            scene.clock.advance(1)
        found: list[str] = []
        page = scene.store.trash(limit=2)
        while page.next:
            found += [rest.job.id for rest in page.resting]
            page = scene.store.trash(after=page.next, limit=2)
        assert found + [rest.job.id for rest in page.resting] == ids(reversed(jobs))

    def test_jobs_deleted_together_are_met_once_each(self, scene: Scene) -> None:
        jobs = [scene.job(owner="ada" if number % 2 else None) for number in range(230)]
        scene.store.add(jobs)
        lay(scene, *jobs)
        first = scene.store.trash(limit=115)
        second = scene.store.trash(after=first.next, limit=115)
        assert sorted(rest.job.id for page in (first, second) for rest in page.resting) == sorted(ids(jobs))
        assert second.next == ""
        assert all(scene.store.restore(ids(jobs)))
        assert scene.counted() == {JobStatus.QUEUED: 230}

    @pytest.mark.parametrize("limit", [0, 1_001])
    def test_a_page_has_a_bounded_size(self, store: Store, limit: int) -> None:
        with pytest.raises(InvalidQuery):
            store.trash(limit=limit)

    def test_what_is_no_cursor_is_refused(self, store: Store) -> None:
        with pytest.raises(AsyncJobsError, match="not a cursor"):
            store.trash(after="nonsense")


class TestPruning:
    def test_what_ran_out_is_removed_for_good(self, scene: Scene) -> None:
        job = scene.failed(owner="ada")
        lay(scene, job, note=Entry("action", 1, "deleted"))
        scene.clock.advance(HOUR - 1)
        assert scene.store.prune({}, limit=10) == 0
        scene.clock.advance(1)
        assert scene.store.prune({}, limit=10) == 1
        assert (resting(scene), scene.store.restore([job.id])) == ([], [None])
        assert scene.store.gone(job.id) is not None

    def test_each_rests_for_its_own_time(self, scene: Scene) -> None:
        long, short = scene.add(), scene.add()
        lay(scene, long, hours=3)
        lay(scene, short, hours=1)
        scene.clock.advance(2 * HOUR)
        assert scene.store.prune({}, limit=10) == 1
        assert resting(scene) == [long.id]

    def test_the_limit_holds_for_finished_jobs_and_the_trash_together(self, scene: Scene) -> None:
        lay(scene, *[scene.add() for _ in range(3)])
        for _ in range(2):
            scene.completed()
        scene.clock.advance(HOUR)
        before = dict.fromkeys(TERMINAL, scene.clock())
        assert [scene.store.prune(before, limit=3) for _ in range(3)] == [3, 2, 0]

    def test_many_run_out_in_one_call(self, scene: Scene) -> None:
        jobs = [scene.job() for _ in range(250)]
        scene.store.add(jobs)
        lay(scene, *jobs)
        scene.clock.advance(HOUR)
        assert scene.store.prune({}, limit=230) == 230
        assert len(resting(scene)) == 20

    def test_a_pruned_job_never_goes_to_the_trash(self, scene: Scene) -> None:
        job = scene.completed()
        assert scene.store.prune({job.status: scene.clock() + 1}, limit=1) == 1
        assert resting(scene) == []
