"""A child: claims jobs, has them run, and settles what became of them, all in one round trip a turn."""

import logging
import os
import random
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from asyncjobs.conf import OTHER_QUEUES
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError, StoreError, StoreOutOfMemory, StoreUnavailable, UnknownHandler
from asyncjobs.outcome import error_of
from asyncjobs.registry import handlers, is_internal, lookup
from asyncjobs.stores.base import Change
from asyncjobs.worker import news
from asyncjobs.worker.clock import Clock
from asyncjobs.worker.crew import Crew, patience_ms
from asyncjobs.worker.hands import Hands
from asyncjobs.worker.held import Flag, HeldTable, Order, monotonic_ms
from asyncjobs.worker.inbox import Inbox
from asyncjobs.worker.options import Queues, WorkerOptions
from asyncjobs.worker.outbox import Letter, Outbox, sent_alone
from asyncjobs.worker.pace import AHEAD_SECONDS
from asyncjobs.worker.pipes import Bell
from asyncjobs.worker.runner import Run, Runner

logger = logging.getLogger("asyncjobs.worker")

IDLE_MS: Final = 5_000  # how long to wait for work before looking anyway
NOTE_SECONDS: Final = 0.5  # how often progress and log lines are stored
ASK_SECONDS: Final = 5.0  # how often the time and the names of queues are asked for
LAST_WORDS_SECONDS: Final = 0.3  # what handlers get to end by themselves, when all is given back
LONGEST_PAUSE: Final = 5.0
FALSE_ALARM_SECONDS: Final = 0.005
FREE_ALARMS: Final = 3
LONGEST_ALARM_PAUSE: Final = 0.25
PARK_MS: Final = (5_000, 300_000)  # shortest and longest time until a handler that nobody knows is looked for again
SUSPECT_PAUSES: Final = 2  # how many times as long as it was waited for, a suspect is let alone


class Child:
    """Works until the supervisor, or its own options, say that it is over."""

    def __init__(
        self, engine: Engine, options: WorkerOptions, *, worker: str, table: HeldTable, bell: Bell, supervisor: Bell
    ) -> None:
        self._engine = engine
        self._store = engine.store
        self._options = options
        self._worker = worker
        self._table = table
        self._bell = bell
        self._parent = os.getppid()
        self._clock = Clock()
        self._inbox = Inbox(table, self._clock, bell=bell, supervisor=supervisor)
        self._queues = Queues(options.queues, options.exclude)
        runner = Runner(self._store, engine.conf, now=self._clock.now, new_context=self._inbox.new_context)
        self._crew = Crew(options, runner, self._inbox.end)
        self._hands = Hands(table)
        self._outbox = Outbox()
        self._next_note = 0.0
        self._next_ask = 0.0
        self._started = 0
        self._is_in_doubt = False  # an answer was lost: the store may have leased jobs to us that we do not know of
        self._has_drained = False
        self._failures = 0
        self._false_alarms = 0  # in a row: told that there is work, and given none

    def run(self) -> None:
        while not self._is_over():
            try:
                self._take_turn()
            except AsyncJobsError as error:
                self._pause_after(error)

    def _take_turn(self) -> None:
        self._heed()
        self._ask()
        if self._is_in_doubt:
            self._recover()
        self._collect()
        limit = self._limit()
        answered = self._exchange(limit) if limit or self._outbox else False
        if not answered and (self._hands or not self._is_finishing()):
            self._rest(limit)

    def _is_over(self) -> bool:
        if self._table.read("order") == Order.LEAVE:
            self._leave()
            return True
        return self._is_finishing() and not self._hands and not self._outbox

    def _is_finishing(self) -> bool:
        if self._table.read("order") != Order.WORK or (self._options.burst and self._has_drained):
            return True
        return self._options.max_jobs is not None and self._started >= self._options.max_jobs

    def _heed(self) -> None:
        """Passes on what the supervisor has learned of jobs in hand."""
        if not self._bell.silence():
            return
        for run in self._hands.runs():
            flags = self._table.flags(run.slot)
            if flags:
                self._crew.interrupt(run, "lost" if flags & Flag.LOST else "canceled")

    def _ask(self) -> None:
        if time.monotonic() < self._next_ask:
            return
        if os.getppid() != self._parent:
            sys.exit("the supervisor is gone, and nobody extends leases")
        self._clock.ask(self._store)
        if self._queues.is_open:
            known = {counts.queue for counts in self._engine.counts()}
            self._queues.learn(known | declared_queues(self._engine))
        self._next_ask = time.monotonic() + ASK_SECONDS * random.uniform(0.9, 1.1)

    def _collect(self) -> None:
        """Gathers what the store is to be told: ends of runs, notes on those that go on, jobs to hand back."""
        for run in self._inbox.ended():
            self._crew.ended(run)
            self._end(run)
        if self._table.read("order") != Order.WORK or self._table.read("is_quiet"):
            self._give_back(self._crew.take_back())
        else:
            self._give_back(self._crew.take_back_stuck())
            self._crew.start_suspect()
            self._snooze(self._crew.take_back_stuck_suspects())
        if self._inbox.has_notes and time.monotonic() >= self._next_note:
            self._note()

    def _end(self, run: Run) -> None:
        if run.change is None:
            self._settled(Letter(Change(run.job, run.job), run), is_written=False)
        elif run.is_written:
            self._engine.note_finished(1)
            self._settled(Letter(run.change, run), is_written=True)
        else:
            self._outbox.ended(run, run.change)

    def _give_back(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self._outbox.end(run, transitions.release(run.job, now=self._clock.now()))

    def _snooze(self, runs: Iterable[Run]) -> None:
        for run in runs:
            now = self._clock.now()
            self._outbox.end(run, transitions.snooze(run.job, now + SUSPECT_PAUSES * patience_ms(run.job), now=now))

    def _note(self) -> None:
        self._next_note = time.monotonic() + NOTE_SECONDS
        for run, context in self._inbox.noted():
            noted = context.noted_on(run.job)
            new = noted if noted is run.job else noted.replace(updated_at=self._clock.now())
            self._outbox.note(run, new, context.take_lines())

    def _limit(self) -> int:
        if self._is_finishing() or self._table.read("is_quiet"):
            return 0
        limit = min(self._crew.wanted(), self._hands.room)
        if self._options.max_jobs is not None:
            limit = min(limit, self._options.max_jobs - self._started)
        return limit

    def _exchange(self, limit: int) -> bool:
        """Tells the store what there is to tell, and takes new jobs; whether there was anything of either."""
        letters = self._outbox.next()
        try:
            written, claimed = self._engine.exchange(
                [letter.change for letter in letters],
                self._queues.names() if limit else (),
                worker=self._worker,
                limit=limit,
                lease=self._options.lease,
            )
        except (StoreUnavailable, StoreOutOfMemory):
            raise
        except StoreError as error:
            if not letters:
                raise
            logger.warning("a batch was refused, and is now sent one by one: %s", error)
            self._is_in_doubt = True  # the claim beside it may have been done
            self._send_one_by_one()
            return True
        self._outbox.delivered(len(letters))
        for letter, is_written in zip(letters, written, strict=True):
            self._settled(letter, is_written=is_written)
        if limit:
            self._claimed(claimed)
        return bool(letters or claimed)

    def _send_one_by_one(self) -> None:
        while self._outbox:
            letter, is_written = sent_alone(self._store, self._outbox.next()[0], now=self._clock.now())
            self._outbox.delivered(1)
            self._settled(letter, is_written=is_written)

    def _settled(self, letter: Letter, *, is_written: bool) -> None:
        run, (old, new, _) = letter.run, letter.change
        if not is_written:
            news.lost(old, run.handler)
        elif letter.is_end:
            news.settled(old, new, run.handler, run.seconds)
        if letter.is_end:
            self._hands.drop(run)
        elif not is_written:
            self._crew.interrupt(run, "lost")

    def _claimed(self, jobs: Sequence[Job]) -> None:
        self._table.write("claimed_at", monotonic_ms())
        self._has_drained = not jobs and not self._hands
        self._table.write("has_drained", self._has_drained)
        self._failures = 0
        if jobs:
            self._false_alarms = 0
            self._take(jobs)

    def _take(self, jobs: Iterable[Job]) -> None:
        held = map(self._hands.hold, jobs)
        runs = [run for run in held if self._can_run(run)]
        self._started += len(runs)
        self._crew.put(runs)

    def _can_run(self, run: Run) -> bool:
        """If not, its end is written: it was canceled meanwhile, or nobody knows how to run it."""
        job = run.job
        try:
            run.handler = lookup(job.name)
        except UnknownHandler as error:
            self._outbox.end(run, _parked(job, error, now=self._clock.now()))
            return False
        if job.cancel_requested is not None:
            self._outbox.end(run, transitions.cancel(job, now=self._clock.now()))
            return False
        return True

    def _recover(self) -> None:
        """Takes in hand what the store leased to us in an answer that never came."""
        self._take(self._hands.unknown(self._store.held(self._worker)))
        self._is_in_doubt = False

    def _rest(self, limit: int) -> None:
        """Until there is work, a run ends, or the supervisor wants something."""
        with self._inbox.resting() as is_over:
            if is_over:
                return
            patience = self._patience()
            if limit:
                self._wait_for_work(patience)
            else:
                self._bell.wait(patience)

    def _wait_for_work(self, patience: float) -> None:
        began = time.monotonic()
        self._store.wait(self._queues.names(), timeout=int(patience * 1000), wake=self._bell.fd)
        if time.monotonic() - began > FALSE_ALARM_SECONDS:
            self._false_alarms = 0
            return
        # Somebody may be about to change what is ready, so that it can be seen and not claimed.
        self._false_alarms += 1
        if self._false_alarms > FREE_ALARMS:
            self._bell.wait(min(LONGEST_ALARM_PAUSE, FALSE_ALARM_SECONDS * 2.0**self._false_alarms))

    def _patience(self) -> float:
        if self._crew.is_waiting():
            return AHEAD_SECONDS
        if self._inbox.has_notes:
            return max(0.001, self._next_note - time.monotonic())
        return IDLE_MS / 1000

    def _pause_after(self, error: AsyncJobsError) -> None:
        self._is_in_doubt = True
        self._failures += 1
        pause = min(LONGEST_PAUSE, 0.1 * 2 ** min(self._failures, 10)) * random.uniform(0.5, 1)
        logger.warning("the store failed, next try in %.1f s: %s", pause, error)
        self._bell.wait(pause)

    def _leave(self) -> None:
        """Hands back all that is left. What goes on meanwhile counts no more."""
        for run in self._crew.running():
            self._crew.interrupt(run, "left")
        end = time.monotonic() + LAST_WORDS_SECONDS
        with self._inbox.resting():
            while self._crew.running() and time.monotonic() < end:
                self._bell.silence()
                self._bell.wait(end - time.monotonic())
        self._collect()
        self._give_back([run for run in self._hands.runs() if not self._outbox.has_end_of(run)])
        with suppress(AsyncJobsError):
            while self._outbox:
                self._exchange(0)


def declared_queues(engine: Engine) -> set[str]:
    """Queues that may get jobs without anybody having used them yet. Each costs every claim a look."""
    webhooks = engine.conf.api.webhooks
    of_handlers = {handler.options.queue for handler in handlers() if not is_internal(handler)}
    return of_handlers | engine.conf.queues.keys() - {OTHER_QUEUES} | ({webhooks.queue} if webhooks.hosts else set())


def _parked(job: Job, error: UnknownHandler, *, now: int) -> Job:
    """Put off for half of its age: an old job is not looked at all the time."""
    shortest, longest = PARK_MS
    wait = min(max(shortest, (now - job.created_at) // 2), longest)
    return transitions.snooze(job, now + wait, error=error_of(error), now=now)
