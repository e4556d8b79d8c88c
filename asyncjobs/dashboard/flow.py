"""How jobs flow: what came to an end each minute, and when what waits will have been done."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Minute, QueueCounts

MINUTE_MS: Final = 60_000
RECENT: Final = 10  # minutes that tell how fast a queue is

_READY: Final = (JobStatus.QUEUED,)


class Throughput(NamedTuple):
    """What ended in one minute."""

    at: int
    good: int
    bad: int


class Forecast(NamedTuple):
    """When a queue's ready jobs will have run, as things go: `minutes` is None if not at all."""

    ready: int
    per_minute: float
    minutes: float | None


def throughput(series: Iterable[Minute], *, now: int, minutes: int) -> list[Throughput]:
    """One entry for each of the last minutes, also where nothing ended."""
    good: Counter[int] = Counter()
    bad: Counter[int] = Counter()
    for minute in series:
        (bad if minute.status == JobStatus.FAILED else good)[minute.at] += minute.count
    last = now // MINUTE_MS * MINUTE_MS
    return [Throughput(at, good[at], bad[at]) for at in range(last - (minutes - 1) * MINUTE_MS, last + 1, MINUTE_MS)]


def forecasts(counts: Sequence[QueueCounts], series: Iterable[Minute], *, now: int) -> dict[str, Forecast]:
    """By queue, from what ended there in the last minutes. A queue that is paused does not empty."""
    since = now - RECENT * MINUTE_MS
    ended: Counter[str] = Counter()
    for minute in series:
        if minute.at > since:
            ended[minute.queue] += minute.count
    return {queue.queue: _forecast(queue, ended[queue.queue] / RECENT) for queue in counts}


def _forecast(queue: QueueCounts, per_minute: float) -> Forecast:
    ready = sum(queue.by_status.get(status, 0) for status in _READY)
    never = queue.pause is not None or not per_minute
    return Forecast(ready, per_minute, None if never else ready / per_minute)
