"""What can be done to a job."""

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from asyncjobs.actions import OPERATION
from asyncjobs.dashboard.acting import log_action, noted
from asyncjobs.dashboard.deeds import DEEDS
from asyncjobs.dashboard.dossier import is_resting, job_of
from asyncjobs.dashboard.forms import ReasonForm, RescheduleForm, complaint
from asyncjobs.dashboard.frame import Act, back
from asyncjobs.dashboard.operations.meeting import FINAL, why_left
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.preview import WHY
from asyncjobs.dashboard.ordering import done_now
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJob, InvalidTransition, JobNotFound
from asyncjobs.times import due_ms

_OF_STATUS: Final[dict[JobStatus, tuple[str, ...]]] = {
    JobStatus.QUEUED: ("reschedule", "cancel", "delete"),
    JobStatus.WAITING: ("cancel", "delete"),
    JobStatus.SCHEDULED: ("run_now", "reschedule", "cancel", "delete"),
    JobStatus.IN_PROGRESS: ("stop",),
    JobStatus.COMPLETED: ("run_again", "delete"),
    JobStatus.FAILED: ("retry", "delete"),
    JobStatus.CANCELED: ("retry", "delete"),
}
_RUNS: Final = ("retry", "run_again", "run_now")  # the job, if it is no operation


def acts_of(job: Job) -> tuple[str, ...]:
    """What can be done to a job in its status. Whoever was asked to stop need not be asked again."""
    if job.cancel_requested is not None and not job.is_terminal:
        return ()
    acts = _OF_STATUS[job.status]
    return tuple(act for act in acts if act not in _RUNS) if job.name == OPERATION else acts


class JobAct(Act):
    """Something done to one job, with the reason that the form gives, if it gives one."""

    form: type[ReasonForm] = ReasonForm

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        job, form = job_of(self.engine, kwargs["job_id"]), self.form(request.POST)
        if job is None:
            self.refuse(_("there is no such job any more"))
        elif not form.is_valid():
            self.refuse(complaint(form))
        else:
            self.change(job, form)

    def change(self, job: Job, form: Any) -> None:
        raise NotImplementedError

    def refuse(self, why: str) -> None:
        messages.error(self.request, _("Nothing was done: %(why)s.") % {"why": why.rstrip(".")})

    def refuse_what_moved(self) -> None:
        self.refuse(_("the job has moved on, and this cannot be done to it now"))


class OneDeed(JobAct):
    """A deed, done to a job by an operation of its own: so it can be undone."""

    def change(self, job: Job, form: Any) -> None:
        deed, now = DEEDS[self.deed_for(job)], self.engine.store.now()
        order = Order(
            deed=deed.name,
            frozen=max(now, job.created_at, job.updated_at),  # it is meant as it is, whatever the clocks say
            by=str(self.request.user.pk),
            reason=form.cleaned_data["reason"],
            ids=(job.id,),
            expected=1,
        )
        why = why_left(deed, order, job)
        if not why:
            done_now(self.request, self.engine, order)
        elif why == FINAL:
            self.refuse(str(WHY[FINAL]))
        else:
            self.refuse_what_moved()

    def deed_for(self, job: Job) -> str:
        raise NotImplementedError


class Cancel(OneDeed):
    permission = "cancel_job"

    def deed_for(self, job: Job) -> str:
        return "cancel"


class Retry(OneDeed):
    permission = "retry_job"

    def deed_for(self, job: Job) -> str:
        return "run_again" if job.status == JobStatus.COMPLETED else "retry"


class RunNow(OneDeed):
    permission = "retry_job"

    def deed_for(self, job: Job) -> str:
        return "run_now"


class Delete(OneDeed):
    permission = "delete_job"

    def deed_for(self, job: Job) -> str:
        return "delete"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Leads back only to a job that is still there, or in the trash."""
        job_id = kwargs["job_id"]
        self.act(request, *args, **kwargs)
        is_left = job_of(self.engine, job_id) is not None or is_resting(self.engine, job_id)
        return redirect(back(request) if is_left else self.address("jobs"))


class Reschedule(JobAct):
    permission = "retry_job"
    form = RescheduleForm

    def change(self, job: Job, form: Any) -> None:
        reason = form.cleaned_data["reason"]
        more = {"reason": reason} if reason else {}
        try:
            due_at = due_ms(form.when(), now=self.engine.store.now())
            self.engine.change(
                job.id,
                lambda job, now: transitions.reschedule(job, due_at, now=now),
                note=noted(self.request, "reschedule", **more),
            )
        except (InvalidTransition, JobNotFound):
            return self.refuse_what_moved()
        except InvalidJob as error:
            return self.refuse(error.message)
        done = _("The job is due at another time.")
        messages.success(self.request, done)
        log_action(self.request, f"{done} {reason}".strip(), about=f"job {job.id}")
