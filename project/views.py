"""What the demo site shows: that jobs are being run."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from asyncjobs import Job, JobStatus, Query, get_engine
from asyncjobs.errors import AsyncJobsError

NEWEST: Final = 10


def front(request: HttpRequest) -> HttpResponse:
    try:
        return render(request, "front.html", _now())
    except AsyncJobsError as error:
        return render(request, "front.html", {"trouble": error.message}, status=503)


def _now() -> dict[str, Any]:
    """How many jobs there are in each status, and the newest of them."""
    engine = get_engine()
    queues = engine.counts()
    counts = {status: sum(queue.by_status.get(status, 0) for queue in queues) for status in JobStatus}
    return {
        "counts": [(_words(status), number) for status, number in counts.items() if status != JobStatus.WAITING],
        "jobs": [_row(job, engine.store.now()) for job in engine.find(Query(limit=NEWEST)).jobs],
    }


def _row(job: Job, now: int) -> dict[str, Any]:
    progress = job.progress
    return {
        "name": job.name.rpartition(".")[2],
        "queue": job.queue,
        "status": _words(job.status),
        "age": (now - job.created_at) // 1000,
        "progress": progress if progress and progress.total and not job.is_terminal else None,
        "note": job.error.message if job.error else "",
    }


def _words(status: JobStatus) -> str:
    return status.name.replace("_", " ").lower()
