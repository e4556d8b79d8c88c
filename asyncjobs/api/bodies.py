"""Jobs, queues and workers as clients see them."""

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from asyncjobs.about import read_about
from asyncjobs.api.places import address_of
from asyncjobs.api.schemas import schema_of
from asyncjobs.arguments.showing import shown
from asyncjobs.domain.job import Job, JobError, JobStatus
from asyncjobs.registry import Handler
from asyncjobs.stores.base import Entry, Pause, QueueCounts, WorkerRecord

NO_ID: Final = "00000000-0000-0000-0000-000000000000"

Link = Callable[[str, str], str]


def linker(request: Any) -> Link:
    """The function that says where a view of a job is, for this request."""
    start, _, _ = address_of(request, "job", job_id=NO_ID).rpartition(NO_ID)
    return lambda job_id, part: f"{start}{job_id}/{part}"


def handler_linker(request: Any) -> Callable[[str], str]:
    """The function that says where the view of a handler is, for this request."""
    return lambda name: address_of(request, "handler", name=name)


def status_word(job: Job) -> str:
    return job.status.name.lower()


def moment(ms: int | None) -> str | None:
    """RFC 3339, in UTC."""
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job_body(job: Job, link: Link, *, traceback: bool = False) -> dict[str, Any]:
    """A job without what it was given and what it made: those may be large, or secret."""
    return {
        "id": job.id,
        "name": job.name,
        "status": status_word(job),
        "done": job.is_terminal,
        "queue": job.queue,
        "priority": job.priority,
        "tags": list(job.tags),
        "attempt": job.attempt,
        "retry_count": job.retry_count,
        "max_retries": job.max_retries,
        "cancel_requested": job.cancel_requested is not None,
        "progress": _progress(job),
        "created_at": moment(job.created_at),
        "run_at": moment(job.due_at if job.status == JobStatus.SCHEDULED else None),
        "started_at": moment(job.started_at),
        "completed_at": moment(job.completed_at),
        "error": None if job.error is None else _error(job.error, traceback=traceback),
        "links": links_of(job.id, link),
    }


def links_of(job_id: str, link: Link) -> dict[str, str]:
    return {
        "self": link(job_id, ""),
        "result": link(job_id, "result/"),
        "events": link(job_id, "events/"),
        "log": link(job_id, "log/"),
        "cancel": link(job_id, "cancel/"),
        "retry": link(job_id, "retry/"),
    }


def with_result(job: Job, body: dict[str, Any]) -> dict[str, Any]:
    body["result"] = shown(job.result)
    return body


def entry_body(entry: Entry) -> dict[str, Any]:
    return {"number": entry.number, "at": moment(entry.at), "text": entry.text}


def queue_body(counts: QueueCounts, now: int) -> dict[str, Any]:
    oldest = None if counts.oldest_at is None else max(0, now - counts.oldest_at) / 1000
    return {
        "name": counts.queue,
        "counts": {status.name.lower(): counts.by_status.get(status, 0) for status in JobStatus},
        "backlog": counts.backlog,
        "oldest_seconds": oldest,
        "pause": None if counts.pause is None else pause_body(counts.pause),
    }


def pause_body(pause: Pause) -> dict[str, Any]:
    return {"since": moment(pause.since), "reason": pause.reason, "until": moment(pause.until), "by": pause.by}


def worker_body(record: WorkerRecord, now: int, *, lease: int) -> dict[str, Any]:
    """What a worker said of itself, as far as it can be read; what it did not say is null."""
    said = read_about(record.about)
    facts = {name: _fact(said.get(name), kind) for name, kind in _FACTS.items()}
    silence = max(0, now - record.beat_at)
    return {
        "id": record.worker,
        **facts,
        "started_at": _moment_in(said.get("since")),
        "heard_at": moment(record.beat_at),
        "silent_seconds": silence / 1000,
        "heard_from": silence <= lease and facts["state"] != "ended",
    }


def handler_body(handler: Handler[..., Any], link: Callable[[str], str]) -> dict[str, Any]:
    """What a client needs to know of a handler to submit its jobs."""
    options = handler.options
    return {
        "name": handler.name,
        "description": (inspect.getdoc(handler.function) or "").partition("\n")[0],
        "queue": options.queue,
        "priority": options.priority,
        "max_retries": options.max_retries,
        "timeout_seconds": None if options.timeout_ms is None else options.timeout_ms / 1000,
        "arguments": schema_of(handler),
        "links": {"self": link(handler.name)},
    }


def _fact(value: Any, kind: type) -> Any:
    """The value if it is of this kind, and fit to be shown: whoever writes to the store may have written it."""
    if kind is list:
        return [_fact(item, str) for item in value if isinstance(item, str)] if isinstance(value, list) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        return None
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _moment_in(seconds: Any) -> str | None:
    try:
        return moment(int(seconds * 1000))
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _progress(job: Job) -> dict[str, Any] | None:
    progress = job.progress
    if progress is None:
        return None
    return {
        "done": progress.done,
        "total": progress.total,
        "percent": min(100, progress.done * 100 // progress.total) if progress.total else None,
        "message": progress.message,
    }


def _error(error: JobError, *, traceback: bool) -> dict[str, Any]:
    body = {"code": error.code, "message": error.message, "type": error.type}
    return body | {"traceback": error.traceback} if traceback else body


_FACTS: Final[dict[str, type]] = {
    "name": str,
    "host": str,
    "pid": int,
    "supervisor": int,
    "version": str,
    "state": str,
    "queues": list,
    "threads": int,
    "async_concurrency": int,
    "running": int,
    "jobs": list,
    "memory": int,
}
