"""Storing what was asked for, and the answer 202 to it."""

from collections.abc import Sequence
from typing import Any, Final

from rest_framework.response import Response

from asyncjobs.api.access import sees
from asyncjobs.api.bodies import Link, job_body, linker, links_of
from asyncjobs.api.idempotency import PLACE, Key
from asyncjobs.api.pace import pace_of
from asyncjobs.api.problems import Problem, invalid
from asyncjobs.api.submissions import Submission
from asyncjobs.api.webhooks import delivery_of
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import DuplicateJob
from asyncjobs.stores.base import MAX_BATCH, Receipt, Repeated
from asyncjobs.unique import OnConflict

TRIES: Final = 5  # a twin may end between the refusal and our look


class Acceptance:
    """Stores the jobs of one request, all or none, and answers it: once, if it has a key."""

    def __init__(self, engine: Engine, request: Any, key: Key | None) -> None:
        self._engine = engine
        self._request = request
        self._key = key
        self._link = linker(request)

    def replayed(self) -> Response | None:
        """The answer that was given to the same request before."""
        receipt = self._key.kept(self._engine) if self._key else None
        return None if receipt is None else self._replayed(receipt)

    def one(self, submission: Submission) -> Response:
        try:
            return self._one(submission)
        except Repeated as error:
            return self._replayed(error.receipt)
        except DuplicateJob as error:  # a twin that makes no way
            raise self._duplicate(self._twin(error)) from None

    def many(self, submissions: Sequence[Submission]) -> Response:
        """Of a batch, all are stored or none. Where a twin would take more than an answer, there must be none."""
        body = {"jobs": [job_body(submission.job, self._link) for submission in submissions]}
        strict = any(submission.may_meet_others or submission.callback for submission in submissions)
        try:
            stored = self._stored(submissions, body, "raise" if strict else "return")
        except Repeated as error:
            return self._replayed(error.receipt)
        except DuplicateJob as error:
            raise self._duplicate(self._twin(error)) from None
        for position, (asked, job) in enumerate(zip(submissions, stored, strict=True)):
            if job is not asked.job:
                body["jobs"][position] = job_body(job, self._link)
        return Response(body, status=202)

    def _one(self, submission: Submission) -> Response:
        """A twin may be somebody else's: nobody is answered with it before that is known."""
        body = job_body(submission.job, self._link)
        for _ in range(TRIES):
            try:
                [job] = self._stored([submission], body, "raise")
            except DuplicateJob as error:
                twin = self._twin(error)
                if twin is not None:
                    return self._past(twin, submission, body)
            else:
                return accepted(self._engine, job, self._link)
        raise self._duplicate(None)

    def _past(self, twin: Job, submission: Submission, body: Any) -> Response:
        """What becomes of a job with this twin is said by the handler, if the twin is the client's own."""
        if submission.on_conflict == "raise" or not self._is_seen(twin):
            raise self._duplicate(twin)
        if submission.on_conflict == "replace":
            [twin] = self._stored([submission], body, "replace")
        else:
            delivery = self._deliveries([submission._replace(job=twin)])
            self._submitted(delivery, job_body(twin, self._link), "return")
        return accepted(self._engine, twin, self._link)

    def _stored(self, submissions: Sequence[Submission], body: Any, on_conflict: OnConflict) -> list[Job]:
        jobs = [submission.job for submission in submissions]
        return self._submitted(jobs + self._deliveries(submissions), body, on_conflict)[: len(jobs)]

    def _submitted(self, jobs: list[Job], body: Any, on_conflict: OnConflict) -> list[Job]:
        """These jobs, stored in one step with the receipt that says what is answered.

        What is accepted is stored, also within a transaction that somebody has around the request.
        """
        if len(jobs) > MAX_BATCH:
            raise invalid("#/jobs", f"A batch has at most {MAX_BATCH:,} jobs; with a callback, one counts twice.")
        receipt = self._key.receipt(self._engine, body) if self._key else None
        return self._engine.submit_many(jobs, on_conflict=on_conflict, receipt=receipt, on_commit=False)

    def _deliveries(self, submissions: Sequence[Submission]) -> list[Job]:
        """The jobs that tell of the end of these, for those that were submitted with a callback."""
        conf = self._engine.conf.api.webhooks
        return [delivery_of(asked.job, asked.callback, conf) for asked in submissions if asked.callback is not None]

    def _replayed(self, receipt: Receipt) -> Response:
        assert self._key is not None
        return self._key.replayed(receipt, self._with_twins)

    def _with_twins(self, body: Any, receipt: Receipt) -> Any:
        """The first answer; in a batch, with the jobs that were answered in place of others as they are now."""
        twins = self._engine.store.get([job_id for _, job_id in receipt.twins])
        for (position, twin_id), twin in zip(receipt.twins, twins, strict=True):
            gone = {**body["jobs"][position], "id": twin_id, "links": links_of(twin_id, self._link)}
            body["jobs"][position] = gone if twin is None else job_body(twin, self._link)
        return body

    def _twin(self, error: DuplicateJob) -> Job | None:
        [twin] = self._engine.store.get([error.job_id or ""])
        return twin

    def _is_seen(self, job: Job) -> bool:
        return sees(self._request.user, job.owner)

    def _duplicate(self, twin: Job | None) -> Problem:
        """A client is told of a twin that it may see, and of others only that there is one."""
        more: dict[str, Any] = {"job": self._link(twin.id, "")} if twin is not None and self._is_seen(twin) else {}
        return Problem("duplicate", "Such a job is there already.", **more)


def accepted(engine: Engine, job: Job, link: Link) -> Response:
    """202, and where to follow the job."""
    response = Response(job_body(job, link), status=202)
    response[PLACE] = link(job.id, "")
    if not job.is_terminal:
        response["Retry-After"] = str(pace_of(engine).retry_after(engine, job))
    return response
