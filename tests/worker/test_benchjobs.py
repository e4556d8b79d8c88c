"""`manage.py benchjobs` measures, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from asyncjobs.benchmark import Benchmark, BenchmarkFailed
from asyncjobs.domain.job import JobStatus
from asyncjobs.jobs import BENCH_QUEUE, noop
from asyncjobs.stores.base import Query
from tests.worker.conftest import World
from tests.workers import PATIENCE, until

pytestmark = pytest.mark.parametrize("kind", ["valkey", "sqlite"])
FIGURES = [
    "submit, one call each",
    "submit_many",
    "memory per waiting job",
    "drain, one child",
    "drain, two children",
    "10 ms handlers on 8 threads",
    "200 async handlers of 100 ms",
    "pick-up latency, p50",
    "pick-up latency, p99",
]


@contextmanager
def benchjobs(world: World, *flags: str) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        [sys.executable, "-m", "django", "benchjobs", *flags],
        env=world.site.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        try:
            yield running
        finally:
            running.terminate()


def bench_jobs(world: World) -> int:
    """How many jobs the queue of the benchmark has, in whatever status."""
    return sum(sum(counts.by_status.values()) for counts in world.engine.counts() if counts.queue == BENCH_QUEUE)


def test_the_document_has_every_figure_and_no_job_is_left(world: World, kind: str) -> None:
    other = world.submit(noop, 1, queue="default")
    with benchjobs(world, "--json", "--jobs=40", "--samples=3") as running:
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, err) == (0, "")
    assert out.count("\n") == 1
    document = json.loads(out)
    assert document["jobs"] == 40
    assert [figure["name"] for figure in document["figures"]] == [
        name for name in FIGURES if kind == "valkey" or "memory" not in name
    ]
    assert all(figure["value"] > 0 for figure in document["figures"])
    assert bench_jobs(world) == 0
    assert world.stored(other) == other


@pytest.mark.slow
def test_people_get_a_table_and_programs_no_bar(world: World) -> None:
    with benchjobs(world, "--jobs=10", "--samples=1", "--processes=3") as running:
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, err) == (0, "")
    assert f"10 jobs on {world.store}" in out or "10 jobs on database 'default'" in out
    assert "drain, 3 children" in out


def test_a_queue_in_use_is_refused_and_left_alone(world: World) -> None:
    waiting = world.submit(noop, 1)
    with benchjobs(world) as running:
        _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1
    assert "QUEUE_IN_USE" in err
    assert world.stored(waiting) == waiting


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_benchmark_that_is_stopped_leaves_no_job_and_no_worker(world: World, ending: signal.Signals) -> None:
    with benchjobs(world, "--jobs=200000", "--samples=1") as running:
        until(lambda: bench_jobs(world) > 0)
        running.send_signal(ending)
        _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert bench_jobs(world) == 0


@pytest.mark.slow
def test_a_benchmark_that_is_stopped_while_its_worker_runs_leaves_no_job_and_no_worker(world: World) -> None:
    with benchjobs(world, "--jobs=10", "--samples=10000") as running:
        worker = until(lambda: _latency_worker(world))
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert bench_jobs(world) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_worker_that_does_not_start_says_why(world: World) -> None:
    environment = {**world.site.environment, "DJANGO_SETTINGS_MODULE": "nowhere"}
    with (
        pytest.raises(BenchmarkFailed, match="No module named 'nowhere'"),
        Benchmark(environment=environment) as benchmark,
    ):
        benchmark.drain("drain", 10)
    assert bench_jobs(world) == 0


@pytest.mark.slow
def test_workers_that_take_part_are_named(world: World) -> None:
    world.site.start("--name=everything", "--processes=1")
    until(world.store.workers)
    with benchjobs(world, "--json", "--jobs=10", "--samples=1") as running:
        _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert "Worker everything serves every queue, and takes part." in err.splitlines()


def _latency_worker(world: World) -> int | None:
    """The process id of the worker that ends only when it is told to."""
    ran = world.store.find(Query(status=JobStatus.COMPLETED, name="asyncjobs.bench.moment")).jobs
    about = {record.worker: json.loads(record.about) for record in world.store.workers()}
    return next((about[job.worker]["supervisor"] for job in ran if job.worker in about), None)
