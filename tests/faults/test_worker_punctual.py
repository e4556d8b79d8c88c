"""An idle worker runs delayed jobs when they are due, and short jobs although a long one runs."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from asyncjobs.domain.job import Job
from tests.backends import Backend
from tests.faults.checker import percentile
from tests.promptness import best_of
from tests.worker import jobs
from tests.worker.conftest import World, open_world
from tests.workers import until

pytestmark = pytest.mark.faults
DELAYS = 150
LATE_MS = 50
SHORT_SECONDS = 0.5


@pytest.fixture(params=["valkey", "postgres"])
def world(
    request: pytest.FixtureRequest,
    backends: Callable[[str], Backend],
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
) -> Iterator[World]:
    yield from open_world(request.param, backends, django_db_blocker, tmp_path)


def test_delayed_jobs_are_exact(world: World) -> None:
    """Among them jobs that fall due before all that was known when they came."""
    world.site.start("--processes=2")
    world.ended(jobs.answers.submit(1))

    def late_by() -> float:
        delays = [random.uniform(0.3, 3) for _ in range(DELAYS)]
        ended = world.ended(*[jobs.answers.submit_in(delay, 1) for delay in delays])
        late = [_lateness(job) for job in ended]
        print(f"late by {percentile(late, 0.5)} ms at p50, {percentile(late, 0.99)} ms at p99")
        return percentile(late, 0.99)

    assert best_of(late_by, enough=LATE_MS) <= LATE_MS


def _lateness(job: Job) -> int:
    assert job.started_at is not None
    assert job.due_at is not None
    return job.started_at - job.due_at


def test_short_jobs_are_not_held_back_by_a_long_one(world: World) -> None:
    world.site.start("--processes=2")
    calls = [jobs.answers.call(number) for number in range(100)]
    world.ended(*jobs.answers.submit_many(calls))

    def took() -> float:
        began = time.monotonic()
        short = jobs.answers.submit_many(calls)
        long = jobs.nap.submit(2)
        short += jobs.answers.submit_many(calls)
        ids = [job.id for job in short]
        until(lambda: all(job is not None and job.is_terminal for job in world.store.get(ids)))
        seconds = time.monotonic() - began
        print(f"200 short jobs beside one of 2 s: done after {seconds:.3f} s")
        was_first = not world.stored(long).is_terminal
        world.ended(long)
        return seconds if was_first else 2 * SHORT_SECONDS

    assert best_of(took, enough=SHORT_SECONDS) < SHORT_SECONDS
