"""The supervisor: starts children, watches them, ends them. It runs no handler, and never waits for the store."""

import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Final

from asyncjobs import signals
from asyncjobs.engine import Engine
from asyncjobs.signals import tell
from asyncjobs.worker.child import Child
from asyncjobs.worker.duties import Beating, Burying, Checking, Duty, Rescuing, about_worker
from asyncjobs.worker.held import Flag, Held, Order, monotonic_ms
from asyncjobs.worker.hygiene import let_go
from asyncjobs.worker.keeper import Keeper
from asyncjobs.worker.options import WorkerOptions
from asyncjobs.worker.pipes import Bell
from asyncjobs.worker.process import ChildProcess

logger = logging.getLogger("asyncjobs.worker")

LOOK_SECONDS: Final = 1.0  # how often to look at children that run something
IDLE_SECONDS: Final = 5.0  # and at those that do not
LEAVE_SECONDS: Final = 0.7  # what a child gets to hand back what is left
BURY_SECONDS: Final = 0.6  # what the store gets to take back what dead children held, at the end
PARK_SECONDS: Final = 0.05
RELOAD_SECONDS: Final = 2.0
ENDINGS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SHORT_LIFE: Final = 1.0
FREE_RESTARTS: Final = 2  # of children that die young, before there are pauses
LONGEST_PAUSE: Final = 5.0


class Supervisor:
    """Keeps as many children as the options say, until a signal or their own end says otherwise."""

    def __init__(
        self, engine: Engine, options: WorkerOptions, *, version: str = "", is_stale: Callable[[], bool] | None = None
    ) -> None:
        self._engine = engine
        self._options = options
        self._is_stale = is_stale
        self._bell = Bell()
        self._children: tuple[ChildProcess, ...] = ()
        self._endings = 0  # signals to end received
        self._orders: SimpleQueue[str] = SimpleQueue()  # that came by way of the store
        self._is_quiet = False
        self._is_ending = False
        self._must_reload = False
        self._short_lives = 0
        self._not_before = 0.0  # the next fork
        self._next_look = 0.0
        self._wanted = options.processes
        about = about_worker(options, version)
        self._burying = Burying(engine, options, about)
        self._keeper = Keeper(self._duties(about), lease=options.lease)
        self._keepers = (self._keeper, *self._checkers())

    def run(self) -> bool:
        """Returns when all is over; True if the worker is to start again with new code."""
        with self._signals():
            self._staff()
            for keeper in self._keepers:
                keeper.start()
            tell(signals.worker_started, None, worker=self._options.name)
            while self._goes_on():
                self._bell.wait(self._next_look - time.monotonic())
                self._bell.silence()
            self._close()
        return self._must_reload and not self._endings

    def _duties(self, about: Mapping[str, Any]) -> list[Duty]:
        beating = Beating(self._engine, self._options, lambda: self._children, about, self._take_order)
        duties: list[Duty] = [self._burying, beating]
        if self._options.is_housekeeping:
            duties.append(Rescuing(self._engine, self._options))
        return duties

    def _checkers(self) -> list[Keeper]:
        """A check of a million jobs takes longer than a lease, so it has a thread of its own.

        That one does not stand still for a fork: it talks to Redis alone, whose client knows of forks.

        What commits with its job cannot come to disagree with it, and is not checked.
        """
        period = self._options.check_every
        if not self._options.is_housekeeping or period is None or self._engine.store.transactional:
            return []
        return [Keeper([Checking(self._engine, period)], lease=self._options.lease)]

    def _goes_on(self) -> bool:
        """Looks at everything, and whether there is anything left to wait for."""
        self._heed_orders()
        self._heed_signals()
        self._reload_if_stale()
        self._next_look = time.monotonic() + IDLE_SECONDS
        for child in self._children:
            self._judge(child)
            self._press(child)
        self._reap()
        self._staff()
        return bool(self._children) or not self._is_ending

    def _take_order(self, order: str) -> None:
        """What is ordered of one child is for the whole worker. Called by the keeper's thread."""
        self._orders.put(order)
        self._bell.ring()

    def _heed_orders(self) -> None:
        while not self._orders.empty():
            match self._orders.get():
                case "stop":
                    self._endings = self._endings or 1
                case "quiet" | "work" as order:
                    self._hush(is_quiet=order == "quiet")

    def _hush(self, *, is_quiet: bool) -> None:
        if is_quiet != self._is_quiet:
            logger.info("taking no more jobs" if is_quiet else "taking jobs again")
        self._is_quiet = is_quiet
        for child in self._children:
            child.hush(is_quiet=is_quiet)

    def _heed_signals(self) -> None:
        if self._endings and (not self._is_ending or self._must_reload):
            self._must_reload = False
            self._end(self._options.grace / 1000)
        elif self._endings > 1:
            for child in self._children:
                child.leave_at = min(child.leave_at or time.monotonic(), time.monotonic())

    def _end(self, grace: float) -> None:
        self._is_ending = True
        logger.info("finishing what runs, for up to %g s", grace)
        tell(signals.worker_stopping, None, worker=self._options.name)
        for child in self._children:
            self._retire(child, grace)

    def _retire(self, child: ChildProcess, grace: float) -> None:
        """Has the child claim no more and end, in that time."""
        child.leave_at = child.leave_at or time.monotonic() + grace
        child.order(Order.FINISH)

    def _press(self, child: ChildProcess) -> None:
        """Insists, when a child that is to end takes too long."""
        now = time.monotonic()
        if child.kill_at is None and child.leave_at is not None and now >= child.leave_at:
            child.kill_at = now + LEAVE_SECONDS
            child.order(Order.LEAVE)
        if child.kill_at is not None and now >= child.kill_at:
            child.kill()
            self._look_by(now + PARK_SECONDS)
        self._look_by(*(moment for moment in (child.leave_at, child.kill_at) if moment is not None and moment > now))

    def _judge(self, child: ChildProcess) -> None:
        """Kills a child one of whose jobs is past its time, and retires one that has grown too big."""
        now = monotonic_ms()
        # Before the look at what is held: whatever begins after it, and is due before then, rings.
        child.table.write("look_at", now + int(IDLE_SECONDS * 1000))
        for held in child.table.held():
            if held.is_running:
                self._judge_job(child, held, now)
        if child.verdicts:
            child.kill()
        elif self._options.max_memory is not None and child.memory() > self._options.max_memory:
            self._retire(child, self._options.grace / 1000)

    def _judge_job(self, child: ChildProcess, held: Held, now: int) -> None:
        if held.deadline and now >= held.deadline:
            child.verdicts[held.id] = "timeout"
        elif self._is_past_cancel(child, held, now):
            child.verdicts[held.id] = "canceled"
        self._look_by(time.monotonic() + LOOK_SECONDS)
        if held.deadline:
            self._look_by(held.deadline / 1000)

    def _look_by(self, *moments: float) -> None:
        self._next_look = min((self._next_look, *moments))

    def _is_past_cancel(self, child: ChildProcess, held: Held, now: int) -> bool:
        if self._options.kill_on_cancel is None or not held.flags & Flag.CANCEL:
            return False
        asked_at = child.canceled_at.setdefault((held.id, held.version), now)
        return now - asked_at >= self._options.kill_on_cancel

    def _reap(self) -> None:
        ended = [child for child in self._children if child.has_ended()]
        if not ended:
            return
        self._children = tuple(child for child in self._children if child not in ended)
        for child in ended:
            self._mourn(child)
            self._burying.add(child)
        self._keeper.hurry(self._burying)

    def _mourn(self, child: ChildProcess) -> None:
        tell(signals.child_ended, None, worker=child.id, pid=child.pid, exitcode=child.exitcode)
        if child.exitcode == 0 and child.table.read("has_drained") and self._options.burst:
            self._wanted -= 1
            self._is_ending = self._is_ending or not self._wanted
        if child.exitcode == 0 or child.verdicts or child.kill_at is not None:
            self._short_lives = 0
            return
        logger.error("child %d ended by itself: exit code %s", child.pid, child.exitcode)
        has_lived = time.monotonic() - child.started_at > SHORT_LIFE
        self._short_lives = 0 if has_lived else self._short_lives + 1
        if self._short_lives > FREE_RESTARTS:
            self._not_before = time.monotonic() + min(LONGEST_PAUSE, 0.1 * 2.0**self._short_lives)

    def _staff(self) -> None:
        """Starts the children that are missing, while the keeper stands still."""
        missing = self._wanted - len(self._children)
        if missing < 1 or not self._may_start():
            return
        self._look_by(max(self._not_before, time.monotonic() + PARK_SECONDS))
        if time.monotonic() < self._not_before or not self._keeper.park(patience=PARK_SECONDS):
            return
        try:
            let_go()
            for _ in range(missing):
                self._children = (*self._children, self._start())
        except OSError as error:  # of processes, memory or descriptors there are no more at the moment
            logger.error("no child can be started now: %s", error)
            self._not_before = time.monotonic() + LONGEST_PAUSE
        finally:
            self._keeper.go_on()

    def _may_start(self) -> bool:
        """In a burst, not before the jobs of the dead are back in their queues."""
        return not self._is_ending and (not self._options.burst or self._burying.is_done)

    def _start(self) -> ChildProcess:
        child = ChildProcess(self._options.slots)
        child.hush(is_quiet=self._is_quiet)
        child.start(lambda: self._work(child))
        tell(signals.child_started, None, worker=child.id, pid=child.pid)
        return child

    def _work(self, child: ChildProcess) -> None:
        """What the forked process does."""
        Child(
            self._engine,
            self._options,
            worker=child.id,
            table=child.table,
            bell=child.bell,
            supervisor=self._bell,
        ).run()

    def _reload_if_stale(self) -> None:
        if self._is_stale is None or self._is_ending:
            return
        if self._is_stale():
            logger.info("the code has changed: starting again")
            self._must_reload = True
            self._end(min(RELOAD_SECONDS, self._options.grace / 1000))
        self._look_by(time.monotonic() + LOOK_SECONDS)

    def _close(self) -> None:
        end = time.monotonic() + 2 * BURY_SECONDS
        while not self._burying.is_done and time.monotonic() < end - BURY_SECONDS:
            self._bell.wait(0.01)
        for keeper in self._keepers:
            keeper.stop(patience=max(0.0, end - time.monotonic()))
        tell(signals.worker_stopped, None, worker=self._options.name)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Handlers only count; what is to be done about it is done in `_goes_on`."""
        handlers: dict[int, Any] = dict.fromkeys(ENDINGS, self._count_ending)
        handlers[signal.SIGCHLD] = lambda number, frame: None  # or it would not wake the wait
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        descriptor = signal.set_wakeup_fd(self._bell.listen_to_signals(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _count_ending(self, number: int, frame: Any) -> None:
        self._endings += 1
