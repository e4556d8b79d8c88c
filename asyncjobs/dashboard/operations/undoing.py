"""What an undo does to the jobs of a chunk of the operation that it takes back."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from asyncjobs.dashboard.operations.chunks import Chunks, Place, Touched
from asyncjobs.dashboard.operations.doing import DONE, Batch, WasDone, Work
from asyncjobs.dashboard.operations.meeting import GONE
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job
from asyncjobs.domain.past import Past
from asyncjobs.errors import InvalidTransition
from asyncjobs.stores.base import Change

STARTED: Final = "started"  # or whatever else has come of it since: it cannot be undone


class TakingBack(Work):
    """Takes back what another operation did."""

    def batches(self, place: Place) -> Iterator[tuple[int, Batch]]:
        undone = self.engine.get(self.order.undoes)
        for number, chunk in Chunks(self.engine.store, undone).after(place[0]):
            jobs = self.engine.store.get_readable([job_id for job_id, _, _ in chunk.touched])
            yield self.now(), Batch(chunk.touched, jobs, (number, ""), Counter())


class Undoing(TakingBack):
    """Makes of jobs what they were, where nothing has come of what was made of them."""

    def do(self, touched: Sequence[Touched], jobs: Sequence[Job | None], at: int, was_done: WasDone) -> Counter[str]:
        note = self.note(at)
        changes, passed = [], Counter[str]()
        for (job_id, _, past), job in zip(touched, jobs, strict=True):
            new = job and past and _undone(job, past, at)
            if job and new:
                changes.append(Change(job, new, (note,)))
            else:
                passed[GONE if job is None else DONE if was_done(job_id) else STARTED] += 1
        return self.write(changes, STARTED) + passed


class Restoring(TakingBack):
    """Has jobs that were removed back from the trash."""

    def do(self, touched: Sequence[Touched], jobs: Sequence[Job | None], at: int, was_done: WasDone) -> Counter[str]:
        """Who is there already was brought back by the run before, or by somebody else.

        What rests in another version was deleted by others since: it stays in the trash.
        """
        missing = {job_id: version for (job_id, version, _), job in zip(touched, jobs, strict=True) if job is None}
        restored = self.engine.store.restore(list(missing), versions=missing, note=self.note(at))
        brought = sum(job is not None for job in restored)
        there = Counter(DONE if was_done(job.id) else STARTED for job in jobs if job is not None)
        return there + Counter({DONE: brought, GONE: len(missing) - brought})


def _undone(job: Job, past: Past, at: int) -> Job | None:
    try:
        return transitions.undo(job, past, now=at)
    except InvalidTransition:
        return None
