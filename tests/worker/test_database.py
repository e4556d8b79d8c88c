"""Handlers and the database: exactly-once effects, and connections that come and go as in a request."""

import pytest
from django.contrib.auth.models import Group
from django.db import connections

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Change
from tests.worker import jobs
from tests.worker.conftest import World, database_of, of_kinds
from tests.workers import until

ON_TABLES = of_kinds("sqlite", "postgres", "mariadb")


@pytest.fixture(params=ON_TABLES)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(autouse=True)
def no_groups(kind: str, world: World) -> None:
    Group.objects.using(kind).all().delete()


def groups(kind: str) -> set[str]:
    return set(Group.objects.using(kind).values_list("name", flat=True))


def test_an_atomic_job_commits_with_what_it_wrote(kind: str, world: World) -> None:
    job = jobs.makes_group.submit("red")
    world.site.start("--burst", "--processes=1").wait()
    [done] = world.ended(job)
    assert (done.status, done.result) == (JobStatus.COMPLETED, '"red"')
    assert groups(kind) == {"red-2"}


def test_an_atomic_job_that_fails_has_written_nothing(kind: str, world: World) -> None:
    job = jobs.makes_group.submit("red", 0.0, "raise")
    world.site.start("--burst", "--processes=1").wait()
    [done] = world.ended(job)
    assert done.status == JobStatus.FAILED
    assert groups(kind) == set()


# On SQLite, the transaction of the handler keeps everybody else from taking the job away.
@pytest.mark.parametrize("kind", of_kinds("postgres", "mariadb"))
def test_an_atomic_job_that_lost_its_lease_has_written_nothing(kind: str, world: World) -> None:
    worker = world.site.start("--processes=1", "--no-scheduler")
    job = jobs.makes_group.submit("red", 1.5)
    until(lambda: world.running(job))
    held = world.stored(job)
    assert world.store.swap([Change(held, transitions.rescue(held, now=world.store.now()))]) == [True]
    [done] = world.ended(job)
    assert (done.status, world.starts(job)) == (JobStatus.COMPLETED, 2)
    assert groups(kind) == {f"red-{done.version - 1}"}
    assert "no longer held here" in worker.said()


@pytest.mark.parametrize("max_age", [0, 60, None])
def test_handlers_use_the_database_as_requests_do(kind: str, world: World, max_age: int | None) -> None:
    site = world.site
    site.use_database(database_of(kind) | {"CONN_MAX_AGE": max_age, "CONN_HEALTH_CHECKS": True})
    submitted = [handler.submit() for handler in (jobs.queries, jobs.async_queries) for _ in range(20)]
    site.start("--burst", "--processes=1", "--threads=4").wait()
    assert {(job.status, job.result) for job in world.ended(*submitted)} == {(JobStatus.COMPLETED, "0")}


def test_a_run_leaves_nothing_behind_for_the_next(world: World) -> None:
    dirty, clean = jobs.leaves_traces.submit(), jobs.finds_traces.submit()
    world.site.start("--burst", "--processes=1").wait()
    [_, found] = world.ended(dirty, clean)
    assert found.result == '["en-us","America/Chicago","clean"]'


@pytest.mark.parametrize("kind", of_kinds("postgres"))
def test_children_do_not_share_a_pool_of_connections(kind: str, world: World) -> None:
    database = database_of(kind) | {"OPTIONS": {"pool": {"min_size": 1, "max_size": 8}}}
    world.site.use_database(database)
    worker = world.site.start("--processes=2", "--threads=2", "--max-jobs=15")
    submitted = [handler.submit() for handler in (jobs.queries, jobs.async_queries) for _ in range(40)]
    assert {(job.status, job.retry_count) for job in world.ended(*submitted)} == {(JobStatus.COMPLETED, 0)}
    assert worker.stop() == 0, worker.said()


@pytest.mark.parametrize("kind", of_kinds("postgres"))
def test_connections_killed_under_handlers_are_replaced(kind: str, world: World) -> None:
    site = world.site
    site.use_database(database_of(kind) | {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True})
    site.start("--processes=1")
    world.ended(jobs.queries.submit())
    with connections[kind].cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    [done] = world.ended(jobs.queries.submit())
    assert (done.status, done.retry_count) == (JobStatus.COMPLETED, 0)
