"""`beat`, `held` and `lapsed`: who holds a job, and when it is taken back."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import Beat
from tests.scene import BOOM, LEASE, Scene, ids

HOUR = 3_600_000
NOTHING = Beat([], [])


def beat(scene: Scene, *jobs: Job, worker: str = "w1") -> Beat:
    return scene.store.beat(worker, {job.id: job.version for job in jobs}, lease=LEASE)


def test_a_beat_extends_the_lease_and_nothing_else(scene: Scene) -> None:
    started = scene.started()
    now = scene.clock.advance(3_000)
    assert beat(scene, started) == NOTHING
    assert scene.stored(started) == started.replace(claimed_until=now + LEASE)


def test_a_beat_with_nothing_held(scene: Scene) -> None:
    started = scene.started()
    assert beat(scene) == NOTHING
    assert scene.stored(started) == started


def test_a_beat_extends_many_leases(scene: Scene) -> None:
    held = scene.started_many(150)
    now = scene.clock.advance(3_000)
    assert beat(scene, *held) == NOTHING
    assert {job.claimed_until for job in scene.store.held("w1")} == {now + LEASE}


def test_a_job_of_another_version_is_lost(scene: Scene) -> None:
    first = scene.started()
    scene.settle(transitions.release, first)
    [again] = scene.claim()
    scene.clock.advance(1_000)
    assert beat(scene, first) == Beat([first.id], [])
    assert scene.stored(first) == again


def test_a_job_of_another_worker_is_lost(scene: Scene) -> None:
    started = scene.started(worker="w2")
    scene.clock.advance(1_000)
    assert beat(scene, started, worker="w1") == Beat([started.id], [])
    assert scene.stored(started) == started


@pytest.mark.parametrize("status", [status for status in JobStatus if status != JobStatus.IN_PROGRESS])
def test_a_job_that_is_not_in_progress_is_lost(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status)
    assert beat(scene, job) == Beat([job.id], [])
    assert scene.stored(job) == job


def test_a_job_that_is_gone_is_lost(scene: Scene) -> None:
    started = scene.started()
    scene.store.delete([started])
    assert beat(scene, started) == Beat([started.id], [])
    assert scene.is_gone(started)


def test_one_lost_job_does_not_cost_the_others(scene: Scene) -> None:
    lost, kept = scene.started(), scene.started()
    scene.settle(transitions.release, lost)
    scene.elapse(LEASE - 1)
    assert beat(scene, lost, kept) == Beat([lost.id], [])
    scene.elapse(2)
    assert scene.lapsed() == []


def test_a_beat_tells_of_a_requested_cancel(scene: Scene) -> None:
    asked, other = scene.started(), scene.started()
    scene.settle(transitions.request_cancel, asked)
    assert beat(scene, asked, other) == Beat([], [asked.id])
    assert beat(scene, asked, other) == Beat([], [asked.id])


def test_a_job_asked_to_stop_keeps_its_lease_while_it_is_beaten(scene: Scene) -> None:
    started = scene.started()
    scene.settle(transitions.request_cancel, started)
    scene.elapse(LEASE - 1)
    beat(scene, started)
    scene.elapse(LEASE - 1)
    assert scene.lapsed() == []


def test_a_cancel_request_on_a_lost_job_is_not_the_old_holders(scene: Scene) -> None:
    first = scene.started()
    scene.settle(transitions.release, first)
    [again] = scene.claim(worker="w2")
    scene.settle(transitions.request_cancel, again)
    assert beat(scene, first) == Beat([first.id], [])


def test_held_answers_what_a_worker_holds(scene: Scene) -> None:
    mine, theirs = scene.started(), scene.started(worker="w2")
    assert scene.store.held("w1") == [mine]
    assert scene.store.held("w2") == [theirs]
    assert scene.store.held("w3") == []


def test_held_knows_a_claim_whose_answer_never_arrived(scene: Scene) -> None:
    unanswered = scene.started_many(120)
    assert sorted(ids(scene.store.held("w1"))) == sorted(ids(unanswered))


@pytest.mark.parametrize("give_back", [transitions.release, transitions.rescue, transitions.crash, transitions.cancel])
def test_a_job_given_back_is_held_no_more(scene: Scene, give_back: object) -> None:
    scene.settle(give_back, scene.started())
    assert scene.store.held("w1") == []


def test_a_finished_job_is_held_no_more(scene: Scene) -> None:
    scene.completed()
    scene.failed()
    scene.settle(transitions.fail, scene.started(), BOOM, delay=5)
    assert scene.store.held("w1") == []


def test_a_lapsed_job_is_still_held(scene: Scene) -> None:
    started = scene.started()
    scene.elapse(2 * LEASE)
    assert scene.store.held("w1") == [started]


def test_a_lease_lasts_its_time(scene: Scene) -> None:
    scene.started()
    scene.elapse(LEASE - 1)
    assert scene.lapsed() == []


def test_a_lease_runs_out(scene: Scene) -> None:
    started = scene.started()
    scene.elapse(LEASE)
    assert scene.lapsed() == [started]


def test_a_lapsed_job_stays_until_somebody_acts(scene: Scene) -> None:
    started = scene.started()
    scene.elapse(LEASE)
    assert scene.lapsed() == scene.lapsed() == [started]
    assert scene.stored(started) == started


def test_a_rescued_job_has_lapsed_no_more(scene: Scene) -> None:
    started = scene.started()
    scene.elapse(LEASE)
    rescued = scene.settle(transitions.rescue, started)
    assert scene.lapsed() == []
    assert ids(scene.claim(worker="w2")) == [rescued.id]


def test_a_settle_after_the_lease_but_before_the_rescue_counts(scene: Scene) -> None:
    started = scene.started()
    scene.elapse(3 * LEASE)
    scene.settle(transitions.complete, started, "1")
    assert scene.lapsed() == []


def test_a_beat_after_the_lease_but_before_the_rescue_counts(scene: Scene) -> None:
    started = scene.started()
    scene.elapse(2 * LEASE)
    assert beat(scene, started) == NOTHING
    assert scene.lapsed() == []


def test_longest_ago_first(scene: Scene) -> None:
    jobs = []
    for _ in range(4):
        jobs.append(scene.started())
        scene.clock.advance(10)
    scene.elapse(LEASE)
    assert scene.lapsed() == jobs


def test_a_beat_moves_a_job_to_the_end_of_the_line(scene: Scene) -> None:
    first, second = scene.started(), scene.started()
    scene.clock.advance(10)
    beat(scene, first)
    scene.elapse(LEASE)
    assert ids(scene.lapsed()) == [second.id, first.id]


def test_lapsed_answers_no_more_than_its_limit(scene: Scene) -> None:
    first = scene.started()
    scene.clock.advance(10)
    scene.started()
    scene.elapse(LEASE)
    assert scene.lapsed(limit=1) == [first]


def test_jobs_of_every_queue_lapse(scene: Scene) -> None:
    first, second = scene.started(queue="a"), scene.started(queue="b")
    scene.elapse(LEASE)
    assert sorted(ids(scene.lapsed())) == sorted([first.id, second.id])


@pytest.mark.parametrize("jump", [LEASE // 2 + 1, LEASE, HOUR])
def test_rescue_idles_one_lease_after_the_clock_jumped(scene: Scene, jump: int) -> None:
    started = scene.started()
    scene.clock.advance(jump)
    assert scene.lapsed() == []
    scene.elapse(LEASE - 1)
    assert scene.lapsed() == []
    scene.elapse(1)
    assert scene.lapsed() == [started]


def test_nobody_asking_for_half_a_lease_is_no_jump(scene: Scene) -> None:
    started = scene.started()
    scene.clock.advance(LEASE // 2)
    assert scene.lapsed() == []
    scene.clock.advance(LEASE // 2)
    assert scene.lapsed() == [started]


def test_a_live_holder_outlives_a_jump(scene: Scene) -> None:
    alive, dead = scene.started(worker="w1"), scene.started(worker="w2")
    scene.clock.advance(HOUR)
    assert scene.lapsed() == []
    beat(scene, alive, worker="w1")
    scene.elapse(LEASE - 1)
    beat(scene, alive, worker="w1")
    scene.elapse(1)
    assert scene.lapsed() == [dead]


def test_a_claim_after_a_jump_starts_the_grace_too(scene: Scene) -> None:
    started = scene.started()
    scene.clock.advance(HOUR)
    scene.claim(worker="w2")
    assert scene.lapsed() == []
    scene.elapse(LEASE)
    assert scene.lapsed() == [started]


def test_a_beat_after_a_jump_starts_the_grace_too(scene: Scene) -> None:
    started = scene.started()
    scene.clock.advance(HOUR)
    beat(scene, worker="w2")
    assert scene.lapsed() == []
    scene.elapse(LEASE)
    assert scene.lapsed() == [started]


def test_claims_and_beats_alone_keep_the_watch_going(scene: Scene) -> None:
    started = scene.started()
    for _ in range(4):
        scene.clock.advance(LEASE // 4)
        beat(scene, worker="w2")
    assert scene.lapsed() == [started]


def test_a_clock_set_back_does_not_stretch_leases(scene: Scene) -> None:
    started = scene.started()
    scene.clock.advance(-HOUR)
    assert scene.lapsed() == []
    scene.elapse(LEASE - 1)
    assert scene.lapsed() == []
    scene.elapse(1)
    assert scene.lapsed() == [started]


def test_a_lease_taken_after_the_clock_was_set_back_lasts_its_time(scene: Scene) -> None:
    scene.lapsed()
    scene.clock.advance(-HOUR)
    started = scene.started()
    scene.elapse(LEASE - 1)
    assert scene.lapsed() == []
    scene.elapse(1)
    assert scene.lapsed() == [started]


def test_a_beat_after_the_clock_was_set_back_extends_by_one_lease(scene: Scene) -> None:
    started = scene.started()
    scene.clock.advance(-HOUR)
    beat(scene, started)
    scene.elapse(LEASE - 1)
    assert scene.lapsed() == []
    scene.elapse(1)
    assert ids(scene.lapsed()) == [started.id]


def test_a_clock_that_goes_to_and_fro_steals_nothing(scene: Scene) -> None:
    alive = scene.started()
    for jump in (HOUR, -2 * HOUR, HOUR, -HOUR, 3 * HOUR):
        scene.clock.advance(jump)
        assert scene.lapsed() == []
        beat(scene, alive)
        scene.elapse(LEASE - 1)
        assert scene.lapsed() == []
        beat(scene, alive)


def test_a_clock_that_goes_to_and_fro_rescues_the_dead(scene: Scene) -> None:
    dead = scene.started()
    scene.clock.advance(HOUR)
    scene.lapsed()
    scene.clock.advance(-2 * HOUR)
    scene.lapsed()
    scene.elapse(2 * LEASE)
    assert scene.lapsed() == [dead]
