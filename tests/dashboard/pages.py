"""The pages of the dashboard: what pictures of them are called, and where they are below it."""

from typing import Final
from urllib.parse import quote
from uuid import UUID

from asyncjobs.actions import OPERATION
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Query, Store

PAGES: Final = {
    "overview": "",
    "jobs": "jobs/",
    "failed-jobs": "jobs/?status=failed&q=error:gateway",
    "job": "jobs/{failed}/",
    "running-job": "jobs/{running}/",
    "edit-job": "jobs/{failed}/edit/",
    "trash": "trash/",
    "trashed-job": "jobs/{trashed}/",
    "dead": "dead/",
    "preview": "dead/?sort=jobs",
    "delayed": "delayed/",
    "queues": "queues/",
    "queue": "queues/{queue}/",
    "workers": "workers/",
    "operations": "operations/",
    "operation": "operations/{operation}/",
}
PRESSED: Final = {"preview": "Retry all"}  # the button that leads on to a page which a form is answered with
NOBODY: Final = str(UUID(int=0))


def address(name: str, store: Store) -> str:
    """Where the page is, of the newest job or the fullest queue if it shows one."""
    queue = max(((counts.backlog, counts.queue) for counts in store.counts()), default=(0, "default"))[1]
    failed, running = (_newest(store, status) for status in (JobStatus.FAILED, JobStatus.IN_PROGRESS))
    operation = next((job.id for job in store.find(Query(name=OPERATION, oldest_first=True, limit=1)).jobs), NOBODY)
    trashed = next((rest.job.id for rest in store.trash(limit=1).resting), NOBODY)
    ids = {"failed": failed, "running": running, "operation": operation, "trashed": trashed}
    return PAGES[name].format(**ids, queue=quote(queue, safe=""))


def _newest(store: Store, status: JobStatus) -> str:
    """The id of one that has something to show, if there is one."""
    jobs = store.find(Query(status=status, limit=100)).jobs
    return max(jobs, key=lambda job: (job.progress is not None, job.attempt)).id if jobs else NOBODY
