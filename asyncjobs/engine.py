"""The verbs: what can be done to jobs and queues."""

import logging
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from operator import and_

from asyncjobs import rules
from asyncjobs.bulk import FINISHED, UNFINISHED, UNSTARTED, Tally, tally, within
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidTransition, JobNotFound, LeaseLost, WrongStatus
from asyncjobs.outcome import attempt_entry
from asyncjobs.stores.base import Change, Entry, Finding, Page, Pause, Query, QueueCounts
from asyncjobs.times import Duration, due_ms
from asyncjobs.verbs import JobVerbs, Removal, Transition, canceling, retrying

logger = logging.getLogger("asyncjobs.engine")


class Engine(JobVerbs):
    """Everything that can be done to jobs, one or all that match, and to queues."""

    def find(self, query: Query) -> Page:
        return self.store.find(query)

    def counts(self) -> list[QueueCounts]:
        return self.store.counts()

    def settle(self, changes: Sequence[Change]) -> list[LeaseLost]:
        """Writes what became of jobs their callers hold; answers those that were not theirs any more."""
        lost = [_lost(change.old) for change in self._write(changes)]
        for error in lost:
            logger.warning("%s", error, extra={"job_id": error.job_id})
        return lost

    def exchange(
        self, changes: Sequence[Change], queues: Sequence[str], *, worker: str, limit: int, lease: int
    ) -> tuple[list[bool], list[Job]]:
        """Writes what became of jobs, answers which were written, and claims up to `limit` more, in one round trip."""
        written: list[bool] = []
        claimed: list[Job] = []
        if not changes:
            claimed = self.store.claim(queues, worker=worker, limit=limit, lease=lease)
        elif limit < 1:
            written = self.store.swap(changes)
        else:
            written, claimed = self.store.exchange(changes, queues, worker=worker, limit=limit, lease=lease)
        self._retention.finished(sum(map(and_, written, (change.new.is_terminal for change in changes))))
        return written, claimed

    def note_finished(self, count: int) -> None:
        """To be told of jobs whose end was written past the engine: old ones are removed in proportion."""
        self._retention.finished(count)

    def release(self, jobs: Sequence[Job]) -> list[LeaseLost]:
        """Gives back jobs their holder will not finish, nothing charged."""
        now = self.store.now()
        return self.settle([Change(job, _release(job, now)) for job in jobs])

    def rescue(self, *, limit: int = 100, lease: int | None = None) -> list[Job]:
        """Takes jobs away from holders that stopped beating, and answers what became of them."""
        now = self.store.now()
        lapsed = self.store.lapsed(limit, lease=lease or self.conf.lease)
        changes = [Change(job, transitions.rescue(job, now=now), (_lapse(job, now),)) for job in lapsed]
        refused = {change.old.id for change in self._write(changes)}
        return [change.new for change in changes if change.old.id not in refused]

    def pause(
        self, queue: str, *, reason: str = "", until: datetime | Duration | None = None, by: str | None = None
    ) -> Pause:
        """Stops workers from taking jobs of a queue, until it is resumed or `until`; `by`: the key of who does it."""
        now = self.store.now()
        pause = Pause(
            queue=rules.queue_name(queue),
            since=now,
            reason=rules.reason(reason),
            until=None if until is None else due_ms(until, now=now),
            by=rules.owner(by),
        )
        self.store.pause(pause)
        return pause

    def resume(self, queue: str) -> bool:
        """Ends a pause; False when there was none."""
        return self.store.resume(rules.queue_name(queue))

    def purge(self, queue: str, *, limit: int | None = None) -> int:
        """Removes the jobs of a queue that have not started, up to `limit`, for good, and answers how many."""
        query = Query(queue=rules.queue_name(queue))
        act = partial(self._remove_batch, UNSTARTED, self.store.delete)
        return tally(self.store, query, UNSTARTED, act, limit=limit).done

    def cancel_all(self, query: Query, *, limit: int | None = None, reason: str = "") -> Tally:
        """Cancels every job that matches and is not finished. Of the query only the filters count."""
        return self._change_all(query, UNFINISHED, canceling(reason), limit)

    def retry_all(self, query: Query, *, limit: int | None = None) -> Tally:
        """Retries every job that matches and failed, or has the finished status the query names."""
        statuses = within(FINISHED, query) if query.status else (JobStatus.FAILED,)
        return self._change_all(query, statuses, _only_in(statuses, retrying), limit)

    def delete_all(self, query: Query, *, limit: int | None = None, note: Entry | None = None) -> Tally:
        """Removes every job that matches and is not running, as `delete` does."""
        statuses = within((*UNSTARTED, *FINISHED), query)
        act = partial(self._remove_batch, statuses, self.to_trash(note))
        return tally(self.store, query, statuses, act, limit=limit)

    def prune(self, *, limit: int = 1_000) -> int:
        """Removes up to `limit` finished jobs that were kept long enough, and answers how many."""
        return self._retention.prune(limit)

    def check(self, *, fix: bool = False) -> list[Finding]:
        """Compares every job with every index; see `Store.check`."""
        return self.store.check(fix=fix)

    def _write(self, changes: Sequence[Change]) -> list[Change]:
        """Answers the changes that were not written."""
        if not changes:
            return []
        written = self.store.swap(changes)
        outcomes = list(zip(changes, written, strict=True))
        self._retention.finished(sum(change.new.is_terminal for change, stored in outcomes if stored))
        return [change for change, stored in outcomes if not stored]

    def _change_all(
        self, query: Query, statuses: Sequence[JobStatus], transition: Transition, limit: int | None
    ) -> Tally:
        return tally(self.store, query, statuses, partial(self._change_batch, transition), limit=limit)

    def _change_batch(self, transition: Transition, jobs: Sequence[Job]) -> int:
        """Most change in one round trip. Those that moved meanwhile are tried one by one."""
        now = self.store.now()
        changes = [Change(job, new) for job in jobs if (new := _attempt(transition, job, now)) is not None]
        moved = self._write([change for change in changes if change.new is not change.old])
        return len(changes) - sum(not self._change_one(transition, change.old.id) for change in moved)

    def _change_one(self, transition: Transition, job_id: str) -> bool:
        try:
            self.change(job_id, transition)
        except (InvalidTransition, JobNotFound):
            return False
        return True

    def _remove_batch(self, statuses: Sequence[JobStatus], removal: Removal, jobs: Sequence[Job]) -> int:
        gone = zip(jobs, removal(jobs), strict=True)
        return sum(is_gone or self._remove_one(statuses, removal, job.id) for job, is_gone in gone)

    def _remove_one(self, statuses: Sequence[JobStatus], removal: Removal, job_id: str) -> bool:
        try:
            self.remove(job_id, statuses, removal)
        except InvalidTransition:
            return False
        except JobNotFound:
            return True
        return True


def _only_in(statuses: Sequence[JobStatus], transition: Transition) -> Transition:
    """The transition, of jobs that others have not brought to another status meanwhile."""

    def checked(job: Job, now: int) -> Job:
        if job.status not in statuses:
            raise WrongStatus(f"job {job.id} is {job.status.name} by now", job_id=job.id)
        return transition(job, now)

    return checked


def _attempt(transition: Transition, job: Job, now: int) -> Job | None:
    """None for a job that left the status it was found in."""
    try:
        return transition(job, now)
    except InvalidTransition:
        return None


def _release(job: Job, now: int) -> Job:
    """A holder that was asked to cancel and stops instead has done what was asked."""
    return transitions.release(job, now=now) if job.cancel_requested is None else transitions.cancel(job, now=now)


def _lapse(job: Job, now: int) -> Entry:
    return attempt_entry(job, transitions.LEASE_EXPIRED, now=now)


def _lost(job: Job) -> LeaseLost:
    return LeaseLost(f"job {job.id} is no longer held in version {job.version} by {job.worker}", job_id=job.id)
