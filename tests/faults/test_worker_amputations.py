"""Somebody deletes keys of the store under the workers: they are made again, and no job is lost or run twice."""

import time

import pytest

from asyncjobs.domain.job import JobStatus
from tests.faults.checker import Trial, client_of, statuses
from tests.faults.conftest import OpenStore, OpenTrial
from tests.servers import DurableServer
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
PERIOD = 1
READY = "ae:jobs:stream:default:2"
VICTIMS = (
    "ae:jobs:inprogress:default",
    "ae:jobs:delayed:default",
    "ae:jobs:completed:default",
    READY,
    "ae:queues",
    "ae:jobs:indexes",
    "ae:jobs:index:default:tests.worker.jobs.nap",
    "ae:clock",
    "ae:workers",
)


@pytest.fixture
def checked(durable: DurableServer, open_store: OpenStore, open_trial: OpenTrial) -> Trial:
    """A site whose workers look for damage all the time."""
    return open_trial(open_store(durable.port), redis=durable.url, settings={"CHECK_EVERY": PERIOD})


def heal(trial: Trial) -> float:
    """How long it took until nothing was wrong."""
    began = time.monotonic()
    until(lambda: not trial.engine.check(), seconds=3 * PERIOD, every=0.02)
    return time.monotonic() - began


def test_what_is_deleted_is_made_again(checked: Trial) -> None:
    trial = checked
    submitted = trial.submit_many(jobs.nap, [(12.0,)] * 4)
    for _ in range(2):
        trial.start(processes=2, threads=2)
    until(lambda: trial.running(*submitted))
    submitted += trial.submit_many(jobs.nap, [(0.01,)] * 100, delay=12)
    for victim in VICTIMS:
        submitted += trial.submit_many(jobs.nap, [(0.05,)] * 60)
        until(lambda: client_of(trial).exists(victim))  # noqa: B023 - asked at once
        client_of(trial).delete(victim)
        print(f"{victim}: {heal(trial):.2f} s")
    client_of(trial).xgroup_destroy(READY, "workers")
    submitted += trial.submit_many(jobs.nap, [(0.01,)] * 60)
    ended = trial.survived(submitted)
    assert statuses(ended) == {JobStatus.COMPLETED: len(submitted)}
    assert trial.starts_of(submitted) == {1}
