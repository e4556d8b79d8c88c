"""What only the ORM store promises: it joins the caller's transaction, survives the database, and uses its indexes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Barrier
from time import monotonic, sleep
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction
from django.test.utils import CaptureQueriesContext

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import DuplicateJob, QueueFull, StoreError, StoreUnavailable
from asyncjobs.stores.base import Change, Entry, Query, Receipt, Repeated
from asyncjobs.stores.orm.database import REPEATS, Database
from tests.backends import OrmBackend
from tests.scene import LEASE, Scene, ids
from tests.threads import in_threads

every_database = pytest.mark.parametrize("kind", ["sqlite", "postgres", "mariadb"])


@pytest.fixture
def alias(backend: OrmBackend) -> str:
    return backend.alias


def complete(scene: Scene, jobs: list[Job]) -> list[bool]:
    return scene.store.swap([Change(job, transitions.complete(job, "1", now=scene.clock())) for job in jobs])


@every_database
def test_a_job_is_gone_with_the_transaction_that_added_it(scene: Scene, alias: str) -> None:
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        job = scene.add(tags=("red",), unique_key="k")
        raise RuntimeError
    assert scene.is_gone(job)
    assert scene.counted() == {}
    assert scene.store.add([again := scene.job(unique_key="k")]) == [again]


@every_database
def test_entries_are_gone_with_the_transaction_that_wrote_them(scene: Scene, alias: str) -> None:
    started = scene.started()
    scene.store.swap([Change(started, started, (Entry("log", 1, "kept"),))])
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        scene.store.swap([Change(started, started, (Entry("log", 1, "rolled back"),))])
        raise RuntimeError
    scene.store.swap([Change(started, started, (Entry("log", 1, "kept too"),))])
    assert [entry.text for entry in scene.store.journal(started.id, "log")] == ["kept", "kept too"]


@every_database
def test_a_receipt_is_gone_with_the_transaction_that_kept_it(scene: Scene, alias: str) -> None:
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):
        scene.store.add([scene.job()], receipt=Receipt("a", "f", "rolled back", scene.clock() + 1))
        raise RuntimeError
    job = scene.job()
    assert scene.store.add([job], receipt=Receipt("a", "f", "kept", scene.clock() + 1)) == [job]
    assert ids(scene.found()) == [job.id]


@every_database
def test_a_repeated_request_leaves_the_callers_transaction_usable(scene: Scene, alias: str) -> None:
    first = Receipt("a", "f", "first", scene.clock() + 1)
    with transaction.atomic(using=alias):
        scene.store.add([], receipt=first)
        with pytest.raises(Repeated) as caught:
            scene.store.add([scene.job()], receipt=first._replace(text="second"))
        job = scene.add()
    assert caught.value.receipt == first
    assert ids(scene.found()) == [job.id]


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])  # on SQLite all who write wait for each other
@pytest.mark.parametrize("fate", ["commits", "is rolled back"])
def test_a_request_waits_for_what_becomes_of_the_one_before_it(scene: Scene, alias: str, fate: str) -> None:
    waiters = 5
    first = Receipt("a", "f", "first", scene.clock() + 1_000)

    def hold() -> str:
        with transaction.atomic(using=alias):
            scene.store.add([scene.job()], receipt=first)
            under_way.wait(30)
            wait_until_blocked(alias, waiters)
            transaction.set_rollback(fate == "is rolled back", using=alias)
        return "first"

    def follow(text: str) -> str:
        under_way.wait(30)
        try:
            scene.store.add([scene.job()], receipt=first._replace(text=text))
        except Repeated as repeated:
            return repeated.receipt.text
        return text

    under_way = Barrier(waiters + 1)
    answers = in_threads(hold, *[partial(follow, str(number)) for number in range(waiters)])
    assert len(set(answers[1:])) == 1
    assert (answers[1] == "first") == (fate == "commits")
    assert len(scene.found()) == 1


def wait_until_blocked(alias: str, sessions: int) -> None:
    """Returns when so many sessions wait for a lock."""
    postgres = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    name = "Innodb_row_lock_current_waits"
    mariadb = f"SELECT variable_value FROM information_schema.global_status WHERE variable_name = '{name}'"
    deadline = monotonic() + 30
    with connections[alias].cursor() as cursor:
        while monotonic() < deadline:
            cursor.execute(postgres if alias == "postgres" else mariadb)
            if int(cursor.fetchone()[0]) >= sessions:
                return
            sleep(0.01)
    raise AssertionError(f"fewer than {sessions} sessions wait")


@every_database
def test_others_see_a_job_once_the_transaction_commits(scene: Scene, alias: str) -> None:
    with transaction.atomic(using=alias):
        job = scene.add()
        if alias != "sqlite":  # there, the other would wait for us
            assert in_threads(lambda: scene.store.get([job.id])) == [[None]]
    assert in_threads(lambda: scene.store.get([job.id])) == [[job]]


@every_database
def test_a_refused_add_leaves_the_callers_transaction_usable(scene: Scene, alias: str) -> None:
    with transaction.atomic(using=alias):
        twin = scene.add(unique_key="k")
        with pytest.raises(QueueFull):
            scene.store.add([scene.job(), scene.job()], limits={"default": 2})
        with pytest.raises(DuplicateJob):
            scene.store.add([scene.job(), scene.job(unique_key="k")], twins="refuse")
        after = scene.add()
    assert ids(scene.found(oldest_first=True)) == ids([twin, after])


@every_database
def test_an_error_of_the_database_leaves_the_callers_transaction_usable(scene: Scene, alias: str) -> None:
    with transaction.atomic(using=alias):
        with pytest.raises(StoreError):
            scene.store.add([scene.job(), scene.job(payload="\ud800")])
        job = scene.add()
    assert ids(scene.found()) == [job.id]


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_lost_connection_is_an_error_once(scene: Scene, alias: str) -> None:
    job = scene.add()
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()" if alias == "postgres" else "SELECT connection_id()")
        [session] = cursor.fetchone()
    in_threads(lambda: end_session(alias, session))
    with pytest.raises(StoreUnavailable):
        scene.claim()
    assert ids(scene.claim()) == [job.id]


@every_database
@pytest.mark.parametrize("sql", ["SELECT 1 FROM asyncjobs_missing", "SELECT missing FROM asyncjobs_job"])
def test_a_table_or_column_that_is_missing_is_for_migrate_to_make(alias: str, sql: str) -> None:
    with pytest.raises(StoreError, match=rf'"manage\.py migrate --database={alias}" is to be run: .*missing'):
        Database(alias).atomically(lambda cursor: cursor.execute(sql))


def end_session(alias: str, session: int) -> None:
    with connections[alias].cursor() as cursor:
        if alias == "postgres":
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [session])
        else:
            cursor.execute("KILL %s", [session])
    connections[alias].close()


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_database_locked_for_good_is_an_error(scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.add()
    monkeypatch.setattr("asyncjobs.stores.orm.database.REPEATS", (0,))
    with connections[alias].cursor() as cursor, locked_elsewhere(alias):
        cursor.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(StoreUnavailable, match="locked"):
            scene.claim()
    assert len(scene.claim()) == 1
    connections[alias].close()


@contextmanager
def locked_elsewhere(alias: str) -> Iterator[None]:
    other = connections.create_connection(alias)
    other.settings_dict = connections[alias].settings_dict
    with other.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
    other.close()


class DriverError(Exception):
    sqlstate: str | None = None


def of_postgres(sqlstate: str) -> Exception:
    error = DriverError("deadlock detected")
    error.sqlstate = sqlstate
    return error


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "cause", [DriverError(1213, "Deadlock found"), DriverError("database is locked"), of_postgres("40P01")], ids=str
)
def test_work_the_database_undid_is_done_again(backend: OrmBackend, cause: Exception) -> None:
    failures = len(REPEATS)

    def work(_: Any) -> str:
        nonlocal failures
        if failures:
            failures -= 1
            raise OperationalError from cause
        return "done"

    assert Database(backend.alias).atomically(work) == "done"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_work_inside_the_callers_transaction_is_not_repeated(backend: OrmBackend) -> None:
    calls = []

    def work(_: Any) -> None:
        calls.append(1)
        raise OperationalError from DriverError(1213, "Deadlock found")

    with transaction.atomic(using=backend.alias), pytest.raises(StoreUnavailable):
        Database(backend.alias).atomically(work)
    assert len(calls) == 1


@every_database
def test_texts_that_differ_by_case_accent_or_blank_are_different(scene: Scene) -> None:
    names = ["a", "A", "a ", "á"]
    jobs = scene.store.add([scene.job(unique_key=name, name=name, owner=name, tags=(name,)) for name in names])
    assert len(set(ids(jobs))) == len(names)
    for job in jobs:
        for found in (scene.found(name=job.name), scene.found(owner=job.owner), scene.found(tag=job.tags[0])):
            assert ids(found) == [job.id]


@pytest.mark.parametrize("kind", ["postgres"])
def test_a_batch_is_one_statement_on_postgresql(scene: Scene, alias: str) -> None:
    scene.store.add([scene.job() for _ in range(100)])
    claimed = scene.claim(limit=100)
    with CaptureQueriesContext(connections[alias]) as queries:
        assert all(complete(scene, claimed))
    assert len(queries) == 1


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"status": JobStatus.FAILED},
        {"status": JobStatus.QUEUED, "queue": "mail"},
        {"name": "tests.echo"},
        {"owner": "zoë"},
        {"owner": "zoë", "status": JobStatus.QUEUED, "created_to": 2},
        {"tag": "red"},
        {"created_from": 1, "created_to": 2},
    ],
    ids=str,
)
def test_a_page_comes_in_the_order_of_an_index(
    scene: Scene,
    alias: str,
    filters: dict[str, Any],
    oldest_first: bool,  # noqa: FBT001 - pytest's
) -> None:
    with CaptureQueriesContext(connections[alias]) as queries:
        scene.store.find(Query(after="1~1", oldest_first=oldest_first, **filters))
    with connections[alias].cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + queries[0]["sql"])
        [step] = [row[3] for row in cursor.fetchall()]
    assert "INDEX" in step
    assert "SCAN" not in step


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(("queue", "index"), [(None, "asyncjobs_job_status"), ("mail", "asyncjobs_job_place")])
def test_what_falls_due_is_counted_on_an_index_alone(scene: Scene, alias: str, queue: str | None, index: str) -> None:
    with CaptureQueriesContext(connections[alias]) as queries:
        scene.store.due([0, 10], queue=queue)
    with connections[alias].cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + queries[0]["sql"])
        steps = [row[3] for row in cursor.fetchall()]
    assert [step.partition(" (")[0] for step in steps if "asyncjobs_job" in step] == [
        f"SEARCH asyncjobs_job USING COVERING INDEX {index}"
    ]
    assert not any("TEMP B-TREE" in step for step in steps)


@every_database
@pytest.mark.parametrize(("column", "text"), [("retry", '{"unknown": 1}'), ("tags", "["), ("tags", "[null]")])
def test_a_job_that_cannot_be_read_holds_up_no_other(scene: Scene, alias: str, column: str, text: str) -> None:
    broken, other = scene.add(tags=("red",)), scene.add()
    with connections[alias].cursor() as cursor:
        cursor.execute(f"UPDATE asyncjobs_job SET {column} = %s WHERE id = %s", [text, broken.id])
    assert ids(scene.found()) == [other.id]
    assert scene.store.get_readable(ids([broken, other])) == [None, other]
    assert scene.store.check() == []
    claimed = scene.claim(limit=2)
    assert ids(claimed) == [other.id]
    assert ids(scene.store.held("w1")) == [other.id]
    scene.elapse(LEASE + 1)
    assert ids(scene.lapsed()) == [other.id]
    changes = [(job, transitions.cancel(job, now=scene.clock())) for job in (broken, *claimed)]
    assert scene.store.swap([Change(*change) for change in changes]) == [False, True]
    assert scene.store.delete([broken.replace(version=broken.version + 1)]) == [True]
    assert scene.is_gone(broken)
    # Of tags that nobody can read, the rows are found when their job is gone.
    assert [finding.fixed for finding in scene.store.check(fix=True)] == [True] * (column == "tags")
