"""What can be done to a job."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from rest_framework.response import Response

from asyncjobs import verbs
from asyncjobs.actions import OPERATION, action_entry, read_action
from asyncjobs.api.acceptance import accepted
from asyncjobs.api.access import owner_of, require
from asyncjobs.api.bodies import job_body, linker
from asyncjobs.api.handler import EndpointHandler
from asyncjobs.api.idempotency import Key, key_of
from asyncjobs.api.problems import Problem, invalid
from asyncjobs.api.views.job import JobView
from asyncjobs.api.webhooks import again, ring
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJob, InvalidTransition, UnknownHandler, WrongStatus
from asyncjobs.registry import lookup
from asyncjobs.rules import reason
from asyncjobs.stores.base import JOURNAL_LIMITS, Entry, Receipt


class Cancel(JobView):
    """The end of a job before its time."""

    def post(self, request: Any, job_id: str) -> Response:
        """Ends a waiting job (200), or asks a running one to end (202)."""
        why = _reason_in(request.data)
        job = self.job(job_id)
        require(request.user, job, "cancel_job")
        link = linker(request)
        note = partial(_note, "cancel", request, reason=why)
        try:
            job = self.engine.change(job.id, verbs.canceling(why), note=note)
        except InvalidTransition:
            raise Problem("already-finished", "The job is finished, and cannot be canceled.") from None
        ring(job)
        return self.answer(job, job_body(job, link), status=200 if job.is_terminal else 202)


class Retry(JobView):
    """Another run of a job that ended badly."""

    def post(self, request: Any, job_id: str) -> Response:
        """Queues a failed or canceled job again."""
        require_empty(request.data)
        key = key_of(request, request.data)
        job = self.job(job_id)
        require(request.user, job, "retry_job")
        if job.name == OPERATION:
            raise Problem("not-retryable", "What an operation was to do is ordered anew, in the dashboard.")
        try:
            return self._replayed(job, key) or self._retried(job, key)
        except InvalidTransition:
            replayed = self._replayed(job, key)  # another request with the same key may have been faster
            if replayed is not None:
                return replayed
        raise Problem("not-retryable", "The job neither failed nor was canceled.")

    def _retried(self, job: Job, key: Key | None) -> Response:
        link = linker(self.request)

        def note(new: Job) -> Entry:
            receipt = key.receipt(self.engine, job_body(new, link)) if key else None
            kept = {"receipt": receipt} if receipt else {}
            return _note("retry", self.request, new, **kept)

        self._require_submittable(job)
        retrying = partial(_retrying, known=job)
        retrying(job, self.engine.store.now())  # of a job that is not retried, nothing is told again
        again(self.engine, job)
        return accepted(self.engine, self.engine.change(job.id, retrying, note=note), link)

    def _replayed(self, job: Job, key: Key | None) -> Response | None:
        """The answer to the same request before, which is in the journal of the job."""
        if key is None:
            return None
        entries = self.engine.store.journal(job.id, "action", limit=JOURNAL_LIMITS["action"])
        receipts = [Receipt(*said["receipt"]) for entry in entries if "receipt" in (said := read_action(entry))]
        now = self.engine.store.now()
        kept = [receipt for receipt in receipts if receipt.key == key.key and receipt.until > now]
        return key.replayed(kept[-1]) if kept else None

    def _require_submittable(self, job: Job) -> None:
        """What was allowed when the job was submitted may be so no more. Staff act for others as `retry_job` says."""
        try:
            handler = lookup(job.name)
        except UnknownHandler:
            return
        exposure = handler.exposure
        if isinstance(handler, EndpointHandler) and job.owner == owner_of(self.request.user):
            handler.require_permitted(job, self.request)
        if exposure and exposure.can_submit and not exposure.can_submit(self.request):
            raise Problem("permission-denied", f"You may not submit {job.name}.")


def _retrying(job: Job, now: int, *, known: Job) -> Job:
    """Of the job as it was when its journal was read: what another request with the same key did since is not there."""
    if job.version != known.version:
        raise WrongStatus(f"job {job.id} was retried by another", job_id=job.id)
    if job.status == JobStatus.COMPLETED:
        raise WrongStatus(f"job {job.id} is COMPLETED", job_id=job.id)
    return verbs.retrying(job, now)


def _note(action: str, request: Any, job: Job, **more: Any) -> Entry:
    return action_entry(action, by=owner_of(request.user), now=job.updated_at, **more)


def require_empty(body: Any) -> None:
    if body not in ({}, None):
        raise invalid("#", "Nothing is to be said here.")


def _reason_in(body: Any) -> str:
    if not isinstance(body, dict) or body.keys() - {"reason"}:
        raise invalid("#", 'Give nothing, or an object with a "reason".')
    return read_reason(body)


def read_reason(body: Mapping[str, Any]) -> str:
    """The reason in it; may be left out, or null."""
    given = body.get("reason")
    try:
        return reason("" if given is None else given)
    except InvalidJob as error:
        raise invalid("#/reason", error.message) from None
