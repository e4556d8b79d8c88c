"""Jobs submitted in a transaction share its fate, on every kind of store."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase, override_settings

from asyncjobs import Engine, JobStatus, Unique, job
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine, get_engine
from asyncjobs.domain.job import Job
from asyncjobs.errors import DuplicateJob, JobNotFound
from asyncjobs.stores.base import Receipt, Repeated, Store
from asyncjobs.testing import memory_jobs, submitted
from tests.backends import Backend


@job
def welcome(name: str) -> None: ...


@job(unique=Unique(key="{name}", on_conflict="raise"))
def welcome_once(name: str) -> None: ...


def is_stored(job: Job) -> bool:
    try:
        return get_engine().get(job.id) == job
    except JobNotFound:
        return False


class OnCommit(TestCase):
    """In a TestCase, nothing ever commits: what would have been done then can be done by hand."""

    def setUp(self) -> None:
        self.enterContext(memory_jobs())

    def test_a_job_is_stored_on_commit(self) -> None:
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            job = welcome.submit("ada")
            assert not is_stored(job)
        assert is_stored(job)
        assert len(callbacks) == 1

    def test_many_jobs_are_stored_by_one_callback(self) -> None:
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            jobs = welcome.submit_many(welcome.call(str(number)) for number in range(1_500))
            assert submitted() == []
        assert len(callbacks) == 1
        assert {job.id for job in submitted()} == {job.id for job in jobs}

    def test_a_twin_is_found_on_commit(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            welcome_once.submit("ada")
        with pytest.raises(DuplicateJob), self.captureOnCommitCallbacks(execute=True):
            welcome_once.submit("ada")
        assert len(submitted()) == 1


class Committing(TransactionTestCase):
    def setUp(self) -> None:
        self.enterContext(memory_jobs())

    def test_without_a_transaction_a_job_is_stored_at_once(self) -> None:
        assert is_stored(welcome.submit("ada"))

    def test_a_job_is_stored_when_the_transaction_commits(self) -> None:
        with transaction.atomic():
            Group.objects.create(name="staff")
            job = welcome.submit("ada")
            assert not is_stored(job)
        assert is_stored(job)

    def test_a_rollback_takes_the_job_along(self) -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            welcome.submit("ada")
            welcome.submit_many([welcome.call("bob")])
            raise ZeroDivisionError
        assert submitted() == []

    def test_the_rollback_of_an_inner_block_takes_its_jobs_alone(self) -> None:
        with transaction.atomic():
            kept = welcome.submit("ada")
            with pytest.raises(ZeroDivisionError), transaction.atomic():
                welcome.submit("bob")
                raise ZeroDivisionError
            also_kept = welcome.submit("eve")
        assert {job.id for job in submitted()} == {kept.id, also_kept.id}

    def test_an_inner_block_does_not_commit(self) -> None:
        with transaction.atomic():
            with transaction.atomic():
                job = welcome.submit("ada")
            assert not is_stored(job)
        assert is_stored(job)

    def test_where_commits_are_done_by_hand_submitting_is_refused(self) -> None:
        transaction.set_autocommit(False)
        try:
            with pytest.raises(transaction.TransactionManagementError):
                welcome.submit("ada")
        finally:
            transaction.rollback()
            transaction.set_autocommit(True)


@pytest.fixture
def engine(kind: str, live_store: Store, backend: Backend) -> Iterator[Engine]:
    """An engine on every store in turn; what counts are transactions of its own database, or of sqlite."""
    engine = Engine(live_store, Conf(database=getattr(backend, "alias", "sqlite")))
    before = exchange_engine(engine)
    yield engine
    exchange_engine(before)


@pytest.fixture
def atomic(engine: Engine, django_db_blocker: Any, backends: Any) -> Any:
    backends("sqlite")
    return lambda: transaction.atomic(using=engine.conf.database)


def test_every_store_keeps_a_job_that_commits(engine: Engine, atomic: Any) -> None:
    with atomic():
        job = welcome.submit("ada")
        many = welcome.submit_many(welcome.call(name) for name in ("bob", "eve"))
    assert all(map(is_stored, [job, *many]))


def test_a_receipt_commits_with_its_jobs(engine: Engine, atomic: Any) -> None:
    first = Receipt("a1", "f", "first", engine.store.now() + 60_000)
    with pytest.raises(ZeroDivisionError), atomic():
        engine.submit_many([], receipt=first._replace(text="rolled back"))
        raise ZeroDivisionError
    with atomic():
        engine.submit_many([], receipt=first)
    with pytest.raises(Repeated) as caught:
        engine.submit_many([], receipt=first._replace(text="second"))
    assert caught.value.receipt == first


def test_no_store_keeps_a_job_that_is_rolled_back(engine: Engine, atomic: Any) -> None:
    with pytest.raises(ZeroDivisionError), atomic():
        job = welcome.submit("ada")
        many = welcome.submit_many(welcome.call(name) for name in ("bob", "eve"))
        raise ZeroDivisionError
    assert not any(map(is_stored, [job, *many]))


def test_no_store_keeps_a_job_of_an_inner_block_that_is_rolled_back(engine: Engine, atomic: Any) -> None:
    with atomic():
        kept = welcome.submit("ada")
        with pytest.raises(ZeroDivisionError), atomic():
            lost = welcome.submit("bob")
            raise ZeroDivisionError
    assert (is_stored(kept), is_stored(lost)) == (True, False)


def test_a_transactional_store_shows_the_job_to_its_transaction(engine: Engine, atomic: Any) -> None:
    with atomic():
        job = welcome.submit("ada")
        assert is_stored(job) == engine.store.transactional


def test_a_refused_twin_does_not_break_the_transaction(engine: Engine, atomic: Any) -> None:
    if not engine.store.transactional:
        pytest.skip("the twin is met after the transaction")
    first = welcome_once.submit("ada")
    with atomic():
        with pytest.raises(DuplicateJob) as caught:
            welcome_once.submit("ada")
        job = welcome.submit("ada")
    assert caught.value.job_id == first.id
    assert is_stored(job)


def test_a_twin_is_replaced_within_the_transaction(engine: Engine, atomic: Any) -> None:
    replacing = welcome_once.using(unique=Unique(key="{name}", on_conflict="replace"))
    first = replacing.submit("ada")
    with atomic():
        second = replacing.submit("ada")
    assert is_stored(second)
    assert engine.get(first.id).status == JobStatus.CANCELED


@pytest.mark.django_db
def test_the_transaction_of_another_database_is_not_waited_for() -> None:
    with override_settings(ASYNCJOBS={"STORE": "memory", "DATABASE": "sqlite"}):
        assert connection.in_atomic_block
        assert is_stored(welcome.submit("ada"))
