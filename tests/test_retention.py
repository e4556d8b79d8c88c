"""Finished jobs are kept as long as told, and removed without a cron."""

import pytest
from django.db import transaction

from asyncjobs import Engine, JobStatus
from asyncjobs.conf import Conf
from asyncjobs.domain.job import Job
from asyncjobs.errors import StoreUnavailable
from asyncjobs.ids import new_ids
from asyncjobs.retention import BATCH, INTERVAL_MS, Retention
from asyncjobs.stores.memory import MemoryStore
from tests.clock import Clock

HOUR_MS = 3_600_000
KEEP = {JobStatus.COMPLETED: HOUR_MS, JobStatus.FAILED: 2 * HOUR_MS, JobStatus.CANCELED: None}


class Counted(MemoryStore):
    """Remembers how many jobs each prune removed."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.pruned: list[int] = []
        self.is_down = False

    def prune(self, before: object, *, limit: int) -> int:
        if self.is_down:
            raise StoreUnavailable("it is down")
        self.pruned.append(super().prune(before, limit=limit))  # type: ignore[arg-type]
        return self.pruned[-1]

    def finished_ago(self, ms: int, count: int, status: JobStatus = JobStatus.COMPLETED) -> list[Job]:
        at = self.now() - ms
        jobs = [Job(id=own_id, name="n", status=status, created_at=at, completed_at=at) for own_id in new_ids(count)]
        return self.add(jobs)


class Transactional(Counted):
    transactional = True


@pytest.fixture
def store(clock: Clock) -> Counted:
    return Counted(clock)


@pytest.fixture
def retention(store: Counted) -> Retention:
    return Retention(store, Conf(retention=KEEP))


def left(store: MemoryStore) -> int:
    return sum(sum(counts.by_status.values()) for counts in store.counts())


def test_each_outcome_is_kept_as_long_as_told(store: Counted) -> None:
    engine = Engine(store, Conf(retention=KEEP))
    for status in KEEP:
        store.finished_ago(HOUR_MS + 1, 1, status)
    assert (engine.prune(), left(store)) == (1, 2)
    store.finished_ago(2 * HOUR_MS + 1, 1, JobStatus.FAILED)
    assert (engine.prune(), left(store)) == (1, 2)
    store.finished_ago(1_000 * HOUR_MS, 1, JobStatus.CANCELED)
    assert (engine.prune(), left(store)) == (0, 3)


def test_prune_removes_no_more_than_told(store: Counted) -> None:
    store.finished_ago(HOUR_MS + 1, 30)
    assert Engine(store, Conf(retention=KEEP)).prune(limit=20) == 20


def test_the_first_that_finishes_looks_what_is_due(store: Counted, retention: Retention) -> None:
    store.finished_ago(HOUR_MS + 1, 5)
    retention.finished(1)
    assert store.pruned == [5]


def test_nothing_due_means_a_minute_of_rest(store: Counted, retention: Retention, clock: Clock) -> None:
    for _ in range(1_000):
        retention.finished(100)
    assert store.pruned == [0]
    clock.advance(INTERVAL_MS)
    retention.finished(1)
    assert store.pruned == [0, 0]


def test_a_clock_set_back_does_not_make_the_rest_longer(store: Counted, retention: Retention, clock: Clock) -> None:
    retention.finished(1)
    clock.advance(-HOUR_MS)
    retention.finished(1)
    retention.finished(1)
    assert store.pruned == [0, 0]


def test_a_backlog_shrinks_twice_as_fast_as_it_grows(store: Counted, retention: Retention) -> None:
    store.finished_ago(HOUR_MS + 1, 1_000)
    for _ in range(4):
        retention.finished(100)
    assert 700 <= sum(store.pruned) <= 900
    assert set(store.pruned) == {BATCH}


def test_one_by_one_a_backlog_shrinks_in_batches(store: Counted, retention: Retention) -> None:
    store.finished_ago(HOUR_MS + 1, 1_000)
    for _ in range(200):
        retention.finished(1)
    assert 3 * BATCH <= sum(store.pruned) <= 5 * BATCH


def test_a_call_removes_a_bounded_number(store: Counted, retention: Retention) -> None:
    for _ in range(5):
        store.finished_ago(HOUR_MS + 1, 1_000)
    retention.finished(1_000_000)
    assert sum(store.pruned) <= 10 * BATCH + BATCH


def test_few_jobs_a_day_still_remove_old_ones(store: Counted, retention: Retention, clock: Clock) -> None:
    store.finished_ago(HOUR_MS + 1, 250)
    for _ in range(3):
        retention.finished(1)
        clock.advance(INTERVAL_MS)
    assert store.pruned == [100, 100, 50]


def test_a_verb_does_not_fail_because_pruning_does(store: Counted, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(store, Conf(retention=KEEP))
    store.is_down = True
    [job] = store.add([Job(id=new_ids(1)[0], name="n", created_at=store.now())])
    assert engine.cancel(job.id).status == JobStatus.CANCELED
    assert "could not be pruned" in caplog.text


def test_what_failed_is_tried_again_in_a_minute(store: Counted, retention: Retention, clock: Clock) -> None:
    store.finished_ago(HOUR_MS + 1, 5)
    store.is_down = True
    retention.finished(1)
    store.is_down = False
    retention.finished(1_000)
    assert store.pruned == []
    clock.advance(INTERVAL_MS)
    retention.finished(1)
    assert store.pruned == [5]


def test_where_jobs_are_kept_for_ever_other_things_still_run_out(store: Counted) -> None:
    retention = Retention(store, Conf(retention=dict.fromkeys(KEEP)))
    retention.finished(1_000)
    assert retention.prune(100) == 0
    assert store.pruned == [0, 0]


@pytest.mark.django_db(transaction=True)
def test_the_callers_transaction_is_left_alone(clock: Clock) -> None:
    store = Transactional(clock)
    retention = Retention(store, Conf(retention=KEEP))
    with transaction.atomic():
        retention.finished(1_000)
    assert store.pruned == []
    retention.finished(1)
    assert store.pruned == [0]


def test_cancel_and_settle_and_bulk_verbs_pay(store: Counted, clock: Clock) -> None:
    engine = Engine(store, Conf(retention=KEEP))
    jobs = store.add([Job(id=own_id, name="n", created_at=store.now()) for own_id in new_ids(3)])
    engine.cancel(jobs[0].id)
    assert len(store.pruned) == 1
    clock.advance(INTERVAL_MS)
    engine.purge("default")
    engine.retry(jobs[0].id)
    assert len(store.pruned) == 1
    engine.cancel(jobs[0].id)
    assert len(store.pruned) == 2
