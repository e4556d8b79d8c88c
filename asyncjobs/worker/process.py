"""A child process, as the supervisor knows it."""

import ctypes
import gc
import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal
from uuid import uuid4

from django.db import connections

from asyncjobs.worker.held import HeldTable, Order, monotonic_ms
from asyncjobs.worker.pipes import Bell

logger = logging.getLogger("asyncjobs.worker")

Verdict = Literal["timeout", "canceled", "crashed", "left"]

DEFECT: Final = 70  # a child ends so when this package is at fault
_PR_SET_PDEATHSIG: Final = 1
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class ChildProcess:
    """Forked from the supervisor, in a session of its own, so that it can be killed with all it started."""

    def __init__(self, slots: int) -> None:
        self.id = str(uuid4())  # what the store knows it by; new for every process
        self.table = HeldTable(slots)
        self.table.write("claimed_at", monotonic_ms())  # or it would seem never to have been answered
        self.bell = Bell()
        self.pid = 0
        self.exitcode: int | None = None
        self.verdicts: dict[str, Verdict] = {}  # by job id: why the supervisor killed this process
        self.canceled_at: dict[tuple[str, int], int] = {}  # by id and version, when it was first seen so
        self.started_at = time.monotonic()
        self.recorded_at = 0.0  # when the store was last told of it
        self.ordered = ""  # what the store last had for it
        self.leave_at: float | None = None  # when it is to hand back what is left
        self.kill_at: float | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Forks. The caller sees to it that no thread holds a lock at this moment."""
        supervisor = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()  # so that the collector touches, and copies, no page of the parent's
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads beside a fork: they are parked
            self.pid = os.fork()
        if self.pid == 0:
            _work_and_exit(work, supervisor)
        gc.unfreeze()

    def order(self, order: Order) -> None:
        """Orders become more urgent, never less."""
        if order > self.table.read("order"):
            self.table.write("order", order)
        self.bell.ring()

    def hush(self, *, is_quiet: bool) -> None:
        """Has it claim no more for the time being, or claim again."""
        self.table.write("claimed_at", monotonic_ms())  # or it would seem to have asked in vain all the while
        self.table.write("is_quiet", is_quiet)
        self.bell.ring()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Whether it has; never waits."""
        if self.exitcode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exitcode = os.waitstatus_to_exitcode(status)
                if self.exitcode:
                    self._kill_orphans()
        return self.exitcode is not None

    def judgement(self) -> dict[str, Verdict]:
        """By job id: why jobs that were held here when the process ended have no end of their own.

        Where it died by itself, what ran is to blame; if nothing ran, what had just ended.
        """
        if self.verdicts or self.kill_at is not None:
            return self.verdicts
        held = list(self.table.held())
        suspects = [job for job in held if job.is_running] or [job for job in held if job.has_ended]
        return {job.id: "crashed" for job in suspects}

    def memory(self) -> int:
        """Bytes of RAM it takes; 0 where that cannot be told."""
        return memory_of(self.pid)

    def _kill_orphans(self) -> None:
        """What its handlers had started when it died."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def memory_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def _work_and_exit(work: Callable[[], None], supervisor: int) -> None:
    code = DEFECT
    try:
        _become_child(supervisor)
        work()
        code = 0
    except BaseException:
        logger.exception("a child of the worker ends because of a defect")
    finally:
        with suppress(Exception):
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _become_child(supervisor: int) -> None:
    os.setsid()
    _die_with_parent(supervisor)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The supervisor decides. A function, since what a handler starts would inherit that a signal is ignored.
        signal.signal(ending, lambda number, frame: None)
    connections.close_all()


def _die_with_parent(supervisor: int) -> None:
    """A child without a supervisor would run jobs whose leases nobody extends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(DEFECT)
