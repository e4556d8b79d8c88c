"""The addresses of the dashboard, below that of its model in the admin."""

from django.contrib.admin import AdminSite
from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter

from asyncjobs.dashboard.frame import Framed, framed
from asyncjobs.dashboard.views.dead import Dead
from asyncjobs.dashboard.views.delayed import Delayed
from asyncjobs.dashboard.views.job import Download, OneJob
from asyncjobs.dashboard.views.job_acts import Cancel, Delete, Reschedule, Retry, RunNow
from asyncjobs.dashboard.views.job_edit import Edit
from asyncjobs.dashboard.views.jobs import Jobs
from asyncjobs.dashboard.views.operations import OneOperation, Operations, UndoOperation
from asyncjobs.dashboard.views.overview import Overview
from asyncjobs.dashboard.views.preview import Carry, Chosen, Matching
from asyncjobs.dashboard.views.queue_acts import PauseQueue, PurgeQueue, ResumeQueue
from asyncjobs.dashboard.views.queues import OneQueue, Queues
from asyncjobs.dashboard.views.trash import Restore, Trash
from asyncjobs.dashboard.views.workers import OrderWorker, Workers


class Text(StringConverter):
    """Any text. Our names of queues are tame, but a page shows those that others wrote into the store, too."""

    regex = r"[\s\S]+"


register_converter(Text, "asyncjobs_text")


def patterns(site: AdminSite) -> list[URLPattern]:
    def at(route: str, view: type[Framed], name: str) -> URLPattern:
        return path(route, framed(site, view), name=f"asyncjobs_{name}")

    return [
        at("", Overview, "dashboard_changelist"),
        at("jobs/", Jobs, "jobs"),
        at("chosen/", Chosen, "chosen"),
        at("matching/", Matching, "matching"),
        at("carry/", Carry, "carry"),
        at("jobs/<str:job_id>/", OneJob, "job"),
        at("jobs/<str:job_id>/cancel/", Cancel, "job_cancel"),
        at("jobs/<str:job_id>/retry/", Retry, "job_retry"),
        at("jobs/<str:job_id>/run-now/", RunNow, "job_run_now"),
        at("jobs/<str:job_id>/reschedule/", Reschedule, "job_reschedule"),
        at("jobs/<str:job_id>/delete/", Delete, "job_delete"),
        at("jobs/<str:job_id>/edit/", Edit, "job_edit"),
        at("jobs/<str:job_id>/<str:part>.txt", Download, "job_download"),
        at("trash/", Trash, "trash"),
        at("trash/restore/", Restore, "restore"),
        at("dead/", Dead, "dead"),
        at("delayed/", Delayed, "delayed"),
        at("queues/", Queues, "queues"),
        at("queues/<asyncjobs_text:name>/pause/", PauseQueue, "queue_pause"),
        at("queues/<asyncjobs_text:name>/resume/", ResumeQueue, "queue_resume"),
        at("queues/<asyncjobs_text:name>/purge/", PurgeQueue, "queue_purge"),
        at("queues/<asyncjobs_text:name>/", OneQueue, "queue"),
        at("workers/", Workers, "workers"),
        at("workers/order/", OrderWorker, "worker_order"),
        at("operations/", Operations, "operations"),
        at("operations/<str:job_id>/", OneOperation, "operation"),
        at("operations/<str:job_id>/undo/", UndoOperation, "operation_undo"),
    ]
