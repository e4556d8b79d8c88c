"""What the cells of a list of jobs say: the same for a page and for its news, and quickly, for there are hundreds."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.templatetags.asyncjobs import error_line, job_badge, moment, ran_for, since, span

register = template.Library()

NOTHING = "–"


@register.filter
def state(job: Job | None) -> SafeString:
    if job is None:
        return format_html('<span class="aj-left">{}</span>', _("deleted"))
    if job.cancel_requested is not None and not job.is_terminal:
        return format_html('{} <span class="aj-note">{}</span>', job_badge(job), _("stopping"))
    return job_badge(job)


@register.filter
def attempts(job: Job) -> SafeString | str:
    """Of how many, unless it was retried by hand: then there is no end of them."""
    if not job.attempt:
        return NOTHING
    most = job.max_retries + 1
    return format_html('{}<span class="aj-dim">/{}</span>', job.attempt, max(most, job.attempt))


@register.filter
def duration(job: Job) -> SafeString | str:
    if job.status == JobStatus.IN_PROGRESS:
        return since(job.started_at)
    return span(ran_for(job))


@register.filter
def error(job: Job) -> SafeString | str:
    line = error_line(job)
    return format_html('<span class="aj-message" title="{}">{}</span>', line, line) if line else NOTHING


@register.filter
def ordered_at(job: Job, status: JobStatus | None) -> SafeString | str:
    """The time that a list of this status tells of the job."""
    if status == JobStatus.QUEUED:
        return moment(job.ready_at)
    if status == JobStatus.SCHEDULED:
        return moment(job.due_at)
    if status == JobStatus.IN_PROGRESS:
        return moment(job.started_at)
    return moment(job.completed_at if status in ENDED else job.created_at)


ENDED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED)
