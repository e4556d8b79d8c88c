"""A child: claims jobs, has them run, and settles what became of them, all in one round trip a turn."""

import logging
import random
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError, StoreError, StoreOutOfMemory, StoreUnavailable, UnknownHandler
from asyncjobs.outcome import error_of
from asyncjobs.registry import lookup
from asyncjobs.stores.base import Change
from asyncjobs.worker import news
from asyncjobs.worker.clock import Clock
from asyncjobs.worker.context import JobContext
from asyncjobs.worker.crew import Crew
from asyncjobs.worker.held import Flag, HeldTable, Order, monotonic_ms
from asyncjobs.worker.options import Queues, WorkerOptions
from asyncjobs.worker.outbox import Letter, refused_alone
from asyncjobs.worker.pace import AHEAD_SECONDS
from asyncjobs.worker.pipes import Bell
from asyncjobs.worker.runner import Run, Runner

logger = logging.getLogger("asyncjobs.worker")

IDLE_MS: Final = 5_000  # how long to wait for work before looking anyway
NOTE_SECONDS: Final = 0.5  # how often progress and log lines are stored
ASK_SECONDS: Final = 5.0  # how often the time and the names of queues are asked for
LAST_WORDS_SECONDS: Final = 0.3  # what handlers get to end by themselves, when all is given back
LONGEST_PAUSE: Final = 5.0
PARK_MS: Final = (5_000, 300_000)  # shortest and longest time until a handler that nobody knows is looked for again
SUSPECT_MS: Final = 2_000  # until a suspect that cannot run alone now is tried again
SUSPECT_PATIENCE: Final = (0.2, 0.1)  # seconds that it waits for what runs to end, and the share of its age
KILL_MARGIN_MS: Final = 400  # what a coroutine gets to end, canceled for its timeout


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
        self._supervisor = supervisor
        self._clock = Clock()
        self._queues = Queues(options.queues, options.exclude)
        runner = Runner(self._store, engine.conf, now=self._clock.now, new_context=self._new_context)
        self._crew = Crew(options, runner, self._ended)
        self._held: dict[int, Run] = {}  # by slot: a job that was lost may be claimed again while its first run goes on
        self._free = list(range(table.slots))
        self._finished: deque[Run] = deque()
        self._noted: dict[JobContext, Run] = {}
        self._letters: list[Letter] = []
        self._next_note = 0.0
        self._next_ask = 0.0
        self._started = 0
        self._is_resting = False
        self._is_in_doubt = False  # an answer was lost: the store may have leased jobs to us that we do not know of
        self._has_drained = False
        self._failures = 0

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
        answered = self._exchange(limit) if limit or self._letters else False
        if not answered and (self._held or not self._is_finishing()):
            self._rest(limit)

    def _is_over(self) -> bool:
        if self._table.read("order") == Order.LEAVE:
            self._leave()
            return True
        return self._is_finishing() and not self._held and not self._letters

    def _is_finishing(self) -> bool:
        if self._table.read("order") != Order.WORK or (self._options.burst and self._has_drained):
            return True
        return self._options.max_jobs is not None and self._started >= self._options.max_jobs

    def _heed(self) -> None:
        """Passes on what the supervisor has learned of jobs in hand."""
        if not self._bell.silence():
            return
        for run in list(self._held.values()):
            flags = self._table.flags(run.slot)
            if flags:
                self._crew.interrupt(run, "lost" if flags & Flag.LOST else "canceled")

    def _ask(self) -> None:
        if time.monotonic() < self._next_ask:
            return
        self._clock.ask(self._store)
        if self._queues.is_open:
            known = {counts.queue for counts in self._engine.counts()}
            self._queues.learn(known | self._engine.conf.queues.keys())
        self._next_ask = time.monotonic() + ASK_SECONDS * random.uniform(0.9, 1.1)

    def _collect(self) -> None:
        """Gathers what the store is to be told: ends of runs, notes on those that go on, jobs to hand back."""
        while self._finished:
            run = self._finished.popleft()
            if run.context is not None:
                self._noted.pop(run.context, None)
            self._end(run)
        if self._table.read("order") != Order.WORK:
            self._give_back(self._crew.take_back())
        else:
            self._give_back(self._crew.take_back_stuck())
            self._crew.start_suspect()
            self._snooze(self._crew.take_back_suspects(self._is_late))
        if self._noted and time.monotonic() >= self._next_note:
            self._note()

    def _end(self, run: Run) -> None:
        if run.is_written and run.change is not None:
            self._settled(Letter(run.change, run), is_written=True)
        elif run.change is None:
            self._settled(Letter(Change(run.job, run.job), run), is_written=False)
        else:
            self._letters.append(Letter(run.change, run))

    def _give_back(self, runs: Iterable[Run]) -> None:
        now = self._clock.now()
        for run in runs:
            self._letters.append(Letter(Change(run.job, transitions.release(run.job, now=now)), run))

    def _snooze(self, runs: Iterable[Run]) -> None:
        now = self._clock.now()
        for run in runs:
            self._letters.append(Letter(Change(run.job, transitions.snooze(run.job, now + SUSPECT_MS, now=now)), run))

    def _is_late(self, run: Run) -> bool:
        """While a suspect waits, nothing is claimed. The older it is, the longer, or it would be put off for ever."""
        shortest, share = SUSPECT_PATIENCE
        age = (self._clock.now() - run.job.created_at) / 1000
        return time.monotonic() - run.since > max(shortest, share * age)

    def _note(self) -> None:
        self._next_note = time.monotonic() + NOTE_SECONDS
        now = self._clock.now()
        for context, run in list(self._noted.items()):
            del self._noted[context]
            note = context.noted_on(run.job)
            new = note if note is run.job else note.replace(updated_at=now)
            self._letters.append(Letter(Change(run.job, new, context.take_lines()), run, is_end=False))

    def _limit(self) -> int:
        if self._is_finishing():
            return 0
        limit = min(self._crew.wanted(), len(self._free))
        if self._options.max_jobs is not None:
            limit = min(limit, self._options.max_jobs - self._started)
        return limit

    def _exchange(self, limit: int) -> bool:
        """Tells the store what there is to tell, and takes new jobs; whether there was anything of either."""
        letters = self._letters
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
            self._send_one_by_one()
            return True
        self._letters = []
        for letter, is_written in zip(letters, written, strict=True):
            self._settled(letter, is_written=is_written)
        if limit:
            self._claimed(claimed)
        return bool(letters or claimed)

    def _send_one_by_one(self) -> None:
        while self._letters:
            letter, is_written = refused_alone(self._store, self._letters[0], now=self._clock.now())
            del self._letters[0]
            self._settled(letter, is_written=bool(is_written))

    def _settled(self, letter: Letter, *, is_written: bool) -> None:
        run, (old, new, _) = letter.run, letter.change
        if not is_written:
            news.lost(old, run.handler)
        elif letter.is_end:
            news.settled(old, new, run.handler, run.seconds)
        if letter.is_end:
            del self._held[run.slot]
            self._table.drop(run.slot)
            self._free.append(run.slot)
            self._table.write("count", len(self._held))
        elif not is_written:
            self._crew.interrupt(run, "lost")

    def _claimed(self, jobs: Sequence[Job]) -> None:
        self._table.write("claimed_at", monotonic_ms())
        self._has_drained = not jobs and not self._held
        self._table.write("has_drained", self._has_drained)
        self._failures = 0
        if jobs:
            self._take(jobs)

    def _take(self, jobs: Sequence[Job]) -> None:
        now, runs = monotonic_ms(), []
        for job in jobs:
            run = self._hold(job, now)
            if run is not None:
                runs.append(run)
        self._table.write("count", len(self._held))
        self._started += len(runs)
        self._crew.put(runs)

    def _hold(self, job: Job, now: int) -> Run | None:
        """The job's run, unless it ends here: it was canceled meanwhile, or nobody knows how to run it."""
        run = Run(job, slot=self._free.pop())
        self._held[run.slot] = run
        self._table.hold(run.slot, job, now)
        try:
            run.handler = lookup(job.name)
        except UnknownHandler as error:
            logger.warning("%s", error, extra={"job_id": job.id})
            self._letters.append(Letter(Change(job, _parked(job, error, now=self._clock.now())), run))
            return None
        if job.cancel_requested is not None:
            self._letters.append(Letter(Change(job, transitions.cancel(job, now=self._clock.now())), run))
            return None
        return run

    def _recover(self) -> None:
        """Takes in hand what the store leased to us in an answer that never came."""
        known = {(run.job.id, run.job.version) for run in self._held.values()}
        self._take([job for job in self._store.held(self._worker) if (job.id, job.version) not in known])
        self._is_in_doubt = False

    def _new_context(self, run: Run) -> JobContext:
        """Called where the run begins, which the supervisor is to see."""
        now, deadline = monotonic_ms(), 0
        if run.job.timeout_ms:
            deadline = now + run.job.timeout_ms + (KILL_MARGIN_MS if run.is_async else 0)
        self._table.start(run.slot, now, deadline)
        if deadline and deadline < self._table.read("look_at"):
            self._supervisor.ring()
        return JobContext(
            run.job, now=self._clock.now, flags=partial(self._table.flags, run.slot), noted=partial(self._noted_by, run)
        )

    def _noted_by(self, run: Run, context: JobContext) -> None:
        is_first = not self._noted
        self._noted[context] = run
        if is_first:
            self._wake()

    def _ended(self, run: Run) -> None:
        self._table.finish(run.slot)
        self._finished.append(run)
        self._wake()

    def _wake(self) -> None:
        if self._is_resting:
            self._bell.ring()

    def _rest(self, limit: int) -> None:
        """Until there is work, a run ends, or the supervisor wants something."""
        self._is_resting = True
        if not self._finished:
            patience = self._patience()
            if limit:
                self._store.wait(self._queues.names(), timeout=int(patience * 1000), wake=self._bell.fd)
            else:
                self._bell.wait(patience)
        self._is_resting = False

    def _patience(self) -> float:
        if self._crew.is_waiting():
            return AHEAD_SECONDS
        if self._noted:
            return max(0.001, self._next_note - time.monotonic())
        return IDLE_MS / 1000

    def _pause_after(self, error: AsyncJobsError) -> None:
        self._is_resting = False
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
        self._is_resting = True
        while self._crew.running() and time.monotonic() < end:
            self._bell.silence()
            self._bell.wait(end - time.monotonic())
        self._collect()
        self._give_back(self._unsettled())
        with suppress(AsyncJobsError):
            self._exchange(0)

    def _unsettled(self) -> list[Run]:
        told = {letter.run.slot for letter in self._letters if letter.is_end}
        return [run for slot, run in self._held.items() if slot not in told]


def _parked(job: Job, error: UnknownHandler, *, now: int) -> Job:
    """Put off for half of its age: an old job is not looked at all the time."""
    shortest, longest = PARK_MS
    wait = min(max(shortest, (now - job.created_at) // 2), longest)
    return transitions.snooze(job, now + wait, error=error_of(error), now=now)
