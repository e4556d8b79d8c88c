"""How fast a store takes, hands out and settles jobs, beside the yardstick where there is one."""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from uuid import uuid4

from asyncjobs import job
from asyncjobs.benchmark import Figure, rate
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Change, Query, Store
from asyncjobs.stores.redis import RedisStore
from tests.bench.yardstick import Yardstick

BATCH = 100
LEASE = 30_000
ROUNDS = 5


@job(name="bench.noop")
def noop(number: int) -> None:
    """What is submitted. Nothing runs it: the stores are measured, not workers."""


def submit_single(count: int) -> None:
    for number in range(count):
        noop.submit(number)


def submit_many(count: int) -> None:
    noop.submit_many(noop.call(number) for number in range(count))


def drain(store: Store) -> int:
    """Claims and settles all there is, in batches; answers how many jobs that were."""
    worker, settled = str(uuid4()), 0
    changes: list[Change] = []
    while True:
        written, claimed = store.exchange(changes, ["default"], worker=worker, limit=BATCH, lease=LEASE)
        settled += sum(written)
        if not claimed:
            return settled
        now = store.now()
        changes = [Change(job, transitions.complete(job, "null", now=now)) for job in claimed]


def figures(store: Store, jobs: int) -> Iterator[Figure]:
    """Handlers submit to this store while it is measured."""
    exchange_engine(Engine(store, get_conf()))
    if isinstance(store, RedisStore):
        return _beside_yardstick(store, Yardstick(store.client), jobs)
    return _alone(store, jobs)


def _beside_yardstick(store: Store, yardstick: Yardstick, jobs: int) -> Iterator[Figure]:
    """In short turns, because the machine's speed changes by the second; each figure is the median turn."""
    yield _compared("submit, one call each", jobs // 20, submit_single, yardstick.submit_single)
    own, least = (_memory(yardstick, partial(fill, jobs)) for fill in (submit_many, yardstick.submit_bulk))
    yield Figure("memory per waiting job", own / jobs, "bytes", own / least)
    yield _compared("submit_many", jobs // ROUNDS, submit_many, yardstick.submit_bulk)
    drain(store)
    yardstick.drain()
    yield _drained(store, yardstick, jobs // ROUNDS)


def _memory(yardstick: Yardstick, fill: Callable[[], None]) -> int:
    before = yardstick.memory()
    fill()
    return yardstick.memory() - before


def _compared(name: str, count: int, ours: Callable[[int], None], bare: Callable[[int], None]) -> Figure:
    turns = [(rate(count, lambda: ours(count)), rate(count, lambda: bare(count))) for _ in range(ROUNDS * 2)]
    return Figure(name, median(turn[0] for turn in turns), "jobs/s", median(own / least for own, least in turns))


def _drained(store: Store, yardstick: Yardstick, count: int) -> Figure:
    turns = []
    for _ in range(ROUNDS):
        submit_many(count)
        yardstick.submit_bulk(count)
        turns.append((rate(count, lambda: drain(store)), rate(count, yardstick.drain)))
    return Figure(
        f"claim and settle, {BATCH} at a time",
        median(turn[0] for turn in turns),
        "jobs/s",
        median(own / least for own, least in turns),
    )


def _alone(store: Store, jobs: int) -> Iterator[Figure]:
    single = jobs // 20
    yield Figure("submit, one call each", rate(single, lambda: submit_single(single)), "jobs/s")
    yield Figure("submit_many", rate(jobs, lambda: submit_many(jobs)), "jobs/s")
    yield Figure(f"claim and settle, {BATCH} at a time", rate(jobs + single, lambda: drain(store)), "jobs/s")


def beside_delayed(store: Store, jobs: int, delayed: int) -> Figure:
    """Draining with jobs parked in the same queue, as a share of draining without them."""
    submit_many(jobs)
    alone = rate(jobs, lambda: drain(store))
    for _ in range(delayed // 10_000):
        noop.using(delay=86_400).submit_many(noop.call(number) for number in range(10_000))
    submit_many(jobs)
    beside = rate(jobs, lambda: drain(store))
    parked = len(store.find(Query(status=JobStatus.SCHEDULED, limit=1)).jobs)
    assert parked, "the delayed jobs are not there"
    return Figure(f"claim and settle beside {delayed:,} delayed jobs", beside, "jobs/s", beside / alone)
