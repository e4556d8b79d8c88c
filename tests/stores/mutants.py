"""Stores that are wrong in one way each, so that the test which has to notice can be seen to notice."""

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.domain.lease import LeaseClock
from asyncjobs.stores.base import Beat, Change, Receipt
from asyncjobs.stores.memory import MemoryStore, Spot


class SwapIgnoresVersions(MemoryStore):
    def _swap(self, change: Change) -> bool:
        stored = self._jobs.get(change.new.id)
        return stored is not None and super()._swap(change._replace(old=change.old.replace(version=stored.version)))


class SwapWritesEveryField(MemoryStore):
    def _swap(self, change: Change) -> bool:
        stored = self._jobs.get(change.new.id)
        if stored is None or stored.version != change.old.version:
            return super()._swap(change)
        return super()._swap(change._replace(old=stored.replace()))


class SwapCountsARepeatedEnd(MemoryStore):
    def _swap(self, change: Change) -> bool:
        new = change.new
        stored = self._jobs.get(new.id)
        written = super()._swap(change)
        if written and new.is_terminal and stored is not None and stored.version == new.version:
            self._series[self.now() // 60_000 * 60_000, new.queue, new.status] += 1
        return written


class SwapBringsBackTheDeleted(MemoryStore):
    def _swap(self, change: Change) -> bool:
        if change.new.id not in self._jobs:
            self._put(change.new)
            return True
        return super()._swap(change)


class SwapReportsARepeatAsStale(MemoryStore):
    def _swap(self, change: Change) -> bool:
        stored = self._jobs.get(change.new.id)
        return stored is not None and stored.version == change.old.version and super()._swap(change)


class SwapAppendsARepeatsEntries(MemoryStore):
    def _swap(self, change: Change) -> bool:
        stored = self._jobs.get(change.new.id)
        written = super()._swap(change)
        if written and stored is not None and stored.version == change.new.version != change.old.version:
            self._append(change.new.id, change.entries)
        return written


class SwapAppendsTheEntriesOfStaleChanges(MemoryStore):
    def _swap(self, change: Change) -> bool:
        written = super()._swap(change)
        if not written and change.new.id in self._jobs:
            self._append(change.new.id, change.entries)
        return written


class SwapLosesTheEntriesOfANote(MemoryStore):
    def _swap(self, change: Change) -> bool:
        is_note = change.old.version == change.new.version
        return super()._swap(change._replace(entries=()) if is_note else change)


class DeleteKeepsTheJournal(MemoryStore):
    def _remove(self, job: Job) -> None:
        journal = self._journals.get(job.id)
        super()._remove(job)
        if journal is not None:
            self._journals[job.id] = journal


class AddOverwrites(MemoryStore):
    def add(self, jobs: Sequence[Job], **options: Any) -> list[Job]:
        for job in jobs:
            if job.id in self._jobs:
                self._remove(self._jobs[job.id])
        return super().add(jobs, **options)


class AddIgnoresReceipts(MemoryStore):
    def add(self, jobs: Sequence[Job], *, receipt: Receipt | None = None, **options: Any) -> list[Job]:
        return super().add(jobs, **options)


class ARepeatedCallBringsBackTheDeleted(MemoryStore):
    def add(self, jobs: Sequence[Job], *, receipt: Receipt | None = None, **options: Any) -> list[Job]:
        kept = self.receipt(receipt.key) if receipt else None
        is_repeated = receipt is not None and kept is not None and kept.text == receipt.text
        return super().add(jobs, receipt=None if is_repeated else receipt, **options)


class ClaimLeavesTheJobReady(MemoryStore):
    def claim(self, queues: Sequence[str], **options: Any) -> list[Job]:
        before = {queue: list(entries) for queue, entries in self._ready.items()}
        claimed = super().claim(queues, **options)
        for queue, entries in before.items():
            self._ready[queue] = entries
        return claimed


class ClaimIgnoresPriority(MemoryStore):
    def _enter(self, job: Job) -> None:
        super()._enter(job.replace(priority=0))


class ClaimIgnoresPauses(MemoryStore):
    def _is_paused(self, queue: str) -> bool:
        return False


class ClaimPromotesEarly(MemoryStore):
    def _promote_due(self, queue: str) -> None:
        clock, self._clock = self._clock, lambda: clock() + 1_000_000
        super()._promote_due(queue)
        self._clock = clock


class ClaimDropsWhatFellDue(MemoryStore):
    def _promote_due(self, queue: str) -> None:
        for due_at, job_id in list(self._places[JobStatus.SCHEDULED, queue]):
            if due_at <= self.now():
                self._remove(self._jobs[job_id])


class TheUniqueKeyIsNeverLetGo(MemoryStore):
    def _holder_of(self, key: str | None) -> Job | None:
        return self._jobs.get(self._unique.get(key, "")) if key is not None else None


class TheUniqueKeyIsNotTakenAgain(MemoryStore):
    def _enter(self, job: Job) -> None:
        again = job.attempt > 0
        super()._enter(job)
        if again and job.status != JobStatus.IN_PROGRESS and self._unique.get(job.unique_key or "") == job.id:
            del self._unique[job.unique_key or ""]


class BeatIgnoresVersions(MemoryStore):
    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        known = {job_id: self._jobs[job_id].version if job_id in self._jobs else 0 for job_id in held}
        return super().beat(worker, known, lease=lease, about=about)


class BeatForgetsTheOrder(MemoryStore):
    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        beat = super().beat(worker, held, lease=lease, about=about)
        self.order(worker, "")
        return beat


class BeatExtendsNothing(MemoryStore):
    def beat(self, worker: str, held: Mapping[str, int], *, lease: int, about: str = "") -> Beat:
        return super().beat(worker, held, lease=0, about=about)


class RescueKnowsNoGrace(MemoryStore):
    def _tick(self, lease: int) -> LeaseClock:
        clock = super()._tick(lease)
        self._lease_clock = LeaseClock(clock.last, clock.offset)
        return self._lease_clock


class ALeaseStretchesWhenTheClockIsSetBack(MemoryStore):
    def _tick(self, lease: int) -> LeaseClock:
        clock = super()._tick(lease)
        self._lease_clock = LeaseClock(clock.last, 0, clock.grace)
        return self._lease_clock


class DeleteIgnoresVersions(MemoryStore):
    def _delete(self, job: Job, *rest: Any) -> bool:
        return super()._delete(self._jobs.get(job.id, job), *rest)


class PruneTakesTheVeryTimeToo(MemoryStore):
    def prune(self, before: Mapping[JobStatus, int], *, limit: int) -> int:
        return super().prune({status: at + 1 for status, at in before.items()}, limit=limit)


class AFaultKeepsTheRetried(MemoryStore):
    def _leave(self, job: Job) -> None:
        super()._leave(job)
        if job.fault is not None:
            insort(self._faults[job.fault], (job.score, job.id))


class AMoveLeavesTheOldPlace(MemoryStore):
    def _leave(self, job: Job) -> None:
        super()._leave(job)
        if job.is_terminal:
            insort(self._places[job.status, job.queue], (job.score, job.id))

    def _entries(self, status: JobStatus, queue: str | None = None) -> Iterator[Spot]:
        return (entry for entry in super()._entries(status, queue) if entry[-1] in self._jobs)


ALL = [value for value in list(vars().values()) if isinstance(value, type) and issubclass(value, MemoryStore)][1:]
