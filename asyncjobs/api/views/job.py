"""One job: its state, its result, its log, and the end of it."""

from typing import Any, Final
from urllib.parse import urlsplit

from django.http.response import HttpResponse, HttpResponseBase
from rest_framework.response import Response

from asyncjobs.actions import action_entry
from asyncjobs.api.access import SEE_ALL, may, may_with, owner_of, require, sees
from asyncjobs.api.base import ApiView
from asyncjobs.api.bodies import entry_body, job_body, linker, with_result
from asyncjobs.api.pace import pace_of
from asyncjobs.api.problems import Problem
from asyncjobs.api.stream import EVENTS, Stream
from asyncjobs.api.versions import etag, is_known
from asyncjobs.api.waiting import Pending, is_asynchronous, wait, wait_of
from asyncjobs.arguments.showing import shown
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import AsyncJobsError, InvalidJobId, InvalidTransition, JobNotFound
from asyncjobs.stores.base import EntryKind

MOST_ENTRIES: Final = 500


class JobView(ApiView):
    """A view of one job that the client may see. Those of others are not there."""

    route = ("job_id",)

    def job(self, job_id: str) -> Job:
        try:
            job = self.engine.get(job_id)
        except InvalidJobId:
            raise _unknown() from None
        except JobNotFound:
            raise self._missing(job_id) from None
        if not sees(self.request.user, job.owner):
            raise _unknown()
        return job

    def _missing(self, job_id: str) -> Problem:
        gone = self.engine.gone(job_id)
        if gone is None or not sees(self.request.user, gone.owner):
            return _unknown()
        return Problem("gone", "The job was there, and was removed.")

    def answer(self, job: Job, body: Any, *, status: int = 200) -> Response:
        """Says of which state of the job this is, and when to ask for the next one."""
        response = Response(body, status=status)
        response["ETag"] = etag(job)
        if not job.is_terminal:
            response["Retry-After"] = str(pace_of(self.engine).retry_after(self.engine, job))
        return response


class OneJob(JobView):
    """A job."""

    def get(self, request: Any, job_id: str) -> Response:
        """The job as it is, or 304 if that is what the client has; a client that waits gets it when it has changed."""
        job = self.job(job_id)
        seconds = wait_of(request, self.engine.conf.api.longest_wait)
        if seconds and not self._satisfies(job):
            if is_asynchronous(request):
                return self._pending(job, seconds)
            job = wait(self.engine, job, self._satisfies, seconds=seconds, user=owner_of(request.user)) or self.job(
                job_id
            )
        return self._described(job)

    def _satisfies(self, job: Job) -> bool:
        """Whether it is what the client waits for: another state than the one it has, or else the end."""
        return job.is_terminal or ("If-None-Match" in self.request.headers and not is_known(self.request, job))

    def _pending(self, job: Job, seconds: float) -> Response:
        response = self._described(job)
        user = owner_of(self.request.user)
        pending = Pending(self.engine, job, user, self._satisfies, seconds, self._late)
        response.pending = pending  # type: ignore[attr-defined]
        return response

    def _late(self, job: Job | None) -> Response:
        """What is answered after a wait, as if it was the first answer; None: it is to be looked at again."""
        try:
            response = self._described(job or self.job(self.kwargs["job_id"]))
        except (Problem, AsyncJobsError) as error:
            response = self.handle_exception(error)
        return self.finalize_response(self.request, response, **self.kwargs)

    def _described(self, job: Job) -> Response:
        if is_known(self.request, job):
            return self._waited(self.answer(job, None, status=304))
        body = job_body(job, linker(self.request), traceback=may(self.request.user, SEE_ALL))
        if job.is_terminal and may_with(self.request.user, job, "view_payload"):
            body = with_result(job, body)
        return self._waited(self.answer(job, body))

    def _waited(self, response: Response) -> Response:
        if "Prefer" in self.request.headers and "wait" not in self.request.query_params:
            seconds = wait_of(self.request, self.engine.conf.api.longest_wait)
            if seconds:
                response["Preference-Applied"] = f"wait={seconds:g}"
        return response

    def delete(self, request: Any, job_id: str) -> Response:
        """Removes a job that is not running."""
        job = self.job(job_id)
        require(request.user, job, "delete_job")
        note = action_entry("delete", by=owner_of(request.user), now=self.engine.store.now())
        try:
            self.engine.delete(job.id, note=note)
        except InvalidTransition:
            raise Problem("running", "The job is running; cancel it first.") from None
        return Response(status=204)


class Result(JobView):
    """What a job made."""

    def get(self, request: Any, job_id: str) -> Response:
        """The result, or where it is if that is its address."""
        job = self.job(job_id)
        if not job.is_terminal:
            after = pace_of(self.engine).retry_after(self.engine, job)
            raise Problem("not-finished", "The job is not finished.", retry_after=after)
        if job.status == JobStatus.CANCELED:
            raise Problem("job-canceled", "The job was canceled, and has no result.")
        if job.status == JobStatus.FAILED:
            raise Problem("job-failed", job.error.message if job.error else "The job failed.")
        require(request.user, job, "view_payload")
        result = shown(job.result)
        if not is_address(result):
            return self.answer(job, None, status=304) if is_known(request, job) else self.answer(job, result)
        response = self.answer(job, result, status=303)
        response["Location"] = result
        return response


class Log(JobView):
    """What a job said while it ran."""

    kind: EntryKind = "log"

    def get(self, request: Any, job_id: str) -> Response:
        """Lines with a number above `after`, the oldest first."""
        job = self.job(job_id)
        after, limit = _number(request, "after", 0), min(_number(request, "limit", 100), MOST_ENTRIES) or 1
        entries = self.engine.store.journal(job.id, self.kind, after=after, limit=limit)
        following = entries[-1].number if len(entries) == limit else None
        return Response({"entries": [entry_body(entry) for entry in entries], "next": following})


class Events(JobView):
    """What happens to a job, while it happens."""

    def get(self, request: Any, job_id: str) -> HttpResponseBase:
        """A stream of events; 204 for a client that knows the last one."""
        job = self.job(job_id)
        if not is_asynchronous(request):
            raise Problem("not-acceptable", "This server streams no events. Poll the job, with ?wait=20 if you like.")
        if request.method == "HEAD":  # of a stream, a server would throw away all there is to come
            return HttpResponse(content_type=EVENTS)
        stream = Stream(self.engine, job, linker(request), last_event=request.headers.get("Last-Event-ID", ""))
        return stream.response(owner_of(request.user))


def is_address(result: Any) -> bool:
    if not isinstance(result, str) or len(result) > 2_000 or not result.isascii() or not result.isprintable():
        return False
    if " " in result or not result.startswith(("https://", "http://")):
        return False
    try:
        return bool(urlsplit(result).hostname)
    except ValueError:
        return False


def _number(request: Any, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or not text.isascii() or len(text) > 15:
        raise Problem("malformed", f"{name!r} is a whole number.")
    return int(text)


def _unknown() -> Problem:
    return Problem("not-found", "There is no such job.")
