"""`claim`: which jobs, in which order, as started."""

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import PROMOTE_LIMIT, Change, Pause
from tests.scene import BOOM, LEASE, Scene, ids


def add_in_turn(scene: Scene, count: int, **fields: object) -> list[str]:
    added = []
    for _ in range(count):
        added.append(scene.add(**fields).id)
        scene.clock.advance(1)
    return added


def test_a_claimed_job_is_answered_as_started(scene: Scene) -> None:
    job = scene.add()
    now = scene.clock.advance(7)
    expected = transitions.start(job, worker="w1", until=now + LEASE, now=now)
    assert scene.claim() == [expected]
    assert scene.stored(job) == expected


def test_a_claimed_job_is_not_claimed_again(scene: Scene) -> None:
    scene.started()
    assert scene.claim(worker="w2", limit=5) == []


def test_an_empty_store_has_nothing_to_claim(scene: Scene) -> None:
    assert scene.claim("default", "other", limit=5) == []


def test_a_claim_takes_no_more_than_its_limit(scene: Scene) -> None:
    added = add_in_turn(scene, 5)
    assert ids(scene.claim(limit=3)) == added[:3]
    assert ids(scene.claim(limit=3)) == added[3:]


def test_one_limit_holds_for_all_queues_together(scene: Scene) -> None:
    first, second = add_in_turn(scene, 2, queue="a"), add_in_turn(scene, 2, queue="b")
    assert ids(scene.claim("a", "b", limit=3)) == first + second[:1]


def test_a_hundred_jobs_are_claimed_in_one_call(scene: Scene) -> None:
    jobs = [scene.job() for _ in range(100)]
    scene.store.add(jobs)
    assert sorted(ids(scene.claim(limit=100))) == sorted(ids(jobs))


def test_claims_go_on_until_nothing_is_ready(scene: Scene) -> None:
    jobs = [scene.job() for _ in range(250)]
    scene.store.add(jobs)
    claimed = [job for claim in iter(lambda: scene.claim(limit=250), []) for job in claim]
    assert sorted(ids(claimed)) == sorted(ids(jobs))


def test_oldest_first(scene: Scene) -> None:
    added = add_in_turn(scene, 6)
    assert [ids(scene.claim())[0] for _ in added] == added


def test_higher_priority_first(scene: Scene) -> None:
    low, middle, high = (scene.add(priority=priority).id for priority in (-100, 0, 100))
    assert ids(scene.claim(limit=3)) == [high, middle, low]


def test_oldest_first_within_a_priority(scene: Scene) -> None:
    low, high = add_in_turn(scene, 3, priority=-100), add_in_turn(scene, 3, priority=100)
    assert ids(scene.claim(limit=6)) == high + low


def test_queues_come_in_the_order_given(scene: Scene) -> None:
    [first] = add_in_turn(scene, 1, queue="a", priority=-100)
    [second] = add_in_turn(scene, 1, queue="b", priority=100)
    assert ids(scene.claim("a", "b", limit=2)) == [first, second]


def test_queues_come_in_the_other_order_when_given_so(scene: Scene) -> None:
    [first] = add_in_turn(scene, 1, queue="a", priority=100)
    [second] = add_in_turn(scene, 1, queue="b", priority=-100)
    assert ids(scene.claim("b", "a", limit=2)) == [second, first]


def test_other_queues_are_left_alone(scene: Scene) -> None:
    scene.add(queue="other")
    assert scene.claim("default", limit=5) == []


def test_a_queue_named_twice_is_claimed_once(scene: Scene) -> None:
    added = add_in_turn(scene, 2)
    assert ids(scene.claim("default", "default", limit=5)) == added


def test_a_job_that_is_not_due_stays(scene: Scene) -> None:
    job = scene.put(scene.delayed(1_000))
    scene.clock.advance(999)
    assert scene.claim() == []
    assert scene.stored(job) == job


def test_a_job_fallen_due_is_promoted_and_started(scene: Scene) -> None:
    job = scene.put(scene.delayed(1_000))
    now = scene.clock.advance(1_000)
    promoted = transitions.promote(job, now=now)
    assert scene.claim() == [transitions.start(promoted, worker="w1", until=now + LEASE, now=now)]


def test_a_retry_fallen_due_is_claimed(scene: Scene) -> None:
    started = scene.started()
    scene.settle(transitions.fail, started, BOOM, delay=500)
    assert scene.claim() == []
    scene.clock.advance(500)
    [again] = scene.claim(worker="w2")
    assert (again.id, again.attempt, again.retry_count) == (started.id, 2, 1)


def test_a_job_fallen_due_earns_no_priority(scene: Scene) -> None:
    low = scene.put(scene.delayed(1_000, priority=-100))
    scene.clock.advance(2_000)
    high = scene.add(priority=100)
    assert ids(scene.claim(limit=2)) == [high.id, low.id]


def test_a_claim_promotes_a_bounded_number_of_jobs(scene: Scene) -> None:
    jobs = [scene.delayed(due) for due in range(PROMOTE_LIMIT + 20)]
    scene.store.add(jobs)
    scene.clock.advance(1_000)
    assert len(scene.claim(limit=len(jobs))) == PROMOTE_LIMIT
    assert scene.counted()[JobStatus.SCHEDULED] == 20
    assert sorted(ids(scene.claim(limit=len(jobs)))) == sorted(ids(jobs[PROMOTE_LIMIT:]))


def test_what_fell_due_first_is_promoted_first(scene: Scene) -> None:
    jobs = [scene.delayed(1_000 - due) for due in range(PROMOTE_LIMIT + 1)]
    scene.store.add(jobs)
    scene.clock.advance(1_000)
    scene.claim(limit=1)
    assert ids(scene.found(status=JobStatus.SCHEDULED)) == [jobs[0].id]


def test_one_claim_promotes_in_every_queue(scene: Scene) -> None:
    scene.store.add([scene.delayed(0, queue=queue) for queue in ("a", "b") for _ in range(50)])
    assert len(scene.claim("a", "b", limit=100)) == 100


def test_jobs_waiting_on_others_are_not_ready(scene: Scene) -> None:
    scene.in_status(JobStatus.WAITING)
    assert scene.claim() == []


def test_a_job_made_ready_is_claimed(scene: Scene) -> None:
    ready = scene.settle(transitions.ready, scene.in_status(JobStatus.WAITING))
    assert ids(scene.claim()) == [ready.id]


def test_a_canceled_job_is_not_claimed(scene: Scene) -> None:
    scene.canceled()
    assert scene.claim(limit=5) == []


def test_a_deleted_job_is_not_claimed(scene: Scene) -> None:
    scene.store.delete([scene.add()])
    survivor = scene.add()
    assert ids(scene.claim(limit=5)) == [survivor.id]


def test_a_rescheduled_job_waits_for_its_new_time(scene: Scene) -> None:
    job = scene.add()
    scene.settle(transitions.reschedule, job, scene.clock() + 500)
    assert scene.claim() == []
    scene.clock.advance(500)
    assert ids(scene.claim()) == [job.id]


def test_a_released_job_is_claimed_again_at_the_same_attempt(scene: Scene) -> None:
    scene.settle(transitions.release, scene.started())
    [again] = scene.claim(worker="w2")
    assert (again.attempt, again.worker) == (1, "w2")


def test_a_released_job_queues_up_behind_those_waiting_longer(scene: Scene) -> None:
    first = scene.started()
    scene.clock.advance(1)
    second = scene.add()
    scene.clock.advance(1)
    scene.settle(transitions.release, first)
    assert ids(scene.claim(limit=2)) == [second.id, first.id]


def test_paused_queues_are_skipped(scene: Scene) -> None:
    scene.add(queue="a")
    job = scene.add(queue="b")
    scene.store.pause(Pause(queue="a", since=scene.clock()))
    assert ids(scene.claim("a", "b", limit=2)) == [job.id]


def test_exchange_settles_and_claims(scene: Scene) -> None:
    first, second = scene.started(), scene.add()
    done = transitions.complete(first, "1", now=scene.clock())
    written, claimed = scene.store.exchange([Change(first, done)], ["default"], worker="w1", limit=1, lease=LEASE)
    assert (written, ids(claimed)) == ([True], [second.id])
    assert scene.stored(first) == done


def test_exchange_with_a_stale_change_still_claims(scene: Scene) -> None:
    first, second = scene.started(), scene.add()
    released = scene.settle(transitions.release, first)
    stale = Change(first, transitions.complete(first, "1", now=scene.clock()))
    written, claimed = scene.store.exchange([stale], ["default"], worker="w2", limit=5, lease=LEASE)
    assert (written, sorted(ids(claimed))) == ([False], sorted([released.id, second.id]))


def test_exchange_may_claim_what_it_has_just_given_back(scene: Scene) -> None:
    first = scene.started()
    back = Change(first, transitions.release(first, now=scene.clock()))
    written, claimed = scene.store.exchange([back], ["default"], worker="w2", limit=1, lease=LEASE)
    assert (written, ids(claimed)) == ([True], [first.id])


def test_exchange_of_nothing_for_nothing(scene: Scene) -> None:
    scene.add()
    assert scene.store.exchange([], [], worker="w1", limit=0, lease=LEASE) == ([], [])
