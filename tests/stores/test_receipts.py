"""Receipts: a request that is repeated, or made many times at once, stores its jobs once."""

from functools import partial
from typing import Any

import pytest

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import DuplicateJob, InvalidJob, QueueFull
from asyncjobs.stores.base import MAX_BATCH, Receipt, Repeated, Store
from tests.backends import Backend
from tests.scene import Scene, ids
from tests.threads import in_threads

KEY = "0123456789abcdef" * 4
DAY = 24 * 60 * 60_000
AT_ONCE = 50


def receipt(scene: Scene, **fields: Any) -> Receipt:
    """One as the caller of `add` writes it."""
    return Receipt(**{"key": KEY, "fingerprint": "f0", "text": "first", "until": scene.clock() + DAY} | fields)


def refused(scene: Scene, jobs: list[Job], given: Receipt, **options: Any) -> Receipt:
    """The receipt that was kept before, of an `add` that stores nothing."""
    with pytest.raises(Repeated) as caught:
        scene.store.add(jobs, receipt=given, **options)
    assert all(job is None for job in scene.store.get(ids(jobs)))
    return caught.value.receipt


def test_jobs_are_stored_with_their_receipt(scene: Scene) -> None:
    jobs = [scene.job(), scene.job()]
    assert scene.store.add(jobs, receipt=receipt(scene)) == jobs
    assert scene.store.get(ids(jobs)) == jobs


def test_a_repeated_request_stores_nothing_and_gets_the_receipt(scene: Scene) -> None:
    first = receipt(scene, text='{"größe": "漢 \U0001f600"}\n' * 20_000)
    job = scene.job()
    scene.store.add([job], receipt=first)
    assert refused(scene, [scene.job()], receipt(scene, text="second", fingerprint="f1")) == first
    assert scene.counted() == {JobStatus.QUEUED: 1}


def test_the_same_call_again_is_answered_as_stored(scene: Scene) -> None:
    job, given = scene.job(), receipt(scene)
    assert scene.store.add([job], receipt=given) == [job]
    [claimed] = scene.claim()
    assert scene.store.add([job], receipt=given) == [claimed]
    assert scene.claim() == []


def test_the_same_call_again_does_not_bring_back_a_deleted_job(scene: Scene) -> None:
    job, given = scene.job(), receipt(scene)
    scene.store.add([job], receipt=given)
    scene.store.delete([job])
    assert scene.store.add([job], receipt=given) == [job]
    assert scene.is_gone(job)


def test_another_fingerprint_is_another_request_whatever_its_text(scene: Scene) -> None:
    scene.store.add([scene.job()], receipt=receipt(scene))
    refused(scene, [scene.job()], receipt(scene, fingerprint="f1"))


def test_another_key_is_another_request(scene: Scene) -> None:
    scene.store.add([scene.job()], receipt=receipt(scene))
    job = scene.job()
    assert scene.store.add([job], receipt=receipt(scene, key="f", text="second")) == [job]


def test_a_receipt_may_come_without_jobs(scene: Scene) -> None:
    given = receipt(scene)
    assert scene.store.add([], receipt=given) == scene.store.add([], receipt=given) == []
    assert refused(scene, [scene.job()], receipt(scene, text="second")) == given


def test_a_receipt_is_forgotten_when_it_runs_out(scene: Scene) -> None:
    scene.store.add([scene.job()], receipt=receipt(scene, until=scene.clock() + 1_000))
    scene.clock.advance(999)
    refused(scene, [scene.job()], receipt(scene, text="second"))
    scene.clock.advance(1)
    job, second = scene.job(), receipt(scene, text="second", fingerprint="f1")
    assert scene.store.add([job], receipt=second) == [job]
    assert refused(scene, [scene.job()], receipt(scene, text="third")) == second


def test_a_receipt_that_has_run_out_already_is_not_kept(scene: Scene) -> None:
    for text in ("first", "second"):
        job = scene.job()
        assert scene.store.add([job], receipt=receipt(scene, text=text, until=scene.clock())) == [job]


def test_jobs_refused_by_a_full_queue_leave_no_receipt(scene: Scene) -> None:
    with pytest.raises(QueueFull):
        scene.store.add([scene.job()], limits={"default": 0}, receipt=receipt(scene))
    job = scene.job()
    assert scene.store.add([job], receipt=receipt(scene, text="second")) == [job]


def test_a_refused_twin_leaves_no_receipt(scene: Scene) -> None:
    scene.add(unique_key="k")
    with pytest.raises(DuplicateJob):
        scene.store.add([scene.job(unique_key="k")], twins="refuse", receipt=receipt(scene))
    job = scene.job()
    assert scene.store.add([job], receipt=receipt(scene, text="second")) == [job]


def test_that_a_request_is_repeated_is_said_before_all_else(scene: Scene) -> None:
    scene.store.add([scene.job(unique_key="k")], receipt=receipt(scene))
    twin, second = scene.job(unique_key="k"), receipt(scene, text="second")
    refused(scene, [twin], second, twins="refuse", limits={"default": 0})


def test_a_receipt_names_the_twins_in_the_order_of_the_call(scene: Scene) -> None:
    old = scene.add(unique_key="old")
    new = scene.job(unique_key="new")
    jobs = [
        scene.job(),
        new,
        scene.job(queue="other", unique_key="old"),
        scene.job(priority=5),
        scene.job(unique_key="new"),
        scene.job(queue="other"),
    ]
    given = receipt(scene)
    stored = scene.store.add(jobs, receipt=given)
    assert ids(stored) == [jobs[0].id, new.id, old.id, jobs[3].id, new.id, jobs[5].id]
    kept = refused(scene, [scene.job()], receipt(scene, text="second"))
    assert kept == given._replace(twins=((2, old.id), (4, new.id)))
    assert scene.store.add(jobs, receipt=given) == stored


def test_the_twin_of_a_repeated_call_stays_its_answer_when_it_is_done(scene: Scene) -> None:
    twin, given = scene.add(unique_key="k"), receipt(scene)
    job = scene.job(unique_key="k")
    scene.store.add([job], receipt=given)
    scene.store.delete([twin])
    assert scene.store.add([job], receipt=given) == [job]
    assert scene.found() == []


def test_twins_the_caller_knows_are_kept_before_those_that_are_found(scene: Scene) -> None:
    twin = scene.add(unique_key="k")
    jobs, given = [scene.job(unique_key="k")], receipt(scene, twins=((7, "6f1c2b8e-4d0a-4b57-9a63-0c8f6d1e2a34"),))
    assert scene.store.add(jobs, receipt=given) == scene.store.add(jobs, receipt=given) == [twin]
    kept = refused(scene, [scene.job()], receipt(scene, text="second"))
    assert kept.twins == (*given.twins, (0, twin.id))


def test_a_full_batch_has_one_receipt(scene: Scene) -> None:
    jobs, given = [scene.job(priority=number % 3) for number in range(MAX_BATCH)], receipt(scene)
    assert scene.store.add(jobs, receipt=given) == scene.store.add(jobs, receipt=given) == jobs
    assert scene.counted() == {JobStatus.QUEUED: MAX_BATCH}


@pytest.mark.parametrize("bad", ["", "A0", "g", "0" * 65, "a\n", "a b"])
@pytest.mark.parametrize("field", ["key", "fingerprint"])
def test_what_is_no_digest_is_refused(scene: Scene, field: str, bad: str) -> None:
    job = scene.job()
    with pytest.raises(InvalidJob):
        scene.store.add([job], receipt=receipt(scene, **{field: bad}))
    assert scene.is_gone(job)


def test_pruning_leaves_receipts_that_have_not_run_out(scene: Scene) -> None:
    lasting = receipt(scene, key="1")
    scene.store.add([], receipt=lasting)
    scene.store.add([], receipt=receipt(scene, key="2", until=scene.clock() + 1))
    scene.clock.advance(1)
    assert scene.store.prune({}, limit=1) == 0
    assert refused(scene, [scene.job()], receipt(scene, key="1", text="second")) == lasting


@pytest.fixture
def live(live_store: Store) -> Scene:
    return Scene(live_store, live_store.now)


def add_at_once(backend: Backend, scene: Scene) -> list[Job | Receipt]:
    """What each of those who add one job with the same key gets: his job, or the receipt of the one who was first."""

    def add(number: int) -> Job | Receipt:
        try:
            [job] = backend.open().add([scene.job()], receipt=receipt(scene, text=str(number)))
        except Repeated as repeated:
            return repeated.receipt
        return job

    return in_threads(*[partial(add, number) for number in range(AT_ONCE)])


def assert_one_got_in(scene: Scene, answers: list[Job | Receipt]) -> None:
    [(winner, job)] = [(place, answer) for place, answer in enumerate(answers) if isinstance(answer, Job)]
    assert ids(scene.found()) == [job.id]
    texts = [answer.text for answer in answers if isinstance(answer, Receipt)]
    assert texts == [str(winner)] * (AT_ONCE - 1)


def test_of_many_requests_at_once_with_one_key_one_stores_its_job(backend: Backend, live: Scene) -> None:
    assert_one_got_in(live, add_at_once(backend, live))


def test_of_many_requests_at_once_one_takes_the_place_of_a_receipt_that_ran_out(backend: Backend, live: Scene) -> None:
    live.store.add([], receipt=receipt(live, until=live.clock()))
    assert_one_got_in(live, add_at_once(backend, live))


def test_a_receipt_can_be_read_until_it_runs_out(scene: Scene) -> None:
    kept = receipt(scene, until=scene.clock() + 1_000)
    assert scene.store.receipt(kept.key) is None
    scene.store.add([scene.job()], receipt=kept)
    assert scene.store.receipt(kept.key) == kept
    scene.clock.advance(1_000)
    assert scene.store.receipt(kept.key) is None
