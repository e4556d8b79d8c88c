"""Why a job is not running, as a table of what is known and what is said."""

import json
from typing import Any

import pytest

from asyncjobs.dashboard.crews import Crew, crews
from asyncjobs.dashboard.why import Circumstances, reasons
from asyncjobs.domain.job import Job, JobError, JobStatus
from asyncjobs.domain.transitions import LEASE_EXPIRED, WORKER_DIED
from asyncjobs.errors import UnknownHandler
from asyncjobs.stores.base import Pause, QueueCounts, WorkerRecord

NOW = 1_000_000
LEASE = 30_000
BOOM = JobError(code="HANDLER_ERROR", message="boom", type="builtins.ValueError")


def a_job(status: JobStatus = JobStatus.QUEUED, **fields: Any) -> Job:
    usual: dict[str, Any] = {"id": "1", "name": "send", "queue": "mail", "created_at": NOW - 60_000}
    return Job(status=status, **usual | fields)


def mail(*, ready: int = 1, pause: Pause | None = None) -> QueueCounts:
    return QueueCounts(queue="mail", by_status={JobStatus.QUEUED: ready}, oldest_at=NOW - 90_000, pause=pause)


def around(**known: Any) -> Circumstances:
    usual: dict[str, Any] = {"now": NOW, "queue": mail(), "workers": [worker()]}
    return Circumstances(**usual | known)


def worker(*, silence: int = 1_000, **said: Any) -> Crew:
    about = {"name": "w1", "state": "working", "queues": ["mail"]} | said
    [crew] = crews([WorkerRecord("w1", NOW - silence, json.dumps(about))], now=NOW, lease=LEASE)
    return crew


def pause(**fields: Any) -> Pause:
    return Pause(queue="mail", since=NOW - 5_000, **fields)


SILENT, QUIET = worker(silence=LEASE + 1, queues=["*"]), worker(state="quiet")
QUEUED, SCHEDULED, RUNNING = JobStatus.QUEUED, JobStatus.SCHEDULED, JobStatus.IN_PROGRESS
FAILED, CANCELED, COMPLETED = JobStatus.FAILED, JobStatus.CANCELED, JobStatus.COMPLETED

TABLE: list[tuple[str, Job, Circumstances, list[str]]] = [
    ("next", a_job(), around(), ["NEXT"]),
    ("behind others", a_job(), around(queue=mail(ready=13)), ["BEHIND"]),
    ("of a queue nobody counts", a_job(), around(queue=None), ["NEXT"]),
    ("paused", a_job(), around(queue=mail(pause=pause())), ["PAUSED"]),
    ("paused, and behind others", a_job(), around(queue=mail(ready=2, pause=pause())), ["PAUSED", "BEHIND"]),
    ("paused until later", a_job(), around(queue=mail(pause=pause(until=NOW + 1))), ["PAUSED"]),
    ("paused until now", a_job(), around(queue=mail(pause=pause(until=NOW))), ["NEXT"]),
    ("no worker at all", a_job(), around(workers=[]), ["NO_WORKER"]),
    ("workers of other queues", a_job(queue="slow"), around(), ["NO_WORKER"]),
    ("every worker silent", a_job(), around(workers=[SILENT]), ["WORKERS_SILENT"]),
    ("one worker silent, one not", a_job(), around(workers=[SILENT, worker()]), ["NEXT"]),
    ("the only worker is quiet", a_job(), around(workers=[QUIET]), ["WORKERS_QUIET"]),
    ("one worker quiet, one not", a_job(), around(workers=[QUIET, worker()]), ["NEXT"]),
    ("one worker quiet, one silent", a_job(), around(workers=[QUIET, SILENT]), ["WORKERS_QUIET"]),
    ("the only worker is ending", a_job(), around(workers=[worker(state="ending")]), ["NO_WORKER"]),
    ("a pattern", a_job(), around(workers=[worker(queues=["ma*"])]), ["NEXT"]),
    ("an excluded queue", a_job(), around(workers=[worker(queues=["*"], exclude=["m*"])]), ["NO_WORKER"]),
    ("unknown handler", a_job(), around(unknown=UnknownHandler("no send")), ["UNKNOWN_HANDLER"]),
    ("waiting for others", a_job(JobStatus.WAITING), around(), ["WAITS"]),
    ("not due", a_job(SCHEDULED, due_at=NOW + 1), around(), ["NOT_DUE"]),
    ("not due, and paused", a_job(SCHEDULED, due_at=NOW + 1), around(queue=mail(pause=pause())), ["NOT_DUE", "PAUSED"]),
    ("due", a_job(SCHEDULED, due_at=NOW), around(), ["DUE"]),
    ("retried later", a_job(SCHEDULED, due_at=NOW + 1, retry_count=1, error=BOOM), around(), ["RETRY_LATER"]),
    (
        "put off by a worker that does not know it",
        a_job(SCHEDULED, due_at=NOW + 1, error=JobError(code="UNKNOWN_HANDLER", message="no send")),
        around(),
        ["PARKED", "NOT_DUE"],
    ),
    ("running", a_job(RUNNING, worker="w1", claimed_until=NOW + 9), around(), []),
    ("asked to stop", a_job(RUNNING, worker="w1", cancel_requested=NOW - 1), around(), ["CANCEL_REQUESTED"]),
    (
        "held by one silent",
        a_job(RUNNING, worker="w1", claimed_until=NOW + 9),
        around(workers=[SILENT]),
        ["WORKER_SILENT"],
    ),
    ("held by one not heard from yet", a_job(RUNNING, worker="w9", claimed_until=NOW + 9), around(), []),
    ("held by one never heard from", a_job(RUNNING, worker="w9", claimed_until=NOW - 9), around(), ["WORKER_SILENT"]),
    ("failed", a_job(FAILED, error=BOOM, retry_count=3, completed_at=NOW), around(), ["FAILED"]),
    ("canceled", a_job(CANCELED, completed_at=NOW), around(), ["CANCELED"]),
    ("completed", a_job(COMPLETED, completed_at=NOW), around(), []),
    ("a twin runs", a_job(), around(twin=a_job(RUNNING)), ["NEXT", "TWIN"]),
    ("a twin of one that failed", a_job(FAILED, error=BOOM), around(twin=a_job()), ["FAILED", "TWIN"]),
    ("a twin of one that is completed", a_job(COMPLETED), around(twin=a_job()), []),
]


@pytest.mark.parametrize(("job", "known", "codes"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_stands_in_the_way(job: Job, known: Circumstances, codes: list[str]) -> None:
    assert [reason.code for reason in reasons(job, known)] == codes


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"error": BOOM, "retry_count": 3}, "retries are over (3 of 3)"),
        ({"error": BOOM, "max_retries": 0}, "has no retries"),
        ({"error": BOOM, "retry_count": 1}, "not tried again"),
        ({"error": WORKER_DIED, "crashes": 3}, "died 3 times"),
        ({"error": LEASE_EXPIRED, "lapses": 5}, "silent 5 times"),
    ],
)
def test_what_the_last_straw_was(fields: dict[str, Any], said: str) -> None:
    [reason] = reasons(a_job(FAILED, **fields), around())
    assert said in reason.text


def test_a_pause_says_why_since_when_and_until_when() -> None:
    known = around(queue=mail(pause=pause(reason="deploy", until=NOW + 60_000)))
    [reason] = reasons(a_job(), known)
    assert reason.text == "Queue mail is paused: deploy"
    assert [at for _, at in reason.times] == [NOW - 5_000, NOW + 60_000]


def test_a_pause_says_by_whom_if_that_is_known() -> None:
    [reason] = reasons(a_job(), around(queue=mail(pause=pause(reason="deploy")), paused_by="ada"))
    assert reason.text == "Queue mail is paused by ada: deploy"


def test_a_cancel_says_why() -> None:
    canceled = a_job(CANCELED, error=JobError(code="JOB_CANCELED", message="not needed"), completed_at=NOW)
    [reason] = reasons(canceled, around())
    assert reason.text == "It was canceled: not needed"


def test_a_cancel_after_a_failure_is_not_explained_by_the_failure() -> None:
    [reason] = reasons(a_job(CANCELED, error=BOOM, completed_at=NOW), around())
    assert "boom" not in reason.text
