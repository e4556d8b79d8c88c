"""Runs one job: arguments in, handler called, and what became of it."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

from django.db import transaction

from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError
from asyncjobs.errors import JobTimeout
from asyncjobs.outcome import attempt_entry, failed, succeeded
from asyncjobs.registry import Handler
from asyncjobs.signals import job_started, tell
from asyncjobs.stores.base import Change, Entry, Store
from asyncjobs.worker import context as contexts
from asyncjobs.worker.context import Interrupted, JobContext, Reason


class Run:
    """A job in the hands of this process, and what its run makes of it."""

    __slots__ = ("change", "context", "handler", "is_written", "job", "seconds", "since", "slot")

    def __init__(self, job: Job, handler: Handler[..., Any] | None = None, *, slot: int = 0) -> None:
        self.job = job
        self.handler = handler  # None: nobody knows one, and there is no run
        self.slot = slot
        self.since = time.monotonic()  # in hand, then running
        self.context: JobContext | None = None
        self.seconds = 0.0
        self.change: Change | None = None  # None once it ended: there is nothing to write, the job is lost
        self.is_written = False

    @property
    def is_async(self) -> bool:
        return self.handler is not None and self.handler.is_async


NewContext = Callable[[Run], JobContext]


class Runner:
    """Runs what it is given, in the calling thread or task, and never raises."""

    def __init__(
        self,
        store: Store,
        conf: Conf,
        *,
        now: Callable[[], int],
        new_context: NewContext,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._conf = conf
        self._now = now
        self._new_context = new_context
        self._chance = chance

    def run(self, run: Run) -> None:
        self._enter(run)
        try:
            self._begin(run)
            self._call(run)
        except BaseException as error:
            self._ended(run, error)
        run.seconds = time.monotonic() - run.since

    async def arun(self, run: Run) -> None:
        self._enter(run)
        try:
            self._begin(run)
            handler = _handler_of(run)
            args, kwargs = handler.call_of(run.job)
            self._completed(run, await handler.function(*args, **kwargs))
        except BaseException as error:
            self._ended(run, error)
        run.seconds = time.monotonic() - run.since

    def _enter(self, run: Run) -> None:
        run.since = time.monotonic()
        run.context = self._new_context(run)
        contexts.enter(run.context)

    def _begin(self, run: Run) -> None:
        """Unless it was canceled, or lost, while it waited in this process."""
        _of(run).check_cancelled()
        tell(job_started, run.handler, job=run.job)

    def _call(self, run: Run) -> None:
        handler = _handler_of(run)
        args, kwargs = handler.call_of(run.job)
        if not handler.atomic:
            return self._completed(run, handler.function(*args, **kwargs))
        with transaction.atomic(using=self._conf.database):
            self._completed(run, handler.function(*args, **kwargs))
            if self._store.transactional:
                self._write_in_transaction(run)
        run.is_written = self._store.transactional

    def _write_in_transaction(self, run: Run) -> None:
        """The handler's rows and the end of its job commit together, or neither does."""
        assert run.change is not None
        if not all(self._store.swap([run.change])):
            raise Interrupted("lost")

    def _completed(self, run: Run, value: Any) -> None:
        new = succeeded(_of(run).noted_on(run.job), value, now=self._now(), max_result=self._conf.max_result)
        run.change = Change(run.job, new, _of(run).take_lines())

    def _ended(self, run: Run, error: BaseException) -> None:
        context = _of(run)
        reason = _reason_of(error, context)
        if reason == "lost":
            run.change = None
            return
        if context.is_canceled:
            run.job = run.job.replace(cancel_requested=self._now())  # as it is stored by now
        new, entries = self._outcome(context.noted_on(run.job), error, reason, _handler_of(run))
        run.change = Change(run.job, new, (*context.take_lines(), *entries))

    def _outcome(
        self, job: Job, error: BaseException, reason: Reason | None, handler: Handler[..., Any]
    ) -> tuple[Job, tuple[Entry, ...]]:
        now = self._now()
        match reason:
            case "canceled":
                return transitions.cancel(job, now=now), ()
            case "left":
                return transitions.release(job, now=now), ()
            case "snoozed":
                return transitions.snooze(job, now + getattr(error, "delay", 0), now=now), ()
            case "timeout":
                error = timeout_of(job)
        new = failed(job, error, job.retry or handler.retry, now=now, chance=self._chance())
        return new, attempts_of(job, new, now=now)


def timeout_of(job: Job) -> JobTimeout:
    limit = job.soft_timeout_ms or job.timeout_ms or 0
    return JobTimeout(f"the run took longer than {limit / 1000:g} s", job_id=job.id)


def attempts_of(job: Job, new: Job, *, now: int) -> tuple[Entry, ...]:
    """What is to be kept of a run that made `new` of `job`: its error, unless it ended for another reason."""
    error: JobError | None = new.error
    if error is None or error is job.error:
        return ()
    return (attempt_entry(job, error, now=now),)


def _handler_of(run: Run) -> Handler[..., Any]:
    assert run.handler is not None
    return run.handler


def _of(run: Run) -> JobContext:
    assert run.context is not None
    return run.context


def _reason_of(error: BaseException, context: JobContext) -> Reason | None:
    """Why the run was ended from outside, or by its own wish; None for a failure."""
    if isinstance(error, Interrupted):
        return error.reason
    if isinstance(error, asyncio.CancelledError):
        return context.reason()
    return "canceled" if context.is_canceled else None
