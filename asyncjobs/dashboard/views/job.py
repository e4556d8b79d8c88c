"""One job: what became of it and why, what it was given, what it said and made."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard import payloads
from asyncjobs.dashboard.deletions import deletions
from asyncjobs.dashboard.dossier import Dossier, job_of
from asyncjobs.dashboard.editing import is_editable
from asyncjobs.dashboard.frame import LIVE, Framed, Page, may
from asyncjobs.dashboard.views.job_acts import acts_of
from asyncjobs.domain.job import Job
from asyncjobs.errors import InvalidJobId
from asyncjobs.templatetags.asyncjobs import shown

_PARTS: Final = {"arguments": payloads.arguments_text, "result": payloads.result_text}


class OneJob(Page):
    """The page. A poll says what of the job it has, and gets what is new since."""

    template_name = "asyncjobs/dashboard/job.html"
    live_template = "asyncjobs/dashboard/_job_live.html"
    tab = "jobs"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        job = job_of(self.engine, kwargs["job_id"])
        return self._missing(request) if job is None else super().get(request, job=job)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        job: Job | None = kwargs.pop("job", None)
        context = super().get_context_data(**kwargs)
        if job is None:
            return context | self._left()
        dossier = Dossier(self.engine, job)
        return context | {
            "title": shown(job.name),
            "job": job,
            "dossier": dossier,
            "contents": dossier.contents if may(self.request.user, "view_payload") else None,
            "acts": acts_of(job),
            "is_editable": is_editable(job),
            **self._news_in(dossier),
        }

    def _missing(self, request: HttpRequest) -> HttpResponse:
        """What is left of it. A page that is open goes on saying that the job was removed."""
        context = self.get_context_data()
        if LIVE in request.GET:
            self.live_template = "asyncjobs/dashboard/_job_removed.html"
            return self._news(request, context)
        self.template_name, self.live_template = "asyncjobs/dashboard/job_missing.html", ""
        return self.render_to_response(context, status=200 if context["deletion"] else 404)

    def _left(self) -> dict[str, Any]:
        job_id = self.kwargs["job_id"]
        left: dict[str, Any] = {"title": _("No such job"), "job_id": job_id, "gone": None, "deletion": None}
        try:
            resting = self.engine.rests(job_id)
            if resting is None:
                return left | {"gone": self.engine.gone(job_id)}
        except InvalidJobId:
            return left
        return left | {"title": shown(resting.job.name), "deletion": deletions([resting])[0]}

    def _news_in(self, dossier: Dossier) -> dict[str, Any]:
        has = self.request.GET
        if LIVE not in has:
            return {}
        has_moved = has.get("state") != dossier.state
        return {
            "has_moved": has_moved,
            "new_attempts": dossier.attempts_after(_number(has.get("attempt"))) if has_moved else 0,
            "lines": dossier.log_after(_number(has.get("line"))),
        }


class Download(Framed):
    """The whole of what the page shows the beginning of."""

    permission = "view_payload"

    def get(self, request: HttpRequest, job_id: str, part: str) -> HttpResponse:
        job, text_of = job_of(self.engine, job_id), _PARTS.get(part)
        if job is None or text_of is None:
            raise Http404
        headers = {
            "Content-Disposition": f'attachment; filename="{job.id}-{part}.txt"',
            "X-Content-Type-Options": "nosniff",
        }
        return HttpResponse(text_of(job), content_type="text/plain; charset=utf-8", headers=headers)


def _number(text: str | None) -> int:
    """What is no number is none: everything is new then."""
    return int(text) if text and text.isdecimal() and text.isascii() and len(text) <= 15 else 0
