"""How jobs get into the store: in batches, with the caller's transaction, and past their twins."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from django.db import connections, transaction

from asyncjobs.conf import Conf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import PENDING, Job
from asyncjobs.errors import AsyncJobsError, DuplicateJob, InvalidJob
from asyncjobs.retention import Retention
from asyncjobs.signals import job_submitted, tell
from asyncjobs.stores.base import MAX_BATCH, Change, Receipt, Repeated, Store
from asyncjobs.unique import OnConflict

_REPLACE_ATTEMPTS: Final = 20


def _tell_of(asked: Sequence[Job], stored: Sequence[Job]) -> None:
    """Of those that are stored now, and not of twins that were before."""
    if job_submitted.receivers:
        for job, answer in zip(asked, stored, strict=True):
            if answer.id == job.id:
                tell(job_submitted, None, job=answer)


class Intake:
    def __init__(self, store: Store, conf: Conf, retention: Retention) -> None:
        self._store = store
        self._conf = conf
        self._retention = retention

    def submit(
        self, jobs: Sequence[Job], *, on_conflict: OnConflict, receipt: Receipt | None, on_commit: bool
    ) -> list[Job]:
        """Stores the jobs now or, if the store is not part of the caller's transaction, when that commits."""
        if receipt is not None and len(jobs) > MAX_BATCH:
            raise InvalidJob(f"a receipt is for at most {MAX_BATCH} jobs, not {len(jobs)}")
        if not (on_commit and self._must_wait_for_commit()):
            return self._add(jobs, on_conflict, receipt)
        transaction.on_commit(partial(self._add, jobs, on_conflict, receipt), using=self._conf.database)
        return list(jobs)

    def _must_wait_for_commit(self) -> bool:
        if self._store.transactional:
            return False
        connection = connections[self._conf.database]
        return connection.in_atomic_block or (connection.connection is not None and not connection.autocommit)

    def _add(self, jobs: Sequence[Job], on_conflict: OnConflict, receipt: Receipt | None) -> list[Job]:
        stored: list[Job] = []
        for start in range(0, len(jobs), MAX_BATCH) or ([0] if receipt else []):
            try:
                batch = jobs[start : start + MAX_BATCH]
                stored += self._add_batch(batch, on_conflict, receipt)
                _tell_of(batch, stored[start:])
            except AsyncJobsError as error:
                if stored:
                    error.add_note(f"the first {len(stored)} of {len(jobs)} jobs were stored before")
                raise
        return stored

    def _add_batch(self, jobs: Sequence[Job], on_conflict: OnConflict, receipt: Receipt | None) -> list[Job]:
        limits = self._conf.limits({job.queue for job in jobs}) if self._conf.queues else {}
        match on_conflict:
            case "return":
                return self._store.add(jobs, limits=limits, receipt=receipt)
            case "raise":
                return self._store.add(jobs, limits=limits, twins="refuse", receipt=receipt)
            case "replace":
                return self._add_replacing(jobs, limits, receipt)

    def _add_replacing(self, jobs: Sequence[Job], limits: dict[str, int], receipt: Receipt | None) -> list[Job]:
        """Of twins among the jobs themselves the last one is stored, and answered for all of them."""
        last = {job.unique_key or job.id: job for job in jobs}
        answers = [last[job.unique_key or job.id] for job in jobs]
        canceled: list[Change] = []
        try:
            self._add_past_twins(last, limits, _with_twins(receipt, jobs, answers), canceled)
        except AsyncJobsError as error:
            if not _is_said_of(error, receipt):
                self._restore(canceled)
            raise
        return answers

    def _add_past_twins(
        self, last: dict[str, Job], limits: dict[str, int], receipt: Receipt | None, canceled: list[Change]
    ) -> None:
        for attempt in range(len(last) + _REPLACE_ATTEMPTS):
            try:
                self._store.add(list(last.values()), limits=limits, twins="refuse", receipt=receipt)
            except DuplicateJob as conflict:
                if attempt == len(last) + _REPLACE_ATTEMPTS - 1:
                    raise
                canceled += self._make_way(conflict, last)
            else:
                return

    def _restore(self, canceled: Sequence[Change]) -> None:
        """Puts back the twins that made way for jobs which were then refused."""
        now = self._store.now()
        self._store.swap(
            [
                Change(change.new, change.old.replace(version=change.new.version + 1, updated_at=now))
                for change in canceled
            ]
        )

    def _make_way(self, conflict: DuplicateJob, newcomers: dict[str, Job]) -> list[Change]:
        """Cancels the twin, unless it is too late for that or somebody else's, and answers what was done."""
        [twin] = self._store.get([conflict.job_id or ""])
        if twin is None:
            return []
        newcomer = newcomers[twin.unique_key or ""]
        if twin.status not in PENDING or newcomer.owner not in (None, twin.owner):
            raise conflict
        reason = f"replaced by job {newcomer.id}"
        canceled = transitions.cancel(twin, now=self._store.now(), reason=reason).replace(unique_until=None)
        changes = [Change(twin, canceled)]
        if not all(self._store.swap(changes)):
            return []
        self._retention.finished(1)
        return changes


def _with_twins(receipt: Receipt | None, jobs: Sequence[Job], answers: Sequence[Job]) -> Receipt | None:
    """The receipt, naming the jobs that are answered by others of the same call: the store never sees them."""
    found = [(at, twin.id) for at, twin in enumerate(answers) if twin.id != jobs[at].id]
    return receipt._replace(twins=(*receipt.twins, *found)) if receipt else None


def _is_said_of(error: AsyncJobsError, receipt: Receipt | None) -> bool:
    """Whether this very request was answered meanwhile: then it is its jobs that the twins made way for."""
    return isinstance(error, Repeated) and receipt is not None and error.receipt.fingerprint == receipt.fingerprint
