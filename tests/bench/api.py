"""What the HTTP API costs more than an empty view of the REST framework, in one process of gunicorn.

Requests go over one connection that is kept, those of all sorts in turn: the machine's speed changes by the second.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple
from uuid import uuid4

from asyncjobs.benchmark import Figure
from tests.api.live.served import gunicorn
from tests.backends import Backend
from tests.worker.conftest import where
from tests.workers import site

EMPTY = "/empty/"
JOBS = "/api/jobs/"
BATCH = 1_000
WARM_UP = 20
JSON = {"Content-Type": "application/json"}

Headers = Mapping[str, str]
NONE: Headers = {}


class Answer(NamedTuple):
    status: int
    headers: Headers
    seconds: float


class Client:
    """One connection to the server."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Headers = NONE) -> Answer:
        start = time.perf_counter()
        self._connection.request(method, path, body, {**headers, **(JSON if body else NONE)})
        answer = self._connection.getresponse()
        answer.read()
        return Answer(answer.status, dict(answer.headers), time.perf_counter() - start)


class Trial:
    """Requests of every sort, each as often as the others."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.accepted = 0  # jobs
        self._submission = json.dumps({"name": "bench.take", "kwargs": {"number": 1}}).encode()
        self._job = self._ask(202, "POST", JOBS, self._submission).headers["Location"]
        self._known = self._ask(200, "GET", self._job).headers["ETag"]

    def figures(self, turns: int) -> Iterator[Figure]:
        for _ in range(WARM_UP):
            self._turn()
        columns = zip(*(self._turn() for _ in range(turns)), strict=True)
        empty, *others = ([seconds * 1000 for seconds in column] for column in columns)
        yield Figure("an empty view, p50", median(empty), "ms")
        for name, column in zip(("submit", "submit with a key", "poll", "poll, 304"), others, strict=True):
            yield Figure(
                f"{name}, p50 above that", median(column) - median(empty), "ms", median(column) / median(empty)
            )
            yield Figure(f"{name}, p95 above its p95", _p95(column) - _p95(empty), "ms", _p95(column) / _p95(empty))

    def batches(self, count: int) -> Figure:
        asked = {"jobs": [{"name": "bench.take", "kwargs": {"number": number}} for number in range(BATCH)]}
        body = json.dumps(asked).encode()
        seconds = [self._ask(202, "POST", f"{JOBS}batch/", body).seconds for _ in range(count)]
        return Figure(f"batches of {BATCH:,}", BATCH / median(seconds), "jobs/s")

    def _turn(self) -> list[float]:
        key = {"Idempotency-Key": uuid4().hex}
        answers = [
            self._ask(202, "POST", EMPTY, self._submission),
            self._ask(202, "POST", JOBS, self._submission),
            self._ask(202, "POST", JOBS, self._submission, key),
            self._ask(200, "GET", self._job),
            self._ask(304, "GET", self._job, headers={"If-None-Match": self._known}),
        ]
        return [answer.seconds for answer in answers]

    def _ask(self, status: int, method: str, path: str, body: bytes | None = None, headers: Headers = NONE) -> Answer:
        answer = self._client.ask(method, path, body, headers)
        assert answer.status == status, answer
        if method == "POST" and path != EMPTY:
            self.accepted += 1 if path == JOBS else BATCH
        return answer


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


def figures(kind: str, backend: Backend, turns: int) -> Iterator[Figure]:
    """By a server of its own."""
    with ExitStack() as cleanup:
        directory = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="asyncjobs-bench-")))
        served = cleanup.enter_context(site(directory, **where(kind, backend), module="tests.bench.site"))
        server = gunicorn(served, threads=1)
        server.wait_until_it_listens()
        trial = Trial(cleanup.enter_context(closing(Client(server.port))))
        yield from trial.figures(turns)
        yield trial.batches(max(3, turns // 50))
        stored = sum(sum(counts.by_status.values()) for counts in backend.open().counts())
        assert stored == trial.accepted, f"{stored} jobs are stored, and {trial.accepted} were accepted"
