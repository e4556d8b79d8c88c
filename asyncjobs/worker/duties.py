"""What the supervisor does for its children, and for the store, again and again."""

import json
import logging
import os
import random
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Any, Final

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.errors import UnknownHandler
from asyncjobs.outcome import attempt_entry, error_of, failed
from asyncjobs.registry import DEFAULT_RETRY, Handler, lookup
from asyncjobs.stores.base import Change, Query
from asyncjobs.worker import news
from asyncjobs.worker.held import Flag, Held, monotonic_ms
from asyncjobs.worker.options import WorkerOptions
from asyncjobs.worker.process import ChildProcess, Verdict
from asyncjobs.worker.runner import timeout_of

logger = logging.getLogger("asyncjobs.worker")

LOOK_SECONDS: Final = 1.0  # how often to look at what children hold
IDLE_SECONDS: Final = 2.5  # and when they held nothing
RECORD_SECONDS: Final = 10.0  # how often an idle child says that it lives
YOUNG_MS: Final = 500  # a lease so fresh needs no extension yet
RESCUE_LIMIT: Final = 100
CURRENT_JOBS: Final = 20  # named in a worker's record, at most

Staff = Callable[[], Sequence[ChildProcess]]


class Duty(ABC):
    """Something to be done when it is due."""

    def __init__(self) -> None:
        self.due = 0.0

    @abstractmethod
    def perform(self) -> float:
        """Does it, and answers in how many seconds it is due again."""


class Beating(Duty):
    """Extends the leases of what the children hold, says that they live, and passes on what is ordered of them.

    An order is answered with every beat, and obeyed when it is another one than the child's last.
    """

    def __init__(
        self,
        engine: Engine,
        options: WorkerOptions,
        staff: Staff,
        about: Mapping[str, Any],
        obey: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._store = engine.store
        self._lease = options.lease
        self._staff = staff
        self._about = about
        self._obey = obey

    def perform(self) -> float:
        is_busy = False
        for child in self._staff():
            held = list(child.table.held())
            is_busy = is_busy or bool(held)
            if self._is_time(child, held):
                self._beat(child, held)
        return min(LOOK_SECONDS if is_busy else IDLE_SECONDS, self._lease / 4000)

    def _is_time(self, child: ChildProcess, held: Sequence[Held]) -> bool:
        """Jobs are looked after at every look, because somebody may want one canceled."""
        is_silent = time.monotonic() - child.recorded_at > min(RECORD_SECONDS, self._lease / 3000)
        return is_silent or any(map(_is_old, held))

    def _beat(self, child: ChildProcess, held: Sequence[Held]) -> None:
        by_version = sorted(filter(_is_old, held), key=attrgetter("version"))
        old = {job.id: job for job in by_version}  # of a job that was lost and claimed again, the later run
        versions = {job.id: job.version for job in old.values()}
        beat = self._store.beat(child.id, versions, lease=self._lease, about=self._text(child, held))
        child.recorded_at = time.monotonic()
        if beat.order != child.ordered:
            child.ordered = beat.order
            child.recorded_at = 0.0  # so that it is soon known to have been heard
            self._obey(beat.order)
        flagged = [child.table.flag(old[job_id], Flag.LOST) for job_id in beat.lost]
        flagged += [child.table.flag(job, Flag.LOST) for job in by_version if job is not old[job.id]]
        flagged += [child.table.flag(old[job_id], Flag.CANCEL) for job_id in beat.cancels]
        if any(flagged):
            child.bell.ring()

    def _text(self, child: ChildProcess, held: Sequence[Held]) -> str:
        current = [job.id for job in held if job.is_running]
        facts = {
            "pid": child.pid,
            "jobs": current[:CURRENT_JOBS],
            "running": len(current),
            "memory": child.memory(),
            "claimed_ago": monotonic_ms() - child.table.read("claimed_at"),
            "state": _state(child),
        }
        return json.dumps({**self._about, **facts})


def _state(child: ChildProcess) -> str:
    if child.table.read("order"):
        return "ending"
    return "quiet" if child.table.read("is_quiet") else "working"


def _is_old(held: Held) -> bool:
    return monotonic_ms() - held.held_since >= YOUNG_MS


class Rescuing(Duty):
    """Takes jobs away from workers that fell silent, whoever they were."""

    def __init__(self, engine: Engine, options: WorkerOptions) -> None:
        super().__init__()
        self._engine = engine
        self._lease = options.lease
        self._seldom = options.lease / 3000  # after half a lease without a look nobody is rescued for a whole one

    def perform(self) -> float:
        rescued = self._engine.rescue(limit=RESCUE_LIMIT, lease=self._lease)
        for job in rescued:
            news.rescued(job, handler_of(job))
        if len(rescued) >= RESCUE_LIMIT // 2:
            return 0.0  # there are more, or others are at it, too
        return min(self._seldom, random.uniform(0.5, 0.9)) if self._is_anything_running() else self._seldom

    def _is_anything_running(self) -> bool:
        """What is claimed from now on cannot lapse before a lease is over."""
        return bool(self._engine.find(Query(status=JobStatus.IN_PROGRESS, limit=1)).jobs)


class Burying(Duty):
    """Settles what children held when they ended, and says that they are no more."""

    def __init__(self, engine: Engine, options: WorkerOptions, about: Mapping[str, Any]) -> None:
        super().__init__()
        self._engine = engine
        self._lease = options.lease
        self._about = about
        self._dead: SimpleQueue[ChildProcess] = SimpleQueue()
        self._next: ChildProcess | None = None

    def add(self, child: ChildProcess) -> None:
        self._dead.put(child)

    @property
    def is_done(self) -> bool:
        return self._next is None and self._dead.empty()

    def perform(self) -> float:
        while (child := self._next or self._take()) is not None:
            self._next = child  # until it is settled: the store may fail
            self._settle(child)
            self._next = None
        return LOOK_SECONDS

    def _take(self) -> ChildProcess | None:
        try:
            return self._dead.get_nowait()
        except Empty:
            return None

    def _settle(self, child: ChildProcess) -> None:
        verdicts = child.judgement()
        now = self._engine.store.now()
        changes = [
            change_after(job, verdicts.get(job.id, "left"), now=now) for job in self._engine.store.held(child.id)
        ]
        self._engine.settle(changes)
        for change in changes:
            news.taken_back(change.old, change.new, handler_of(change.old))
        facts = {"pid": child.pid, "state": "ended", "exitcode": child.exitcode}
        self._engine.store.beat(child.id, {}, lease=self._lease, about=json.dumps({**self._about, **facts}))


def change_after(job: Job, verdict: Verdict, *, now: int) -> Change:
    """What becomes of a job whose process is gone."""
    match verdict:
        case "timeout":
            error = timeout_of(job)
            new = failed(job, error, _policy(job), now=now, chance=random.random())
            return Change(job, new, (attempt_entry(job, error_of(error), now=now),))
        case "crashed":
            new = transitions.crash(job, now=now)
            return Change(job, new, (attempt_entry(job, transitions.WORKER_DIED, now=now),))
        case "canceled":
            return Change(job, transitions.cancel(job, now=now))
        case "left":
            gone = job.cancel_requested is not None
            return Change(job, transitions.cancel(job, now=now) if gone else transitions.release(job, now=now))


def handler_of(job: Job) -> Handler[..., Any] | None:
    try:
        return lookup(job.name)
    except UnknownHandler:
        return None


def _policy(job: Job) -> Any:
    handler = handler_of(job)
    return job.retry or (handler.retry if handler else DEFAULT_RETRY)


class Checking(Duty):
    """Heals what was damaged from outside: one worker of all, once in a period."""

    def __init__(self, engine: Engine, period: int) -> None:
        super().__init__()
        self._engine = engine
        self._period = period
        self.due = time.monotonic() + random.uniform(0, 0.2) * period / 1000

    def perform(self) -> float:
        if self._engine.store.turn("check", every=self._period):
            for finding in self._engine.check(fix=True):
                logger.error("%s: %s", finding.code, finding.message, extra={"job_id": finding.job_id or ""})
        return self._period / 1000 * random.uniform(0.3, 0.5)


def about_worker(options: WorkerOptions, version: str) -> dict[str, Any]:
    """What all children of this worker say of themselves."""
    return {
        "name": options.name,
        "host": socket.gethostname(),
        "supervisor": os.getpid(),
        "since": time.time(),
        "version": version,
        "queues": list(options.queues),
        "exclude": list(options.exclude),
        "threads": options.threads,
        "async_concurrency": options.async_concurrency,
    }
