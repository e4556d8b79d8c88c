"""Where handlers run: sync ones on threads, async ones on one event loop."""

import asyncio
import logging
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import Final

from asgiref.sync import sync_to_async

from asyncjobs.worker.context import Reason
from asyncjobs.worker.hygiene import tidy
from asyncjobs.worker.pace import AHEAD_SECONDS, Pace
from asyncjobs.worker.runner import Run, Runner

logger = logging.getLogger("asyncjobs.worker")

TIDY_SECONDS: Final = 1.0

Ended = Callable[[Run], None]


class Pool(ABC):
    """So many places in which runs go on, and the runs that wait for one."""

    def __init__(self, places: int, runner: Runner, ended: Ended) -> None:
        self.places = places
        self._runner = runner
        self._ended = ended
        self._pace = Pace()

    @abstractmethod
    def put(self, runs: Iterable[Run]) -> None:
        """Has these runs go on, as places become free."""

    @abstractmethod
    def take_back(self) -> list[Run]:
        """Those that have not begun: they will not."""

    @abstractmethod
    def running(self) -> list[Run]:
        """Those that go on at this moment."""

    @abstractmethod
    def waiting(self) -> int:
        """How many have not begun."""

    def wanted(self) -> int:
        """How many more it could use."""
        running = self.running()
        if self._is_stuck(running):
            return 0
        return max(0, self.places - len(running) + self._pace.ahead(self.places) - self.waiting())

    def take_back_stuck(self) -> list[Run]:
        """Those that have not begun, if all places have been taken for longer than anything should wait."""
        return self.take_back() if self.waiting() and self._is_stuck(self.running()) else []

    def _is_stuck(self, running: list[Run]) -> bool:
        if len(running) < self.places:
            return False
        return time.monotonic() - max(run.since for run in running) > AHEAD_SECONDS


class ThreadPool(Pool):
    """Threads that take runs off one queue. Each run sees contextvars as they were when the thread began."""

    def __init__(self, places: int, runner: Runner, ended: Ended) -> None:
        super().__init__(places, runner, ended)
        self._queue: queue.SimpleQueue[Run] = queue.SimpleQueue()
        self._running: list[Run | None] = [None] * places
        for place in range(places):
            threading.Thread(target=self._work, args=(place,), daemon=True, name=f"asyncjobs-{place}").start()

    def put(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self._queue.put(run)

    def take_back(self) -> list[Run]:
        taken: list[Run] = []
        try:
            while True:
                taken.append(self._queue.get_nowait())
        except queue.Empty:
            return taken

    def running(self) -> list[Run]:
        return [run for run in self._running if run is not None]

    def waiting(self) -> int:
        return self._queue.qsize()

    def _work(self, place: int) -> None:
        pristine, take, running, run_one = copy_context(), self._queue.get, self._running, self._runner.run
        while True:
            run = running[place] = take()
            tidy()
            try:
                pristine.copy().run(run_one, run)
            except BaseException:  # a defect of ours: without its end, the job would be held for ever
                logger.exception("%s ended without an end", run.job.name, extra={"job_id": run.job.id})
            tidy()
            self._pace.ran(run.seconds)
            running[place] = None
            self._ended(run)


class LoopPool(Pool):
    """Tasks on an event loop in a thread of its own."""

    def __init__(self, places: int, runner: Runner, ended: Ended) -> None:
        super().__init__(places, runner, ended)
        self._waiting: deque[Run] = deque()
        self._tasks: dict[Run, asyncio.Task[None]] = {}
        self._pristine = copy_context()
        self._tidied_at = time.monotonic()
        self._loop = asyncio.new_event_loop()
        self._is_started = False
        self._is_over = False

    def put(self, runs: Iterable[Run]) -> None:
        self._waiting.extend(runs)
        if self._waiting:
            self._start()
            self._loop.call_soon_threadsafe(self._fill)

    def _start(self) -> None:
        """A worker without async handlers has no such thread."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._turn, daemon=True, name="asyncjobs-loop").start()

    def stop(self) -> None:
        """Ends the loop, for those whose process goes on."""
        self._is_over = True
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _turn(self) -> None:
        """`SystemExit` in a task that a handler has started leaves the loop, and so does who stops it."""
        while not self._is_over:
            try:
                self._loop.run_forever()
            except BaseException:
                logger.exception("a handler has stopped the event loop, which goes on")

    def take_back(self) -> list[Run]:
        taken: list[Run] = []
        try:
            while True:
                taken.append(self._waiting.popleft())
        except IndexError:
            return taken

    def running(self) -> list[Run]:
        return list(self._tasks)

    def waiting(self) -> int:
        return len(self._waiting)

    def cancel(self, run: Run, reason: Reason) -> None:
        """Ends this run from outside, if it still goes on."""
        self._loop.call_soon_threadsafe(self._cancel, run, reason)

    def _fill(self) -> None:
        while len(self._tasks) < self.places:
            try:
                run = self._waiting.popleft()
            except IndexError:
                return
            self._tasks[run] = self._loop.create_task(self._run(run), context=self._pristine.copy())

    async def _run(self, run: Run) -> None:
        limits = [limit for limit in (run.job.soft_timeout_ms, run.job.timeout_ms) if limit]
        alarm = self._loop.call_later(min(limits) / 1000, self._cancel, run, "timeout") if limits else None
        await self._runner.arun(run)
        if alarm is not None:
            alarm.cancel()
        del self._tasks[run]
        self._pace.ran(run.seconds)
        self._ended(run)
        self._fill()
        await self._tidy()

    def _cancel(self, run: Run, reason: Reason) -> None:
        task = self._tasks.get(run)
        if task is not None and run.context is not None:
            run.context.ended_by = reason
            task.cancel()

    async def _tidy(self) -> None:
        """What Django does at the end of a request, in the thread where async code uses the database."""
        if time.monotonic() - self._tidied_at > TIDY_SECONDS:
            self._tidied_at = time.monotonic()
            await sync_to_async(tidy)()
