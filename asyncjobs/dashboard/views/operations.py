"""Operations: what was done to many jobs at once, by whom and why, how far it is, and the way back."""

from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from asyncjobs.actions import OPERATION
from asyncjobs.dashboard.dossier import job_of
from asyncjobs.dashboard.frame import LIVE, Act, Page, back, may
from asyncjobs.dashboard.operations.chunks import Chunks
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.preview import INLINE
from asyncjobs.dashboard.operations.reports import Report
from asyncjobs.dashboard.operations.starting import undo_of
from asyncjobs.dashboard.ordering import can_undo, carried
from asyncjobs.dashboard.people import names_of
from asyncjobs.engine import Engine
from asyncjobs.errors import InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.stores.base import Query
from asyncjobs.stores.cursor import InvalidCursor
from asyncjobs.templatetags.asyncjobs import jobs_count

ROWS: Final = 50


class Operations(Page):
    template_name = "asyncjobs/dashboard/operations.html"
    live_template = "asyncjobs/dashboard/_operations_live.html"
    tab = "operations"
    title = gettext_lazy("Operations")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        if LIVE in self.request.GET:
            return context | {"reports": self._on_the_page()}
        try:
            page = self.engine.find(Query(name=OPERATION, after=self.request.GET.get("after", ""), limit=ROWS))
        except InvalidCursor:
            raise Http404 from None
        reports = [Report(job) for job in page.jobs]
        names = names_of(report.order.by for report in reports if report.order)
        return context | {"reports": reports, "names": names, "older": page.next}

    def _on_the_page(self) -> list[Report]:
        """How far those are that the page shows."""
        try:
            ids = [job_id_of(given) for given in self.request.GET.getlist("id")[:ROWS]]
        except InvalidJobId as error:
            raise BadRequest(error.message) from error
        return [Report(job) for job in self.engine.store.get(ids) if job and job.name == OPERATION]


class OneOperation(Page):
    template_name = "asyncjobs/dashboard/operation.html"
    live_template = "asyncjobs/dashboard/_operation_live.html"
    tab = "operations"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        report = _report(self.engine, self.kwargs["job_id"])
        names = names_of([report.order.by]) if report.order else {}
        undo = undo_of(self.engine, report.job)
        return super().get_context_data(**kwargs) | {
            "title": f"{report.label} · {jobs_count(report.total)}" if report.is_counted else report.label,
            "report": report,
            "job": report.job,
            "names": names,
            "rests_until": report.rests_until(self.engine.conf.trash),
            "can_undo": _may_undo(self.request, report) and not undo and _is_undoable(self.engine, report),
            "undo": undo,
        }


class UndoOperation(Act):
    """Takes back what an operation did."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        report = _report(self.engine, kwargs["job_id"])
        if not _may_undo(request, report):
            raise PermissionDenied
        if undo_of(self.engine, report.job):
            messages.info(request, _("This is undone already, or just being undone."))
            return redirect(back(request))
        if not _is_undoable(self.engine, report):
            messages.error(request, _("Nothing of this can be undone, or not yet: it has to be over."))
            return redirect(back(request))
        size = Chunks(self.engine.store, report.job).size()  # what it told of its progress may be less
        now, by = self.engine.store.now(), str(request.user.pk)
        undone = report.order.deed if report.order else ""
        order = Order(deed=undone, frozen=now, by=by, undoes=report.job.id, expected=size)
        return carried(request, self.engine, order, is_small=size <= INLINE)


def _report(engine: Engine, job_id: str) -> Report:
    job = job_of(engine, job_id)
    if job is None or job.name != OPERATION:
        raise Http404
    return Report(job)


def _may_undo(request: HttpRequest, report: Report) -> bool:
    """Whoever may do a thing may take it back."""
    return report.deed is not None and may(request.user, report.deed.permission)


def _is_undoable(engine: Engine, report: Report) -> bool:
    """Whether it is over, and can be taken back, at least for some jobs."""
    return report.job.is_terminal and can_undo(engine, report)
