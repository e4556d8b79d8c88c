"""Connections break, hang and are refused: a worker never falls silent, and loses and repeats nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from redis.exceptions import ConnectionError

from asyncjobs.domain.job import Job, JobStatus
from tests.faults.checker import LEASE, Trial, client_of, statuses
from tests.faults.conftest import OpenStore, OpenTrial
from tests.proxy import proxy_to
from tests.servers import DurableServer, free_port, postgres_server
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
TIMEOUT = 2.0  # of the site's store
TIMES = 20


@contextmanager
def load(trial: Trial, *, seconds: float = 2.5 * LEASE, short: int = 400) -> Iterator[list[Job]]:
    """Long jobs that run, and short ones; afterwards each has run once, and the worker takes new ones."""
    submitted = trial.submit_many(jobs.nap, [(seconds,)] * 4)
    for _ in range(2):
        trial.start(processes=2, threads=2)
    until(lambda: trial.running(*submitted))
    submitted += trial.submit_many(jobs.nap, [(0.02,)] * short)
    yield submitted
    after = trial.submit_many(jobs.nap, [(0.01,)] * 20)
    ended = trial.survived([*submitted, *after])
    assert statuses(ended) == {JobStatus.COMPLETED: len(submitted) + 20}
    assert trial.starts_of(ended) == {1}


def test_connections_that_are_reset(trial: Trial) -> None:
    with load(trial):
        for _ in range(TIMES):
            try:
                client_of(trial).execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            except ConnectionError:
                continue
            time.sleep(0.1)


def test_scripts_that_are_forgotten(trial: Trial) -> None:
    with load(trial):
        for _ in range(TIMES):
            client_of(trial).script_flush()
            time.sleep(0.1)


def test_a_server_that_is_read_only_for_a_while(trial: Trial) -> None:
    with load(trial):
        client_of(trial).execute_command("REPLICAOF", "127.0.0.1", free_port())
        time.sleep(1.5 * LEASE)
        client_of(trial).execute_command("REPLICAOF", "NO", "ONE")


def test_connections_that_lead_nowhere(durable: DurableServer, open_store: OpenStore, open_trial: OpenTrial) -> None:
    with proxy_to(durable.port) as proxy:
        trial = open_trial(open_store(durable.port), redis=f"redis://127.0.0.1:{proxy.port}/0")
        idle, hanging = trial.submit(jobs.nap, 0.01), trial.submit(jobs.nap, 2.0)
        trial.start(processes=2, threads=1)
        until(lambda: trial.running(idle, hanging))
        proxy.black_hole = True
        time.sleep(1.5 * LEASE)
        proxy.black_hole = False
        healed = time.monotonic()
        after = trial.submit(jobs.nap, 0.01)
        until(lambda: trial.running(after))
        print(f"jobs are taken again after {time.monotonic() - healed:.2f} s")
        assert time.monotonic() - healed <= TIMEOUT + 4
        trial.survived([idle, hanging, after])


def test_connections_that_postgres_ends(postgres_trial: Trial) -> None:
    alias = "postgres"
    with load(postgres_trial):
        for _ in range(10):
            with connections[alias].cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            time.sleep(0.2)


def test_a_postgres_that_is_restarted(postgres_trial: Trial) -> None:
    with load(postgres_trial):
        for _ in range(2):
            postgres_server().kill()
            time.sleep(0.5)
            postgres_server().start()
            connections["postgres"].close()
            time.sleep(0.5)
