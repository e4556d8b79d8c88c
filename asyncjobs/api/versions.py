"""Which state of a job a client has."""

from typing import Any
from zlib import crc32

from asyncjobs.domain.job import Job


def version_tag(job: Job) -> str:
    """Another one whenever the job says something else of itself. Progress is no more than what follows the hyphen."""
    asked = "" if job.cancel_requested is None else "c"  # which is no new version of the job
    return f"{job.version}{asked}-{crc32(f'{job.progress}'.encode()):08x}"


def etag(job: Job) -> str:
    return f'"{version_tag(job)}"'


def is_known(request: Any, job: Job) -> bool:
    """Whether the client has the job as it is."""
    given = request.headers.get("If-None-Match", "")
    return given.strip() == "*" or etag(job) in [tag.strip().removeprefix("W/") for tag in given.split(",")]
