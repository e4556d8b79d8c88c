"""Ways to keep delayed jobs by due time in Redis: one sorted set, and buckets of five minutes, measured side by side.

    python -m tests.bench.buckets [--jobs 1000000]

Times are the server's own, of the scripts alone; rates are what one client sees. Both mean something only beside the
other layouts of the same run.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from itertools import chain
from statistics import median
from typing import Any
from uuid import uuid4

import redis

from asyncjobs.benchmark import Figure, rate
from tests.bench.layouts import HASHES, LAYOUTS, SHARED, Layout
from tests.servers import RedisServer, valkey_binary

BATCH = 100
PAGE = 50
LOGGED_US = 50  # slower than any command inside a script, faster than a script of a batch
SAMPLE = 100
TURNS = 5  # with the burst, as the machine's speed changes by the second: the median counts
BUCKET_MS = 300_000
SPREAD_MS = 30 * 86_400_000
START = 1_800_000_000_000  # a bucket begins here; at this moment the burst falls due, in a bucket of its own

Jobs = list[tuple[int, str]]  # due time, id


class Trial:
    """One layout on a server of its own."""

    def __init__(self, client: redis.Redis, layout: Layout) -> None:
        self._client = client
        scripts = {"add": layout.add, "promote": layout.promote, "remove": layout.remove, "page": layout.page}
        self._scripts = {verb: client.script_load(SHARED + text) for verb, text in scripts.items()}
        self._hashes = client.script_load(HASHES)
        client.config_set("slowlog-max-len", 10_000)

    def figures(self, jobs: Jobs, burst: Jobs) -> Iterator[Figure]:
        """The page over a whole bucket comes last: the garbage it leaves in Lua slows down the scripts after it."""
        empty = self._memory()
        yield Figure("insert", rate(len(jobs), lambda: self._add(jobs)), "jobs/s")
        yield Figure("memory, index alone", (self._memory() - empty) / len(jobs), "bytes/job")
        self._write_hashes(jobs + burst)
        gone, left = drawn(jobs)
        yield Figure("remove one", self._mean(lambda: self._remove(gone)), "µs")
        yield Figure(f"next {PAGE}", self._mean(lambda: self._show(left)), "µs")
        inserted, promoted, slowest = zip(*(self._turn(burst) for _ in range(TURNS)), strict=True)
        yield Figure("insert, all due at once", median(inserted), "jobs/s")
        yield Figure("promote these", median(promoted), "jobs/s")
        # Of the least disturbed turn: what another process takes from the core is no fault of the script.
        yield Figure("slowest call of that", min(slowest), "µs")
        self._add(burst)
        gone, left = drawn(burst)
        yield Figure("remove one of these", self._mean(lambda: self._remove(gone)), "µs")
        yield Figure(f"next {PAGE} of these", self._mean(lambda: self._show(left)), "µs")

    def _turn(self, burst: Jobs) -> tuple[float, float, int]:
        inserted = rate(len(burst), lambda: self._add(burst))
        self._client.delete("stream")
        self._client.config_set("slowlog-log-slower-than", LOGGED_US)
        self._client.slowlog_reset()
        promoted = rate(len(burst), lambda: self._promote(burst))
        return inserted, promoted, max(self._logged(), default=LOGGED_US)

    def _run(self, verb: str, *arguments: int | str) -> Any:
        return self._client.evalsha(self._scripts[verb], 2, "delayed", "stream", *arguments)

    def _memory(self) -> int:
        used: int = self._client.info("memory")["used_memory"]
        return used

    def _add(self, jobs: Jobs) -> None:
        for batch in batches(jobs):
            self._run("add", *batch)

    def _write_hashes(self, jobs: Jobs) -> None:
        for batch in batches(jobs):
            self._client.evalsha(self._hashes, 0, *batch)

    def _remove(self, jobs: Jobs) -> None:
        for job in jobs:
            assert self._run("remove", *job) == 1

    def _show(self, jobs: Jobs) -> None:
        """Reads the first page a few times, and it is that of these jobs, which are in order."""
        first = [job_id.encode() for _, job_id in jobs[:PAGE]]
        for _ in range(SAMPLE // 10):
            assert self._run("page", PAGE) == first

    def _promote(self, due: Jobs) -> None:
        """Until there is nothing to promote, and it was exactly these."""
        while self._run("promote", START):
            pass
        assert self._client.xlen("stream") == len(due)

    def _mean(self, work: Callable[[], None]) -> float:
        """What the server itself spends on each script."""
        self._client.config_resetstat()
        work()
        spent: float = self._client.info("commandstats")["cmdstat_evalsha"]["usec_per_call"]
        return spent

    def _logged(self) -> Iterator[int]:
        for entry in self._client.slowlog_get(10_000):
            if entry["command"].startswith(b"EVALSHA"):
                yield entry["duration"]


def batches(jobs: Jobs) -> Iterator[list[int | str]]:
    for start in range(0, len(jobs), BATCH):
        yield list(chain.from_iterable(jobs[start : start + BATCH]))


def drawn(jobs: Jobs) -> tuple[Jobs, Jobs]:
    """Some of the jobs, by chance, and the others: the first to be inserted would be the first that a list finds."""
    gone = random.Random(1).sample(jobs, SAMPLE)
    return gone, sorted(set(jobs).difference(gone))


def spread(count: int, chance: random.Random) -> Jobs:
    """Jobs with random ids, in no order, due evenly over thirty days from the bucket after the first."""
    dues = [START + BUCKET_MS + SPREAD_MS * number // count for number in range(count)]
    chance.shuffle(dues)
    return [(due, str(uuid4())) for due in dues]


def measure(layout: Layout, jobs: Jobs, burst: Jobs) -> list[Figure]:
    server = RedisServer(valkey_binary())
    try:
        with redis.Redis.from_url(server.url, socket_timeout=60) as client:
            return list(Trial(client, layout).figures(jobs, burst))
    finally:
        server.stop()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.buckets", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=100_000, help="due over thirty days (default: %(default)s)")
    parser.add_argument("--burst", type=int, default=50_000, help="due at the same moment (default: %(default)s)")
    options = parser.parse_args(arguments)
    jobs, burst = spread(options.jobs, random.Random(0)), [(START, str(uuid4())) for _ in range(options.burst)]
    columns = [measure(layout, jobs, burst) for layout in LAYOUTS]
    print(f"{'':<36}" + "".join(f"{layout.name:>24}" for layout in LAYOUTS))
    for row in zip(*columns, strict=True):
        print(f"{f'{row[0].name}, {row[0].unit}':<36}" + "".join(f"{figure.value:>24,.0f}" for figure in row))


if __name__ == "__main__":
    main()
