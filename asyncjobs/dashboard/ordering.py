"""Orders that people give: carried out for them or by a worker, kept in the admin's history, and told of."""

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from asyncjobs.dashboard.acting import log_action
from asyncjobs.dashboard.deeds import DEEDS
from asyncjobs.dashboard.frame import back
from asyncjobs.dashboard.operations.chunks import Chunks
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.reports import Report
from asyncjobs.dashboard.operations.starting import carried_out, submitted
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.templatetags.asyncjobs import jobs_count


def carried(request: HttpRequest, engine: Engine, order: Order, *, is_small: bool) -> HttpResponse:
    """Does it and leads back, or leaves it to a worker and leads to its page."""
    if is_small:
        done_now(request, engine, order)
        return redirect(back(request))
    operation = submitted(engine, order)
    log_order(request, order, operation)
    return redirect(reverse("admin:asyncjobs_operation", args=[operation.id], current_app=request.current_app))


def done_now(request: HttpRequest, engine: Engine, order: Order) -> Report:
    """What came of the order, which is carried out here. Says so, and offers to undo it."""
    report = Report(carried_out(engine, order, stored=partial(log_order, request, order)))
    if not report.job.is_terminal:
        messages.warning(request, _("This was interrupted: a worker goes on with it."))
    if report.done:
        said = _done(order, report.done, hold=engine.conf.dashboard.hold)
        messages.success(request, _with_undo(request, said, report) if can_undo(engine, report) else said)
    if report.left_count:
        messages.warning(request, _left(report))
    return report


def log_order(request: HttpRequest, order: Order, operation: Job) -> None:
    """One line in the history, however many jobs it is about: what was ordered, whatever comes of it."""
    count = jobs_count(order.expected) if order.expected is not None else ""
    said = ": ".join(filter(None, (order.act, count, order.text or " ".join(order.ids), order.reason)))
    log_action(request, said, about=f"operation {operation.id}")


def can_undo(engine: Engine, report: Report) -> bool:
    """Whether what it did can be taken back, as far as the first chunk tells. An undo cannot."""
    if report.deed is None or report.order is None or report.order.undoes:
        return False
    first = Chunks(engine.store, report.job).first()
    if first is None:
        return False
    if report.deed.removes:
        return report.is_restorable(engine.store.now(), engine.conf.trash)
    return any(touched.past for touched in first.touched)


def _done(order: Order, count: int, *, hold: int) -> str:
    if order.undoes:
        return ngettext("The job is what it was.", "%(count)d jobs are what they were.", count) % {"count": count}
    deed = DEEDS[order.deed]
    begin = _("That begins in %(seconds)d s.") % {"seconds": hold // 1000} if deed.is_held and hold else ""
    return f"{deed.done_to(count)} {begin}".rstrip()


def _left(report: Report) -> str:
    """How many jobs were left alone, and why: "2 jobs were left alone: moved on since"."""
    count = report.left_count
    said = ngettext("%(count)d job was left alone", "%(count)d jobs were left alone", count) % {"count": count}
    reasons = report.left
    if len(reasons) == 1:
        return f"{said}: {reasons[0][1]}."
    return f"{said}: {', '.join(f'{number} {why}' for number, why in reasons)}."


def _with_undo(request: HttpRequest, said: str, report: Report) -> str:
    form = render_to_string("asyncjobs/dashboard/_undo.html", {"operation": report.job}, request)
    return format_html("{} {}", said, form)
