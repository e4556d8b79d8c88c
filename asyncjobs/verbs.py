"""The verbs on one job."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from asgiref.sync import sync_to_async

from asyncjobs import rules
from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import PENDING, TERMINAL, Job, JobStatus
from asyncjobs.errors import JobNotFound, ResultTimeout, StoreError, WrongStatus
from asyncjobs.ids import job_id_of
from asyncjobs.intake import Intake
from asyncjobs.results import pauses, result_of
from asyncjobs.retention import Retention
from asyncjobs.stores.base import Change, Entry, Gone, Receipt, Resting, Store, TrashPage
from asyncjobs.times import Duration, due_ms
from asyncjobs.unique import OnConflict

JobId = str | UUID
Transition = Callable[[Job, int], Job]
Note = Callable[[Job], Entry]
Removal = Callable[[Sequence[Job]], list[bool]]

_ATTEMPTS: Final = 20  # to change one job that others keep changing


class JobVerbs:
    """Decides with the transitions of the domain what becomes of a job, and has a store keep it."""

    def __init__(self, store: Store, conf: Conf) -> None:
        self.store = store
        self.conf = conf
        self._retention = Retention(store, conf)
        self._intake = Intake(store, conf, self._retention)

    def submit(self, job: Job, *, on_conflict: OnConflict = "return") -> Job:
        """Stores a job, and answers what is stored: with "return", that may be its twin."""
        return self.submit_many([job], on_conflict=on_conflict)[0]

    def submit_many(
        self,
        jobs: Sequence[Job],
        *,
        on_conflict: OnConflict = "return",
        receipt: Receipt | None = None,
        on_commit: bool = True,
    ) -> list[Job]:
        """Stores jobs, MAX_BATCH at a time, each batch all or none, and answers what is stored in their place.

        A store that is not part of the caller's transaction gets them when that commits, unless that is not to be
        waited for; until then the jobs answered have their ids and are nowhere.

        With a receipt, which goes where they go and is for MAX_BATCH at most, they are stored if it is the first one
        under its key; else `Repeated` says what was answered then.
        """
        return self._intake.submit(jobs, on_conflict=on_conflict, receipt=receipt, on_commit=on_commit)

    def get(self, job_id: JobId) -> Job:
        own_id = job_id_of(job_id)
        [job] = self.store.get([own_id])
        if job is None:
            raise JobNotFound(f"there is no job {own_id}", job_id=own_id)
        return job

    def gone(self, job_id: JobId) -> Gone | None:
        """Whose this job was, if it had an owner and was removed lately."""
        return self.store.gone(job_id_of(job_id))

    def result(self, job_id: JobId, *, timeout: float = 0) -> Any:
        """What the job's handler returned, waiting for it up to `timeout` seconds.

        Raises `JobFailed` when the job failed or was canceled, and `ResultTimeout` when it is not finished in time.
        """
        for pause in pauses(timeout):
            job = self.get(job_id)
            if job.is_terminal:
                return result_of(job)
            time.sleep(pause)
        raise _late(job_id, timeout)

    def cancel(self, job_id: JobId, *, reason: str = "") -> Job:
        """Ends a job that has not started; asks the worker of a running one to stop it, durably.

        Canceling twice is no error; canceling what ended otherwise is.
        """
        return self.change(job_id, canceling(reason))

    def retry(self, job_id: JobId) -> Job:
        """Queues a finished job again, with a new budget of retries."""
        return self.change(job_id, retrying)

    def run_now(self, job_id: JobId) -> Job:
        """Queues a scheduled job without waiting for its time."""
        return self.change(job_id, lambda job, now: transitions.run_now(job, now=now))

    def reschedule(self, job_id: JobId, when: datetime | Duration) -> Job:
        """Has a job that has not started run at another time."""
        return self.change(job_id, lambda job, now: transitions.reschedule(job, due_ms(when, now=now), now=now))

    def change(self, job_id: JobId, transition: Transition, *, note: Note | None = None) -> Job:
        """Makes of the stored job what `transition(job, now)` says, also while others change it.

        `note` makes an entry of the new job, for its journal.
        """
        for _ in range(_ATTEMPTS):
            old = self.get(job_id)
            new = transition(old, self.store.now())
            if new is old:
                return old
            if self.store.swap([Change(old, new, (note(new),) if note else ())])[0]:
                self._retention.finished(int(new.is_terminal))
                return new
        raise _restless(job_id)

    def note(self, job_id: JobId, entry: Entry) -> None:
        """Adds an entry to the journal of a job, whatever its status, and changes nothing else."""
        for _ in range(_ATTEMPTS):
            job = self.get(job_id)
            if self.store.swap([Change(job, job, (entry,))])[0]:
                return
        raise _restless(job_id)

    def delete(self, job_id: JobId, *, note: Entry | None = None) -> None:
        """Removes a job that is not running. It rests in the trash for as long as the settings say.

        `note` is for the journal it has there, and has again when it is restored.
        """
        self.remove(job_id, PENDING | TERMINAL, self.to_trash(note))

    def remove(self, job_id: JobId, statuses: Collection[JobStatus], removal: Removal) -> None:
        """Removes a job that is in one of these statuses, also while others change it."""
        for _ in range(_ATTEMPTS):
            job = self.get(job_id)
            if job.status not in statuses:
                hint = "running; cancel it first" if job.status == JobStatus.IN_PROGRESS else job.status.name
                raise WrongStatus(f"job {job.id} is {hint}", job_id=job.id)
            if removal([job])[0]:
                return
        raise _restless(job_id)

    def to_trash(self, note: Entry | None = None) -> Removal:
        """How jobs are removed so that they can be restored, or for good where the settings want no trash."""
        if not self.conf.trash:
            return self.store.delete
        return partial(self.store.delete, rest_until=self.store.now() + self.conf.trash, note=note)

    def restore(self, job_id: JobId, *, note: Entry | None = None) -> Job:
        """Puts a job back from the trash as it was, with this note in its journal. Restoring twice is no error."""
        own_id = job_id_of(job_id)
        [job] = self.store.restore([own_id], note=note)
        if job is None:
            raise JobNotFound(f"there is no job {own_id}, and none in the trash", job_id=own_id)
        return job

    def rests(self, job_id: JobId) -> Resting | None:
        """The job that rests in the trash under this id."""
        return self.store.rests(job_id_of(job_id))

    def trash(self, *, after: str = "", limit: int = 50) -> TrashPage:
        """A page of what rests in the trash, those that rest longest first."""
        return self.store.trash(after=after, limit=limit)

    async def aget(self, job_id: JobId) -> Job:
        return await sync_to_async(self.get)(job_id)

    async def aresult(self, job_id: JobId, *, timeout: float = 0) -> Any:
        for pause in pauses(timeout):
            job = await self.aget(job_id)
            if job.is_terminal:
                return await sync_to_async(result_of)(job)
            await asyncio.sleep(pause)
        raise _late(job_id, timeout)

    async def acancel(self, job_id: JobId, *, reason: str = "") -> Job:
        return await sync_to_async(self.cancel)(job_id, reason=reason)

    async def aretry(self, job_id: JobId) -> Job:
        return await sync_to_async(self.retry)(job_id)


def canceling(reason: str) -> Transition:
    """The transition of a job that is to be canceled."""
    return partial(_cancel, reason=rules.reason(reason))


def _cancel(job: Job, now: int, *, reason: str) -> Job:
    if job.status == JobStatus.CANCELED:
        return job
    if job.status != JobStatus.IN_PROGRESS:
        return transitions.cancel(job, now=now, reason=reason)
    return job if job.cancel_requested is not None else transitions.request_cancel(job, now=now)


def retrying(job: Job, now: int) -> Job:
    return transitions.retry(job, now=now)


def _late(job_id: JobId, timeout: float) -> ResultTimeout:
    return ResultTimeout(f"job {job_id} is not finished after {timeout:g} s", job_id=str(job_id))


def _restless(job_id: JobId) -> StoreError:
    return StoreError(f"job {job_id} was changed by others {_ATTEMPTS} times in a row", job_id=str(job_id))
