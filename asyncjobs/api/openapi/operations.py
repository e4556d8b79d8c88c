"""Every operation: what it takes, and how it is answered. Its summary is the docstring of its method."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from asyncjobs.api.openapi import examples, parameters
from asyncjobs.api.openapi.answers import (
    LOCATION,
    NEXT,
    NOT_DONE,
    PREFERENCE,
    REPLAYED,
    RESULT_AT,
    UNCACHED,
    VERSION,
    answer,
)
from asyncjobs.api.openapi.callbacks import CALLBACKS
from asyncjobs.api.openapi.dialect import Schema
from asyncjobs.api.openapi.shapes import ANYTHING, TEXT, ref
from asyncjobs.api.views import acts, health, job, staff, submit

JOBS: Final = "jobs"
STAFF: Final = "jobs: staff"

_ANYBODY: Final = ("throttled", "store-unavailable")
_KNOWN: Final = ("not-authenticated", "permission-denied", *_ANYBODY)
_ONE_JOB: Final = (*_KNOWN, "not-found", "gone")
_BODY: Final = ("malformed", "too-large", "unsupported-media-type", "invalid")
_SUBMIT: Final = (*_KNOWN, *_BODY, "duplicate", "key-reused", "queue-full")


class Operation(NamedTuple):
    """`body` names the component that a request is made of, if it has one."""

    id: str
    answers: Mapping[int, Schema]
    problems: tuple[str, ...]
    parameters: tuple[Schema, ...] = ()
    body: str = ""
    needs_body: bool = True
    tag: str = JOBS
    callbacks: Mapping[str, Any] | None = None


def _accepted(schema: Schema, example: Any, *headers: Schema) -> Schema:
    return answer("It is stored, and will be run.", schema, *headers, REPLAYED, example=example)


_A_JOB: Final = ref("AsyncJob")
_ACCEPTED: Final = _accepted(_A_JOB, examples.QUEUED, LOCATION, NOT_DONE)

OPERATIONS: Final[Mapping[type, Mapping[str, Operation]]] = {
    submit.Jobs: {
        "GET": Operation(
            "asyncjobs_list",
            {200: answer("A page of jobs.", ref("AsyncJobPage"), NEXT, example=examples.PAGE)},
            (*_KNOWN, "malformed", "unknown-filter"),
            parameters.LIST,
        ),
        "POST": Operation(
            "asyncjobs_submit",
            {202: _ACCEPTED},
            _SUBMIT,
            (parameters.KEY,),
            "AsyncJobSubmission",
            callbacks=CALLBACKS,
        ),
    },
    submit.Batch: {
        "POST": Operation(
            "asyncjobs_submit_batch",
            {202: _accepted(ref("AsyncJobBatchAccepted"), examples.BATCH)},
            _SUBMIT,
            (parameters.KEY,),
            "AsyncJobBatch",
        ),
    },
    job.OneJob: {
        "GET": Operation(
            "asyncjobs_get",
            {
                200: answer("The job.", _A_JOB, VERSION, PREFERENCE, example=examples.DONE),
                304: answer("The job is as the client has it.", None, VERSION, PREFERENCE),
            },
            (*_ONE_JOB, "malformed"),
            (parameters.JOB, *parameters.WAIT, parameters.KNOWN),
        ),
        "DELETE": Operation(
            "asyncjobs_delete", {204: answer("It is gone.")}, (*_ONE_JOB, "running"), (parameters.JOB,)
        ),
    },
    job.Result: {
        "GET": Operation(
            "asyncjobs_result",
            {
                200: answer("What the handler returned.", ANYTHING, VERSION, example=examples.RESULT),
                303: answer("The result is an address.", ANYTHING, RESULT_AT, VERSION),
                304: answer("The result is as the client has it.", None, VERSION),
            },
            (*_ONE_JOB, "not-finished", "job-canceled", "job-failed"),
            (parameters.JOB, parameters.KNOWN),
        ),
    },
    job.Log: {
        "GET": Operation(
            "asyncjobs_log",
            {200: answer("Lines of the log.", ref("AsyncJobLog"), example=examples.LOG)},
            (*_ONE_JOB, "malformed"),
            (parameters.JOB, *parameters.LOG),
        ),
    },
    job.Events: {
        "GET": Operation(
            "asyncjobs_events",
            {
                200: answer(
                    "`status` with the job, `progress` with its progress, `log` with a line; until it is done.",
                    TEXT,
                    UNCACHED,
                    example=examples.EVENTS,
                    media="text/event-stream",
                ),
                204: answer("The client knows how it ended, and is not to come again."),
            },
            (*_ONE_JOB, "not-acceptable", "too-busy"),
            (parameters.JOB, parameters.LAST_EVENT),
        ),
    },
    acts.Cancel: {
        "POST": Operation(
            "asyncjobs_cancel",
            {
                200: answer("It is canceled.", _A_JOB, VERSION, example=examples.CANCELED),
                202: answer("It runs, and is asked to end.", _A_JOB, VERSION, example=examples.RUNNING),
            },
            (*_ONE_JOB, *_BODY, "already-finished"),
            (parameters.JOB,),
            "AsyncJobReason",
            needs_body=False,
        ),
    },
    acts.Retry: {
        "POST": Operation(
            "asyncjobs_retry",
            {202: _ACCEPTED},
            (*_ONE_JOB, *_BODY, "not-retryable", "key-reused"),
            (parameters.JOB, parameters.KEY),
        ),
    },
    staff.Queues: {
        "GET": Operation("asyncjobs_queues", {200: answer("All queues.", ref("AsyncJobQueues"))}, _KNOWN, tag=STAFF),
    },
    staff.PauseQueue: {
        "POST": Operation(
            "asyncjobs_pause_queue",
            {200: answer("Its pause.", ref("AsyncJobQueuePause"))},
            (*_KNOWN, *_BODY, "not-found"),
            (parameters.QUEUE,),
            "AsyncJobQueuePauseForm",
            needs_body=False,
            tag=STAFF,
        ),
    },
    staff.ResumeQueue: {
        "POST": Operation(
            "asyncjobs_resume_queue",
            {200: answer("Whether it was paused.", ref("AsyncJobQueueResumed"))},
            (*_KNOWN, *_BODY, "not-found"),
            (parameters.QUEUE,),
            tag=STAFF,
        ),
    },
    staff.Workers: {
        "GET": Operation("asyncjobs_workers", {200: answer("All workers.", ref("AsyncJobWorkers"))}, _KNOWN, tag=STAFF),
    },
    staff.Handlers: {
        "GET": Operation(
            "asyncjobs_handlers", {200: answer("All that are offered.", ref("AsyncJobHandlers"))}, _KNOWN, tag=STAFF
        ),
    },
    staff.OneHandler: {
        "GET": Operation(
            "asyncjobs_handler",
            {200: answer("The handler.", ref("AsyncJobHandler"))},
            (*_KNOWN, "not-found"),
            (parameters.HANDLER,),
            tag=STAFF,
        ),
    },
    health.Health: {
        "GET": Operation(
            "asyncjobs_health",
            {200: answer("They can.", ref("AsyncJobHealth"), UNCACHED, example={"status": "ok"})},
            _ANYBODY,
        ),
    },
}
