"""What the templates of the dashboard say of jobs."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from django import template
from django.apps import apps
from django.template import Context
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django_htmx.jinja import htmx_script

from asyncjobs.current import get_engine
from asyncjobs.dashboard import marks
from asyncjobs.dashboard.crews import Process
from asyncjobs.dashboard.terms import is_retrying
from asyncjobs.domain.job import Job, JobStatus

register = template.Library()

CAP: Final = 10_000
LINE: Final = 200  # characters of an error in a list
WORD: Final = 20  # characters of a state that is none of ours

ICONS: Final = {
    JobStatus.QUEUED: ("queued", _("queued")),
    JobStatus.WAITING: ("waiting", _("waiting")),
    JobStatus.SCHEDULED: ("scheduled", _("scheduled")),
    JobStatus.IN_PROGRESS: ("in_progress", _("running")),
    JobStatus.COMPLETED: ("completed", _("completed")),
    JobStatus.FAILED: ("failed", _("failed")),
    JobStatus.CANCELED: ("canceled", _("canceled")),
}
PROCESSES: Final = {
    "working": ("in_progress", _("working"), "in_progress"),
    "idle": ("queued", _("idle"), "completed"),
    "quiet": ("pause", _("quiet"), "scheduled"),
    "ending": ("waiting", _("ending"), "canceled"),
    "silent": ("failed", _("silent"), "failed"),
    "ended": ("canceled", _("ended"), "canceled"),
}
_DECEPTIVE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


@register.simple_tag(takes_context=True)
def htmx(context: Context) -> SafeString:
    """The script of htmx, if the site has it. Without, the pages work, and do not keep themselves fresh."""
    if not apps.is_installed("django_htmx"):
        return SafeString("")
    return htmx_script(version=2, nonce=context.get("csp_nonce"))


@register.simple_tag(takes_context=True)
def nonce(context: Context) -> SafeString | str:
    """The attribute by which a policy that knows scripts by a nonce knows ours; it is made when it is first read."""
    made = context.get("csp_nonce")
    return "" if made is None else format_html(' nonce="{}"', made)


@register.simple_tag
def icon(name: str) -> SafeString:
    """One of `_icons.html`. It says nothing that the words beside it do not say."""
    return format_html('<svg class="aj-icon" aria-hidden="true"><use href="#aj-i-{}"/></svg>', name)


@register.simple_tag
def status_badge(status: JobStatus) -> SafeString:
    """The status as icon, word and color."""
    name, word = ICONS[status]
    return format_html('<span class="aj-status aj-{}">{} {}</span>', name, icon(name), word)


@register.simple_tag
def job_badge(job: Job) -> SafeString:
    """The status of a job; one that waits for another run after a failure is told apart."""
    if not is_retrying(job):
        return status_badge(job.status)
    return format_html('<span class="aj-status aj-retrying">{} {}</span>', icon("retrying"), _("retrying"))


@register.simple_tag
def job_name(name: str) -> SafeString:
    """The name of a handler: what it is called, and paler where it is."""
    path, dot, last = shown(name).rpartition(".")
    return format_html('<span class="aj-path">{}{}</span><wbr>{}', path, dot, last) if path else format_html("{}", last)


@register.filter
def error_line(job: Job) -> str:
    """What went wrong, in one line: "ValueError: it broke"."""
    if job.error is None:
        return ""
    kind = job.error.type.rpartition(".")[2] or job.error.code
    return shown(" ".join(f"{kind}: {job.error.message}"[:LINE].split()))


@register.filter
def ran_for(job: Job) -> int | None:
    """How long its last run took, if that is known."""
    if job.started_at is None or job.completed_at is None:
        return None
    return max(job.completed_at - job.started_at, 0)


@register.filter
def capped(count: int) -> str:
    """A count for the eye: nobody needs to read more than "10,000+"."""
    return f"{number(CAP)}+" if count > CAP else number(count)


@register.simple_tag
def process_badge(process: Process) -> SafeString:
    """The state of a worker's process as icon, word and color. What another version may say is shown as it is."""
    state = "idle" if process.state == "working" and not process.running else process.state
    name, word, color = PROCESSES.get(state, ("alert", shown(state[:WORD]), "canceled"))
    return format_html('<span class="aj-status aj-{}">{} {}</span>', color, icon(name), word)


@register.filter
def status_word(status: JobStatus) -> Any:
    return ICONS[status][1]


@register.filter
def state_word(job: Job) -> Any:
    return _("retrying") if is_retrying(job) else ICONS[job.status][1]


@register.filter
def moment(ms: int | None) -> SafeString | str:
    """A time that the page's script keeps saying in words: "3 min ago"."""
    return _time(ms, "ago")


@register.filter
def since(ms: int | None) -> SafeString | str:
    """A time as what has passed since, kept up to date by the page's script: "3 min"."""
    return _time(ms, "since")


def _time(ms: int | None, said: str) -> SafeString | str:
    if ms is None:
        return "–"
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return format_html(
        '<time datetime="{}" data-aj-time="{}">{} UTC</time>',
        at.isoformat(timespec="milliseconds"),
        said,
        at.strftime("%Y-%m-%d %H:%M:%S"),
    )


@register.filter
def number(value: int) -> str:
    """With separators, as the locale has them: 12,431."""
    return number_format(value, use_l10n=True, force_grouping=True)


@register.filter
def amount(value: int) -> SafeString | str:
    """For a table: those that are not zero are what the eye is to meet."""
    return number(value) if value else format_html('<span class="aj-zero">{}</span>', value)


@register.filter
def clock(ms: int) -> SafeString:
    """A time of day, to the millisecond; the day is in its title."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="milliseconds"),
        at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        f"{at:%H:%M:%S}.{at.microsecond // 1000:03}",
    )


@register.filter
def last_part(name: str) -> str:
    """Of a dotted name, what people call it."""
    return name.rpartition(".")[2]


@register.filter
def tag_term(tag: str) -> str:
    """What finds the jobs with this tag, typed into the list of jobs."""
    return f'tag:"{tag}"'


@register.filter
def span(ms: int | None) -> str:
    """A duration, roughly: "3 min". None is no duration; none is below zero, whatever the clocks say."""
    if ms is None:
        return "–"
    seconds = max(ms, 0) / 1000
    for size, unit in _UNITS:
        if seconds >= size:
            count = f"{seconds / size:.1f}" if seconds < 10 * size else f"{seconds // size:.0f}"
            return f"{count.removesuffix('.0')} {unit}"
    return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


@register.simple_tag
def trash_time() -> str:
    """For how long a deleted job rests, in words: "24 hours". Nothing, if it goes at once."""
    rest = get_engine().conf.trash
    hours, over = divmod(rest, 3_600_000)
    if over:
        return span(rest)
    return ngettext("%(count)d hour", "%(count)d hours", hours) % {"count": hours} if hours else ""


@register.filter
def jobs_count(count: int) -> str:
    return ngettext("%(count)s job", "%(count)s jobs", count) % {"count": number(count)}


@register.filter
def minutes(number: float) -> str:
    return span(round(number * 60_000))


@register.filter
def shown(text: Any) -> str:
    """Somebody else's text without what makes it look like something else: control and bidirectional characters."""
    return _DECEPTIVE.sub("\N{REPLACEMENT CHARACTER}", str(text))


@register.filter
def exact_time(ms: int) -> str:
    """A time for a sentence."""
    return f"{date_format(datetime.fromtimestamp(ms / 1000, UTC), 'j M H:i')} UTC"


@register.filter
def get(values: Mapping[str, Any], key: str) -> Any:
    """What a mapping has under a key that a template knows by a variable only."""
    return values.get(key)


@register.filter
def mark(text: Any) -> str:
    """What stands for somebody else's text in an id of the page."""
    return marks.mark(str(text))
