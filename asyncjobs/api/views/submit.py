"""Submitting jobs, and listing them."""

import json
from typing import Any, Final

from rest_framework.response import Response

from asyncjobs.api.acceptance import Acceptance
from asyncjobs.api.base import ApiView
from asyncjobs.api.bodies import job_body, linker
from asyncjobs.api.filters import page_url, query_of
from asyncjobs.api.idempotency import key_of
from asyncjobs.api.problems import Problem, invalid
from asyncjobs.api.submissions import Submissions

MOST_AT_ONCE: Final = 1_000

_to_json: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


class Jobs(ApiView):
    """All jobs that the client may see."""

    def get(self, request: Any) -> Response:
        """One page of jobs, the newest first."""
        query = query_of(request)
        page = self.engine.find(query)
        link = linker(request)
        following = page_url(request, page.next) if page.next else None
        response = Response({"jobs": [job_body(job, link) for job in page.jobs], "next": following})
        if following:
            response["Link"] = f'<{following}>; rel="next"'
        return response

    def post(self, request: Any) -> Response:
        """Submits a job."""
        acceptance = Acceptance(self.engine, request, key_of(request, request.data))
        replayed = acceptance.replayed()
        return replayed or acceptance.one(Submissions(self.engine, request).read(request.data))


class Batch(ApiView):
    """Many submissions in one request."""

    def max_body(self) -> int:
        return self.engine.conf.api.max_body

    def post(self, request: Any) -> Response:
        """Submits up to 1,000 jobs, all or none."""
        acceptance = Acceptance(self.engine, request, key_of(request, request.data))
        replayed = acceptance.replayed()
        if replayed is not None:
            return replayed
        jobs = _jobs_in(request.data)
        _require_small(jobs, limit=self.max_submission())
        submissions = Submissions(self.engine, request)
        return acceptance.many([submissions.read(body, f"#/jobs/{index}") for index, body in enumerate(jobs)])


def _require_small(jobs: list[Any], *, limit: int) -> None:
    """None larger than it may be alone: before they are looked at, which takes far longer than to read them."""
    for index, job in enumerate(jobs):
        if len(_to_json(job)) > limit:
            raise Problem("too-large", f"The job at {index} has more than {limit:,} bytes.")


def _jobs_in(body: Any) -> list[Any]:
    if not isinstance(body, dict) or body.keys() != {"jobs"} or not isinstance(body["jobs"], list):
        raise invalid("#", 'A batch is an object with the list "jobs".')
    if not 1 <= len(body["jobs"]) <= MOST_AT_ONCE:
        raise invalid("#/jobs", f"A batch has 1 to {MOST_AT_ONCE:,} jobs.")
    jobs: list[Any] = body["jobs"]
    return jobs
