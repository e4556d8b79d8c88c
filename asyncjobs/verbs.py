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
from asyncjobs.stores.base import Change, Store
from asyncjobs.times import Duration, due_ms
from asyncjobs.unique import OnConflict

JobId = str | UUID
Transition = Callable[[Job, int], Job]

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

    def submit_many(self, jobs: Sequence[Job], *, on_conflict: OnConflict = "return") -> list[Job]:
        """Stores jobs, MAX_BATCH at a time, each batch all or none, and answers what is stored in their place.

        A store that is not part of the caller's transaction gets them when that commits; until then the jobs
        answered have their ids and are nowhere.
        """
        return self._intake.submit(jobs, on_conflict=on_conflict)

    def get(self, job_id: JobId) -> Job:
        own_id = job_id_of(job_id)
        [job] = self.store.get([own_id])
        if job is None:
            raise JobNotFound(f"there is no job {own_id}", job_id=own_id)
        return job

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

    def change(self, job_id: JobId, transition: Transition) -> Job:
        """Makes of the stored job what `transition(job, now)` says, also while others change it."""
        for _ in range(_ATTEMPTS):
            old = self.get(job_id)
            new = transition(old, self.store.now())
            if new is old:
                return old
            if self.store.swap([Change(old, new)])[0]:
                self._retention.finished(int(new.is_terminal))
                return new
        raise _restless(job_id)

    def delete(self, job_id: JobId) -> None:
        """Removes a job that is not running."""
        self.remove(job_id, PENDING | TERMINAL)

    def remove(self, job_id: JobId, statuses: Collection[JobStatus]) -> None:
        """Removes a job that is in one of these statuses, also while others change it."""
        for _ in range(_ATTEMPTS):
            job = self.get(job_id)
            if job.status not in statuses:
                hint = "running; cancel it first" if job.status == JobStatus.IN_PROGRESS else job.status.name
                raise WrongStatus(f"job {job.id} is {hint}", job_id=job.id)
            if self.store.delete([job])[0]:
                return
        raise _restless(job_id)

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
