"""What requests and answers are made of, as JSON Schema. The names are for clients to rely on.

They begin with AsyncJob, because all components of a site share one space of names: a site with a `Job` or a `Page` of
its own would get ours for it, or we would get its own.
"""

from collections.abc import Iterable
from typing import Final

from asyncjobs.api.filters import STATUSES
from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.openapi.shapes import (
    ADDRESS,
    ANYTHING,
    DURATION,
    ID,
    MOMENT,
    NUMBER,
    REASON,
    SECONDS,
    TEXT,
    YES_OR_NO,
    form,
    list_of,
    noted,
    or_null,
    record,
    ref,
)
from asyncjobs.api.problems import KINDS
from asyncjobs.domain.job import TERMINAL
from asyncjobs.rules import MAX_NAME, MAX_PRIORITY


def _words(described: str, words: Iterable[str]) -> Schema:
    return {"type": "string", "description": described, "enum": list(words)}


_WORKER_NUMBERS: Final = ("pid", "supervisor", "threads", "async_concurrency", "running", "memory")
_JOB: Final = record(
    "A job. What it was given is not shown: that may be large, or secret.",
    {
        "id": ID,
        "name": noted(TEXT, "The handler that runs it."),
        "status": ref("AsyncJobStatus"),
        "done": noted(YES_OR_NO, "Whether it has ended, well or badly. Poll until it has."),
        "queue": TEXT,
        "priority": {"type": "integer", "minimum": -MAX_PRIORITY, "maximum": MAX_PRIORITY},
        "tags": list_of(TEXT),
        "attempt": noted(NUMBER, "How often a worker has taken it."),
        "retry_count": noted(NUMBER, "How many of its retries are spent."),
        "max_retries": NUMBER,
        "cancel_requested": noted(YES_OR_NO, "Whether it was asked to end while it runs."),
        "progress": or_null(ref("AsyncJobProgress")),
        "created_at": MOMENT,
        "run_at": noted(or_null(MOMENT), "When it is due, while it is scheduled."),
        "started_at": or_null(MOMENT),
        "completed_at": or_null(MOMENT),
        "error": or_null(ref("AsyncJobError")),
        "links": ref("AsyncJobLinks"),
        "result": noted(ANYTHING, "What the handler returned; where one finished job is asked for, and only there."),
    },
    optional=["result"],
)

_PROBLEM: Final = record(
    "What went wrong, as RFC 9457 has it.",
    {
        "type": noted(ADDRESS, "The code as a URN."),
        "title": TEXT,
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": noted(TEXT, "What to tell people. The wording may change; the code does not."),
        "instance": {"type": "string", "format": "uri-reference"},
        "code": ref("AsyncJobProblemCode"),
        "request_id": noted(TEXT, "The X-Request-Id of the request, if it had one."),
        "errors": list_of(ref("AsyncJobFault")),
        "job": noted(ADDRESS, "Of a duplicate: the job that is there already, if the client may see it."),
    },
    optional=["request_id", "errors", "job"],
)

COMPONENTS: Final[dict[str, Schema]] = {
    "AsyncJob": _JOB,
    "AsyncJobStatus": _words("Where a job stands. Others may be added: look at `done`, too.", STATUSES),
    "AsyncJobProgress": record(
        "How far a running job says it is.",
        {
            "done": {"type": "integer"},
            "total": or_null({"type": "integer"}),
            "percent": or_null({"type": "integer", "maximum": 100}),
            "message": TEXT,
        },
    ),
    "AsyncJobError": record(
        "Why a job ended badly, or why it is tried again.",
        {
            "code": TEXT,
            "message": TEXT,
            "type": noted(TEXT, "The class of the exception, if it was one."),
            "traceback": noted(TEXT, "For staff that may see all jobs."),
        },
        optional=["traceback"],
    ),
    "AsyncJobLinks": record(
        "Where to follow a job, and to act on it.",
        dict.fromkeys(("self", "result", "events", "log", "cancel", "retry"), ADDRESS),
    ),
    "AsyncJobPage": record(
        "Jobs, the newest first.",
        {"jobs": list_of(ref("AsyncJob")), "next": noted(or_null(ADDRESS), "The address of the next page.")},
    ),
    "AsyncJobBatchAccepted": record("The jobs of a batch, in its order.", {"jobs": list_of(ref("AsyncJob"))}),
    "AsyncJobLog": record(
        "Lines of a job's log, the oldest first.",
        {
            "entries": list_of(ref("AsyncJobLogLine")),
            "next": noted(or_null(NUMBER), "What to give as `after` to get the next lines."),
        },
    ),
    "AsyncJobLogLine": record("A line of a job's log.", {"number": NUMBER, "at": MOMENT, "text": TEXT}),
    "AsyncJobReason": form("Why a job is canceled.", {"reason": or_null(REASON)}),
    "AsyncJobProblem": _PROBLEM,
    "AsyncJobProblemCode": _words("What kind of problem it is. More kinds may be added.", KINDS),
    "AsyncJobFault": record(
        "One thing that does not fit.",
        {"pointer": noted(TEXT, "Where it is in the body, as a JSON pointer."), "code": TEXT, "detail": TEXT},
    ),
    "AsyncJobEvent": record(
        "What a webhook tells: how a job ended.",
        {
            "type": ref("AsyncJobEventType"),
            "timestamp": MOMENT,
            "data": record(
                "The job it is about.",
                {"id": ID, "name": {"type": "string", "maxLength": MAX_NAME}, "status": ref("AsyncJobStatus")},
            ),
        },
    ),
    "AsyncJobEventType": _words("How the job ended.", [f"job.{status.name.lower()}" for status in sorted(TERMINAL)]),
    "AsyncJobQueues": record("All queues that were ever used.", {"queues": list_of(ref("AsyncJobQueue"))}),
    "AsyncJobQueue": record(
        "A queue.",
        {
            "name": TEXT,
            "counts": record("How many jobs are in which status.", dict.fromkeys(STATUSES, NUMBER)),
            "backlog": noted(NUMBER, "How many jobs have not been started."),
            "oldest_seconds": noted(or_null(SECONDS), "How long the oldest job has been waiting."),
            "pause": or_null(ref("AsyncJobQueuePause")),
        },
    ),
    "AsyncJobQueuePause": record(
        "A halt of a queue.",
        {
            "since": MOMENT,
            "reason": TEXT,
            "until": noted(or_null(MOMENT), "Null: until it is resumed."),
            "by": noted(or_null(TEXT), "The key of the user who paused it; null when that is not known."),
        },
    ),
    "AsyncJobQueuePauseForm": form(
        "How to pause a queue.",
        {
            "reason": or_null(REASON),
            "until": noted(or_null(MOMENT), "When it ends by itself; not together with `for`."),
            "for": DURATION,
        },
    ),
    "AsyncJobQueueResumed": record("A queue is not paused.", {"resumed": noted(YES_OR_NO, "Whether it was.")}),
    "AsyncJobWorkers": record("Those heard from in the last day.", {"workers": list_of(ref("AsyncJobWorker"))}),
    "AsyncJobWorker": record(
        "A process that runs jobs. What it has not said of itself is null.",
        {
            "id": TEXT,
            **{name: or_null(TEXT) for name in ("name", "host", "version", "state")},
            **{name: or_null({"type": "integer"}) for name in _WORKER_NUMBERS},
            **{name: or_null(list_of(TEXT)) for name in ("queues", "jobs")},
            "started_at": or_null(MOMENT),
            "heard_at": MOMENT,
            "silent_seconds": SECONDS,
            "heard_from": noted(YES_OR_NO, "Whether it was heard from lately, and did not say that it ends."),
        },
    ),
    "AsyncJobHandlers": record("What clients may submit.", {"handlers": list_of(ref("AsyncJobHandler"))}),
    "AsyncJobHandler": record(
        "A handler that clients may submit.",
        {
            "name": TEXT,
            "description": TEXT,
            "queue": TEXT,
            "priority": {"type": "integer"},
            "max_retries": NUMBER,
            "timeout_seconds": or_null(SECONDS),
            "arguments": {"type": "object", "description": "The JSON Schema of its arguments by name."},
            "links": record("Where it is.", {"self": ADDRESS}),
        },
    ),
    "AsyncJobHealth": record("Jobs can be stored and read.", {"status": {"type": "string", "const": "ok"}}),
}
