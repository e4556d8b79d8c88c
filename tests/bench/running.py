"""How fast workers run jobs on a store, beside the yardstick where there is one."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from asyncjobs.benchmark import Benchmark, Figure, rate
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.engine import Engine
from asyncjobs.stores.redis import RedisStore
from tests.backends import Backend, OrmBackend, RedisBackend
from tests.bench.yardstick import Yardstick
from tests.servers import valkey_url
from tests.worker.conftest import database_of
from tests.workers import Site

ROUNDS = 3
SLOW = 2_000  # jobs that wait: a few seconds
SAMPLES = 200
CHILDREN = {"drain, one child": "--processes=1", "drain, two children": "--processes=2"}


def figures(kind: str, backend: Backend, *, jobs: int, delayed: int) -> Iterator[Figure]:
    """What is worth knowing of a worker on this kind of store."""
    store = backend.open()
    exchange_engine(Engine(store, get_conf()))
    with _environment(backend) as environment, Benchmark(environment=environment) as benchmark:
        if isinstance(store, RedisStore):
            yield from _beside_yardstick(benchmark, Yardstick(store.client), jobs)
            yield from benchmark.drain_slow(min(jobs, SLOW))
        else:
            children = list(CHILDREN.items())[: 1 if kind == "sqlite" else 2]
            yield from (benchmark.drain(name, jobs, flag) for name, flag in children)
        if kind == "sqlite":
            return
        yield from benchmark.latency(min(jobs, SAMPLES))
        if delayed:
            yield _beside_delayed(benchmark, jobs, delayed)


def _beside_yardstick(benchmark: Benchmark, yardstick: Yardstick, jobs: int) -> Iterator[Figure]:
    """In turns, because the machine's speed changes by the second; each figure is the median turn."""
    turns = [_turn(benchmark, yardstick, jobs) for _ in range(ROUNDS)]
    for position, name in enumerate(CHILDREN):
        rates = [(turn[position], turn[-1]) for turn in turns]
        yield Figure(name, median(own for own, _ in rates), "jobs/s", median(own / least for own, least in rates))


def _turn(benchmark: Benchmark, yardstick: Yardstick, jobs: int) -> list[float]:
    """The rates with one child, with two, and of the yardstick, which works in batches of a hundred."""
    ours = [benchmark.drain(name, jobs, flag).value for name, flag in CHILDREN.items()]
    yardstick.submit_bulk(jobs)
    return [*ours, rate(jobs // 100 * 100, yardstick.drain)]


def _beside_delayed(benchmark: Benchmark, jobs: int, delayed: int) -> Figure:
    """Draining with jobs parked in the same queue, as a share of draining without them."""
    alone = benchmark.drain("alone", jobs, "--processes=1").value
    benchmark.park(delayed)
    name = f"drain, one child, beside {delayed:,} delayed jobs"
    beside = benchmark.drain(name, jobs, "--processes=1")
    return beside._replace(share=beside.value / alone)


@contextmanager
def _environment(backend: Backend) -> Iterator[dict[str, str]]:
    """What leads a worker to the jobs of this backend."""
    where: dict[str, Any]
    if isinstance(backend, OrmBackend):
        where = {"database": database_of(backend.alias)}
    else:
        assert isinstance(backend, RedisBackend)
        where = {"redis": valkey_url(), "settings": {"OPTIONS": {"PREFIX": backend.prefix}}}
    with tempfile.TemporaryDirectory(prefix="asyncjobs-bench-") as directory:
        yield Site(Path(directory), **where).environment
