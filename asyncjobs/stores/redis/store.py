"""Jobs in Redis or Valkey: hashes, streams and sorted sets, changed by scripts only, one round trip a batch."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self, cast

from redis import exceptions

from asyncjobs.domain.job import TERMINAL, Job, JobStatus
from asyncjobs.errors import (
    AsyncJobsError,
    DuplicateJob,
    InvalidJob,
    JobClaimError,
    QueueFull,
    StoreError,
    StoreUnavailable,
)
from asyncjobs.stores.base import (
    DAY_MS,
    GONE_MS,
    MAX_BATCH,
    MAX_DUE,
    SERIES_MINUTES,
    Beat,
    Change,
    Entry,
    EntryKind,
    Fault,
    Finding,
    Gone,
    Minute,
    Page,
    Pause,
    Query,
    QueueCounts,
    Receipt,
    Resting,
    Store,
    TrashPage,
    Twins,
    WorkerRecord,
    answered_again,
    fault_days,
)
from asyncjobs.stores.guards import (
    require_faults,
    require_page,
    require_receipt,
    require_short_entries,
    require_short_note,
    require_size,
    require_spans,
)
from asyncjobs.stores.redis import batches, codec, connection, keys, pauses, receipts, scripts, trash
from asyncjobs.stores.redis.finder import Finder
from asyncjobs.stores.redis.fsck import Fsck
from asyncjobs.stores.redis.line import Line
from asyncjobs.stores.redis.scripts import SCRIPT_LIMIT, parts
from asyncjobs.stores.redis.waiting import Sleeper, Waiter
from asyncjobs.stores.waking import readable

CLOCK_TRUST_S = 5  # how long the server's clock is reckoned by ours before it is asked again
MAX_TIMEOUT_S = 3_600
LONGEST_WAIT_MS = 10_000  # then a token or a timer that was lost with its waiter is made good for
MINUTE_MS = 60_000
MOST_COUNTS = 1_000  # spans of queues in which one script counts what falls due


class RedisStore(Store):
    """`server` is a URL or a client; a client must not repeat commands by itself. `clock` is for tests."""

    transactional = False
    OPTIONS: ClassVar = frozenset({"URL", "ALIAS", "PREFIX", "TIMEOUT"})

    def __init__(
        self,
        server: str | connection.Client,
        *,
        prefix: str = "ae",
        timeout: float = 5,
        clock: Callable[[], int] | None = None,
    ) -> None:
        # redis-py types its answers as str or bytes, now or awaited; ours are bytes, now.
        self.client: Any = connection.client_from_url(server, timeout=timeout) if isinstance(server, str) else server
        self.prefix = prefix
        self._clock = clock
        self._offset: tuple[float, int] | None = None
        self._has_exchanged = False
        self._line = Line(self.client)
        is_fake = type(self.client).__module__.startswith("fakeredis")
        self._waiter = Sleeper() if is_fake else Waiter(self.client, self._line)
        self._scripts = scripts.load(flags=not is_fake)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, database: str) -> Self:
        """The store of `ASYNCJOBS["OPTIONS"]`: a `URL`, or the `ALIAS` of a django-redis cache."""
        timeout = float(options.get("TIMEOUT", 5))
        if not 0 < timeout < MAX_TIMEOUT_S:
            raise ValueError(f"TIMEOUT is a number of seconds above zero, not {timeout}")
        for name in options.keys() & {"URL", "ALIAS", "PREFIX"}:
            if not isinstance(options[name], str) or not options[name]:
                raise ValueError(f"{name} is a text, not {options[name]!r:.80}")
        if "URL" in options:
            client = connection.client_from_url(options["URL"], timeout=timeout)
        else:
            client = connection.client_from_alias(options.get("ALIAS", "default"), timeout=timeout)
        return cls(client, prefix=options.get("PREFIX", "ae"), timeout=timeout)

    def __str__(self) -> str:
        at = self.client.connection_pool.connection_kwargs
        server = at.get("path") or f"{at.get('host', 'a server')}:{at.get('port', '')}"
        return f"Redis at {server}, database {at.get('db') or 0}, prefix {self.prefix!r}"

    def key(self, suffix: str) -> str:
        return f"{self.prefix}:{suffix}"

    @connection.translated
    def run(self, name: str, *args: Any) -> Any:
        """The answer of a script. It is not repeated when the answer is lost."""
        return scripts.run(self._line, self._scripts[name], self.prefix, args)

    def run_again(self, name: str, *args: Any) -> Any:
        """The answer of a script that may safely run twice: a broken connection is tried once more."""
        try:
            return self.run(name, *args)
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, exceptions.ConnectionError):
                raise
            return self.run(name, *args)

    @property
    def _given_now(self) -> int | str:
        return self._clock() if self._clock else ""

    @connection.translated
    def now(self) -> int:
        if self._clock:
            return self._clock()
        own = time.monotonic()
        if self._offset is None or own - self._offset[0] > CLOCK_TRUST_S:
            seconds, micros = self.client.time()
            self._offset = own, seconds * 1000 + micros // 1000
        asked, server = self._offset
        return server + int((own - asked) * 1000)

    def add(
        self,
        jobs: Sequence[Job],
        *,
        limits: Mapping[str, int] | None = None,
        twins: Twins = "return",
        receipt: Receipt | None = None,
    ) -> list[Job]:
        require_receipt(receipt)
        if len(jobs) > MAX_BATCH:
            raise InvalidJob(f"one call adds at most {MAX_BATCH} jobs, not {len(jobs)}")
        batch = batches.new_jobs(jobs, in_order=receipt is not None)
        bounds = json.dumps([part for bound in limits.items() for part in bound]) if limits else "[]"
        args = [self._given_now, twins, bounds, *receipts.arguments(receipt), *batch.args]
        outcome, *rest = self.run_again("add", *args)
        if outcome == b"KEPT" and receipt:
            return answered_again(jobs, receipt, receipts.read(receipt.key, rest), self.get)
        if outcome != b"OK":
            raise _refusal(outcome, rest[0].decode(), limits or {})
        stored = list(jobs)
        if rest:
            self._put_stored(stored, [batch.rows[row] for row in rest[::2]], [job_id.decode() for job_id in rest[1::2]])
        return stored

    def _put_stored(self, jobs: list[Job], positions: Sequence[int], ids: Sequence[str]) -> None:
        for position, job in zip(positions, self.get(ids), strict=True):
            jobs[position] = job or jobs[position]

    def claim(self, queues: Sequence[str], *, worker: str, limit: int, lease: int) -> list[Job]:
        try:
            claimed = self.run("claim", *self._claim_args(queues, worker, limit, lease))
        except StoreUnavailable:
            raise
        except StoreError as error:
            raise JobClaimError(error.message) from error
        return codec.read_all(claimed)

    def _claim_args(self, queues: Sequence[str], worker: str, limit: int, lease: int) -> list[Any]:
        return [self._given_now, worker, min(limit, SCRIPT_LIMIT), lease, self._waiter.name, *dict.fromkeys(queues)]

    def swap(self, changes: Sequence[Change]) -> list[bool]:
        require_short_entries(changes)
        return [written for part in parts(changes) for written in self._swap(part)]

    def _swap(self, changes: Sequence[Change]) -> list[bool]:
        batch = batches.changed_jobs(changes, self.now())
        return _in_order(batch, self.run_again("swap", self._given_now, *batch.args))

    @connection.translated
    def exchange(
        self, changes: Sequence[Change], queues: Sequence[str], *, worker: str, limit: int, lease: int
    ) -> tuple[list[bool], list[Job]]:
        require_short_entries(changes)
        *before, last = parts(changes) or [()]
        written = [done for part in before for done in self._swap(part)]
        if not last or not self._has_exchanged:
            # One after the other at first: of a script that the server does not know yet, the turn would be lost.
            self._has_exchanged = True
            written += self._swap(last) if last else []
            return written, self.claim(queues, worker=worker, limit=limit, lease=lease)
        batch = batches.changed_jobs(last, self.now())
        calls = [
            (self._scripts["swap"], (self._given_now, *batch.args)),
            (self._scripts["claim"], self._claim_args(queues, worker, limit, lease)),
        ]
        settled, claimed = scripts.run_both(self.client, self._line, self.prefix, calls)
        return written + _in_order(batch, settled), codec.read_all(claimed)

    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        beat = Beat([], [])
        for part in parts(list(held.items())) or [()]:
            pairs = [value for pair in part for value in pair]
            lost, cancels, order = self.run_again("beat", self._given_now, worker, lease, about, *pairs)
            beat.lost.extend(job_id.decode() for job_id in lost)
            beat.cancels.extend(job_id.decode() for job_id in cancels)
            beat = beat._replace(order=order.decode())
        return beat

    def lapsed(self, limit: int, *, lease: int) -> list[Job]:
        stored = self.run_again("lapsed", self._given_now, lease, min(limit, SCRIPT_LIMIT))
        return codec.read_all(stored)

    def held(self, worker: str) -> list[Job]:
        """Scans by member, not by rank: beats move the others about meanwhile."""
        return [job for queue in self._queues() for ids in self._running(queue) for job in self._held(worker, ids)]

    def _held(self, worker: str, ids: Sequence[str]) -> list[Job]:
        return codec.read_all(self.run_again("held", worker, *ids))

    @connection.translated
    def _running(self, queue: str) -> list[Sequence[str]]:
        """The ids of the queue's running jobs, as many at a time as one script looks at."""
        members = self.client.zscan_iter(self.key(keys.sorted_place(JobStatus.IN_PROGRESS, queue)), count=SCRIPT_LIMIT)
        return parts(list(dict.fromkeys(job_id.decode() for job_id, _ in members)))

    @connection.translated
    def wait(self, queues: Sequence[str], *, timeout: int, wake: int | None = None) -> None:
        names, timeout = list(dict.fromkeys(queues)), min(timeout, LONGEST_WAIT_MS)
        if readable(wake, timeout=0 if names else timeout) or not names or timeout <= 0:
            return
        left, *paused = self.run_again("watch", self._given_now, self._waiter.name, timeout, *names)
        if left > 0:
            silent = {queue.decode() for queue in paused}
            bells = [keys.resumed(queue) if queue in silent else keys.bell(queue) for queue in names]
            self._waiter.wait([self.key(bell) for bell in bells], timeout=left, wake=wake)

    def turn(self, name: str, *, every: int) -> bool:
        return bool(self.run("turn", self._given_now, name, every))

    def get(self, ids: Sequence[str]) -> list[Job | None]:
        return [codec.read(stored) if stored else None for stored in self.raw(ids)]

    def raw(self, ids: Sequence[str]) -> Iterator[bytes]:
        """The hashes of these jobs, as `codec` reads them."""
        for part in parts(ids):
            yield from self.run_again("get", *part)

    @connection.translated
    def receipt(self, key: str) -> Receipt | None:
        stored = self.client.hmget(self.key(keys.receipt(key)), *receipts.FIELDS)
        kept = receipts.read(key, stored) if stored[0] is not None else None
        return kept if kept is not None and kept.until > self.now() else None

    @connection.translated
    def gone(self, job_id: str) -> Gone | None:
        stored = self.client.get(self.key(keys.gone(job_id)))
        if stored is None:
            return None
        at, owner = stored.decode().split(":", 1)
        return Gone(owner, int(at)) if self.now() < int(at) + GONE_MS else None

    def find(self, query: Query) -> Page:
        return Finder(self, query).page()

    @connection.translated
    def journal(self, job_id: str, kind: EntryKind, *, after: int = 0, limit: int = 100) -> list[Entry]:
        require_page(after=after, limit=limit)
        entries = self.client.xrange(self.key(keys.journal(kind, job_id)), after + 1, "+", limit)
        return [_read_entry(kind, entry_id, fields) for entry_id, fields in entries]

    def counts(self) -> list[QueueCounts]:
        now = self.now()
        return sorted((_read_counts(row, now) for row in self.run_again("counts")), key=lambda counts: counts.queue)

    def due(self, edges: Sequence[int], *, queue: str | None = None) -> list[int]:
        """As many queues at a time as leave room for other scripts."""
        require_spans(edges, queue)
        queues = self._queues() if queue is None else [queue]
        found = [self.run_again("due", len(edges), *edges, *some) for some in parts(queues, MOST_COUNTS // len(edges))]
        return [min(sum(span), MAX_DUE) for span in zip(*found, strict=True)] or [0] * (len(edges) - 1)

    @connection.translated
    def series(self, minutes: int) -> list[Minute]:
        last = self.now() // MINUTE_MS
        wanted = range(last - min(minutes, SERIES_MINUTES) + 1, last + 1)
        pipeline = self.client.pipeline(transaction=False)
        for minute in wanted:
            pipeline.hgetall(self.key(keys.series(minute)))
        return [
            Minute(minute * MINUTE_MS, queue, JobStatus(int(status)), int(count))
            for minute, stored in zip(wanted, pipeline.execute(), strict=True)
            for status, queue, count in sorted((*name.decode().split(":", 1), count) for name, count in stored.items())
        ]

    def faults(self, limit: int) -> list[Fault]:
        """Some at a time; one that struck again meanwhile moved up, and the next look meets another one once more."""
        require_faults(limit)
        days, found = fault_days(self.now()), dict[str, Fault]()
        for start in range(0, limit, SCRIPT_LIMIT):
            rows = self.run_again("faults", start, min(limit - start, SCRIPT_LIMIT), *days)
            found = {fault.fault: fault for fault in map(_read_fault, rows)} | found
            if len(rows) < SCRIPT_LIMIT:
                break
        return sorted(found.values(), key=lambda fault: (fault.last_at, fault.fault), reverse=True)

    @connection.translated
    def workers(self) -> list[WorkerRecord]:
        since = self.now() - DAY_MS
        beats = self.client.zrangebyscore(self.key(keys.WORKERS), f"({since}", "+inf", withscores=True)
        pipeline = self.client.pipeline(transaction=False)
        for worker, _ in beats:
            pipeline.hmget(self.key(keys.worker(worker.decode())), "About", "Order")
        return sorted(
            WorkerRecord(worker.decode(), int(beat), *((text or b"").decode() for text in stored))
            for (worker, beat), stored in zip(beats, pipeline.execute(), strict=True)
        )

    def order(self, worker: str, order: str) -> bool:
        return bool(self.run_again("order", self._given_now, worker, order))

    @connection.translated
    def pause(self, pause: Pause) -> None:
        pipeline = self.client.pipeline()
        pipeline.hset(self.key(keys.PAUSED), pause.queue, pauses.written(pause))
        pipeline.sadd(self.key(keys.QUEUES), pause.queue)
        pipeline.execute()

    @connection.translated
    def resume(self, queue: str) -> bool:
        pipeline = self.client.pipeline()
        pipeline.hget(self.key(keys.PAUSED), queue)
        pipeline.hdel(self.key(keys.PAUSED), queue)
        for bell in (self.key(keys.bell(queue)), self.key(keys.resumed(queue))):
            pipeline.delete(bell)
            pipeline.rpush(bell, 1)  # one token, whatever was there
        stored, *_ = pipeline.execute()
        return stored is not None and pauses.read(queue, stored).holds(self.now())

    def delete(self, jobs: Sequence[Job], *, rest_until: int | None = None, note: Entry | None = None) -> list[bool]:
        require_short_note(note)
        rest = ["", *trash.note_arguments(None)] if rest_until is None else [rest_until, *trash.note_arguments(note)]
        return [gone == _YES for part in parts(jobs) for gone in self._delete(part, rest)]

    def _delete(self, jobs: Sequence[Job], rest: Sequence[Any]) -> bytes:
        versions = (part for job in jobs for part in (job.id, job.version))
        return cast(bytes, self.run_again("delete", self._given_now, *rest, *versions))

    def restore(
        self, ids: Sequence[str], *, versions: Mapping[str, int] | None = None, note: Entry | None = None
    ) -> list[Job | None]:
        require_short_note(note)
        for part in parts(ids):
            trash.restore(self, part, versions, note)
        return self.get(ids)

    def rests(self, job_id: str) -> Resting | None:
        return trash.read(self, [job_id])[0]

    def trash(self, *, after: str = "", limit: int = 50) -> TrashPage:
        require_size(limit)
        return trash.page(self, after, limit)

    def prune(self, before: Mapping[JobStatus, int], *, limit: int) -> int:
        pruned = 0
        bounds = [part for status in TERMINAL & before.keys() for part in (int(status), before[status])]
        while pruned < limit:
            step = min(limit - pruned, SCRIPT_LIMIT)
            done = self.run_again("prune", self._given_now, step, *bounds)
            pruned += done
            if done < step:
                break
        return pruned

    def check(self, *, fix: bool = False) -> list[Finding]:
        return Fsck(self, fix=fix).findings()

    @connection.translated
    def _queues(self) -> list[str]:
        return sorted(queue.decode() for queue in self.client.smembers(self.key(keys.QUEUES)))


_YES = ord("1")


def _refusal(outcome: bytes, of: str, limits: Mapping[str, int]) -> AsyncJobsError:
    """Why `add` stored nothing: because of this twin, or of this queue."""
    if outcome == b"TWIN":
        return DuplicateJob(f"job {of} holds the unique key", job_id=of)
    return QueueFull(f"queue {of!r} takes no more than {limits[of]} unstarted jobs")


def _in_order(batch: batches.Batch, answer: bytes) -> list[bool]:
    written = [False] * len(batch.rows)
    for position, done in zip(batch.rows, answer, strict=True):
        written[position] = done == _YES
    return written


def _read_entry(kind: EntryKind, entry_id: bytes, fields: Mapping[bytes, bytes]) -> Entry:
    return Entry(kind, int(fields[b"a"]), fields[b"t"].decode(), number=int(entry_id.partition(b"-")[0]))


def _read_fault(row: Sequence[Any]) -> Fault:
    fault, newest, first_at, last_at, count, *days = row
    return Fault(
        fault=fault.decode(),
        count=count,
        first_at=int(first_at),
        last_at=int(last_at),
        days=tuple(since_then - since_next for since_then, since_next in pairwise([*days, 0])),
        newest=newest.decode(),
    )


def _read_counts(row: Sequence[Any], now: int) -> QueueCounts:
    queue, paused, oldest, sizes = row
    pause = pauses.read(queue.decode(), paused) if paused else None
    return QueueCounts(
        queue=queue.decode(),
        by_status={JobStatus(int(status)): size for status, size in zip(sizes[::2], sizes[1::2], strict=True)},
        oldest_at=first.ready_at if (first := codec.read_if_possible(oldest)) else None,
        pause=pause if pause and pause.holds(now) else None,
    )
