"""What a deed does to the jobs of a chunk. Doing it again changes nothing, and counts alike."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from asyncjobs.actions import OPERATION, action_entry, read_action
from asyncjobs.api.webhooks import again, callback_of, ring
from asyncjobs.dashboard.deeds import DEEDS, Wish
from asyncjobs.dashboard.operations.chunks import Place, Touched
from asyncjobs.dashboard.operations.meeting import GONE, MOVED, is_asked, met
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.domain.job import Job
from asyncjobs.domain.past import Past
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Change, Entry

WasDone = Callable[[str], bool]

DONE: Final = "done"


class Batch(NamedTuple):
    """Jobs as they were met, and as they are to be touched; where to go on; what became of others beside them."""

    touched: Sequence[Touched]
    jobs: Sequence[Job | None]
    place: Place
    left: Counter[str]


class Work(ABC):
    """What an operation does to jobs."""

    def __init__(self, engine: Engine, operation: Job, order: Order) -> None:
        self.engine = engine
        self.operation = operation
        self.order = order
        self.deed = DEEDS[order.deed]

    @abstractmethod
    def batches(self, place: Place) -> Iterator[tuple[int, Batch]]:
        """What there is to do after this place, each batch with the moment at which it is to be done."""

    @abstractmethod
    def do(self, touched: Sequence[Touched], jobs: Sequence[Job | None], at: int, was_done: WasDone) -> Counter[str]:
        """Does it to the jobs that still are as they were met, and answers what became of all of them, by word.

        `was_done` tells of a job that is not, by its id, whether a run before this one did it.
        """

    def now(self) -> int:
        """After the order was frozen, whatever the clocks say: so what is done to a job takes it out of the order."""
        return max(self.engine.store.now(), self.order.frozen + 1)

    def note(self, at: int) -> Entry:
        more = {"reason": self.order.reason} if self.order.reason else {}
        return action_entry(self.order.act, by=self.order.by, now=at, operation=self.operation.id, **more)

    def is_noted(self, job_id: str) -> bool:
        """Whether the journal of this job says that it was done to it."""
        entries = self.engine.store.journal(job_id, "action")
        return any(read_action(entry).get("operation") == self.operation.id for entry in entries)

    def write(self, changes: Sequence[Change], otherwise: str) -> Counter[str]:
        """Writes these changes, and has receivers of webhooks told of what comes of them."""
        for old, _, _ in changes:
            if old.is_terminal and callback_of(old):
                again(self.engine, old)
        written = self.engine.store.swap(changes)
        self.engine.note_finished(sum(change.is_end for change in changes))
        for change in changes:
            if change.is_end and callback_of(change.new):
                ring(change.new)
        return Counter({DONE: sum(written), otherwise: len(written) - sum(written)})


class Changing(Work):
    """A deed that makes something else of jobs."""

    def batches(self, place: Place) -> Iterator[tuple[int, Batch]]:
        for jobs, after, left, _ in met(self.engine.store, self.deed, self.order, place):
            at = self.now()
            yield at, Batch([self._touched(job, at) for job in jobs], jobs, after, left)

    def do(self, touched: Sequence[Touched], jobs: Sequence[Job | None], at: int, was_done: WasDone) -> Counter[str]:
        note = self.note(at)
        changes, passed = [], Counter[str]()
        for (job_id, version, _), job in zip(touched, jobs, strict=True):
            if job is None or job.version != version or is_asked(job):
                passed[GONE if job is None else DONE if was_done(job_id) else MOVED] += 1
            else:
                changes.append(Change(job, self._new(job, at), (note,)))
        return self.write(changes, MOVED) + passed

    def _touched(self, job: Job, at: int) -> Touched:
        """Who is only asked to stop does not come back, nor does an operation that was stopped."""
        new = self._new(job, at)
        can_return = new.version > job.version and job.name != OPERATION
        return Touched(job.id, job.version, Past.of(job, new) if can_return else None)

    def _new(self, job: Job, at: int) -> Job:
        assert self.deed.change is not None
        return self.deed.change(job, Wish(at, self.order.reason, self.engine.conf.dashboard.hold))


class Removing(Work):
    """A deed that removes jobs."""

    def batches(self, place: Place) -> Iterator[tuple[int, Batch]]:
        for jobs, after, left, _ in met(self.engine.store, self.deed, self.order, place):
            yield self.now(), Batch([Touched(job.id, job.version) for job in jobs], jobs, after, left)

    def do(self, touched: Sequence[Touched], jobs: Sequence[Job | None], at: int, was_done: WasDone) -> Counter[str]:
        """Who is gone already was removed by the run before. Who has moved on meanwhile may run by now."""
        there = [job for (_, version, _), job in zip(touched, jobs, strict=True) if job and job.version == version]
        remove = self.engine.store.delete if self.deed.is_for_good else self.engine.to_trash(self.note(at))
        done = sum(remove(there)) + sum(job is None for job in jobs)
        return Counter({DONE: done, MOVED: len(jobs) - done})
