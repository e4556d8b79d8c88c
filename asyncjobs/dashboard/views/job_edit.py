"""A job whose arguments were wrong runs again, with others: as a new job, and the old one stays as it is."""

from contextlib import suppress
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from asyncjobs import rules
from asyncjobs.actions import action_entry
from asyncjobs.dashboard import editing
from asyncjobs.dashboard.acting import log_action
from asyncjobs.dashboard.dossier import job_of
from asyncjobs.dashboard.frame import Page, may
from asyncjobs.domain.job import Job
from asyncjobs.errors import (
    DeserializationError,
    DuplicateJob,
    InvalidArguments,
    InvalidJob,
    JobNotFound,
    PayloadTooLarge,
    QueueFull,
)

LEAST_ROWS: Final = 8
MOST_ROWS: Final = 30
ALSO_NEEDED: Final = ("submit_job", "view_payload")
REFUSED: Final = (DeserializationError, DuplicateJob, InvalidArguments, InvalidJob, PayloadTooLarge, QueueFull)


class Edit(Page):
    """The form, and what becomes of it."""

    template_name = "asyncjobs/dashboard/job_edit.html"
    tab = "jobs"
    title = gettext_lazy("Edit arguments and run again")
    permission = "retry_job"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not all(may(request.user, permission) for permission in ALSO_NEEDED):
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = min(max(kwargs["text"].count("\n") + 2, LEAST_ROWS), MOST_ROWS)
        return super().get_context_data(**kwargs) | {"rows": rows}

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        job = self._editable()
        return super().get(request, job=job, text=editing.text_of(job)) if job else self._refused()

    def post(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        job = self._editable()
        if job is None:
            return self._refused()
        text, reason = request.POST.get("arguments", ""), request.POST.get("reason", "").strip()
        try:
            new = self._replaced(job, text, rules.reason(reason))
        except REFUSED as error:
            context = self.get_context_data(job=job, text=text, reason=reason, error=error.message)
            return self.render_to_response(context, status=422)
        messages.success(request, _("This job runs in the place of %(id)s.") % {"id": job.id})
        return redirect(self.address("job", new.id))

    def _replaced(self, job: Job, text: str, reason: str) -> Job:
        """Each of the two says which the other one is."""
        [new] = self.engine.submit_many([editing.edited(job, text)], on_conflict="raise", on_commit=False)
        self._note(new.id, "edit", job=job.id, reason=reason)
        self._note(job.id, "replace", job=new.id, reason=reason)
        message = _("Submitted %(new)s in the place of %(old)s. %(reason)s")
        log_action(self.request, message % {"new": new.id, "old": job.id, "reason": reason}, about=f"job {job.id}")
        return new

    def _note(self, job_id: str, action: str, **more: str) -> None:
        """A job that is gone by now needs none."""
        now, by = self.engine.store.now(), str(self.request.user.pk)
        entry = action_entry(action, by=by, now=now, **more)
        with suppress(JobNotFound):
            self.engine.note(job_id, entry)

    def _editable(self) -> Job | None:
        job = job_of(self.engine, self.kwargs["job_id"])
        return job if job and editing.is_editable(job) else None

    def _refused(self) -> HttpResponse:
        messages.error(self.request, _("The arguments of this job cannot be edited: it is not over, or not a call."))
        return redirect(self.address("job", self.kwargs["job_id"]))
