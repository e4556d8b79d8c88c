"""What is to be done to jobs, those chosen from a list or all that match: shown first, and then done."""

from typing import Any, Final

from django.contrib import messages
from django.core import signing
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from asyncjobs.dashboard.crews import crews, serving
from asyncjobs.dashboard.deeds import OFFERED, Deed
from asyncjobs.dashboard.flow import RECENT, forecasts
from asyncjobs.dashboard.forms import ReasonForm, complaint
from asyncjobs.dashboard.frame import Page, back, may
from asyncjobs.dashboard.operations.orders import Order, read_order, signed
from asyncjobs.dashboard.operations.preview import Preview, preview
from asyncjobs.dashboard.ordering import carried
from asyncjobs.dashboard.search import CHOICES, TYPED
from asyncjobs.errors import InvalidArguments, InvalidJobId
from asyncjobs.ids import job_id_of

MOST: Final = 200  # jobs chosen one by one
ALL: Final = "all"  # the parameter that says that all that match are meant

SALT: Final = "asyncjobs.preview"
_SECONDS: Final = 24 * 3600  # for which one may think it over


class Previewing(Page):
    """What an order would do, and the form that has it done."""

    template_name = "asyncjobs/dashboard/preview.html"
    tab = "jobs"
    title = gettext_lazy("Please confirm")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Whoever had to log in on the way comes so: what was chosen is lost."""
        return redirect(self.address("jobs"))

    def show(self, shown: Preview, *, said: str = "") -> HttpResponse:
        order = signed(shown.order.but(expected=shown.first_total if shown.is_exact else None), salt=SALT)
        given = {"reason": self.request.POST.get("reason", ""), "complaint": said, "back": back(self.request)}
        context = self.get_context_data(preview=shown, order=order, **given, **self._surroundings(shown))
        response = self.render_to_response(context, status=422 if said else 200)
        patch_cache_control(response, private=True, no_cache=True)  # so a browser can go back to it without a question
        return response

    def permitted(self, name: str) -> Deed:
        """The deed of this name, if it is offered here, and this user may do it."""
        deed = OFFERED.get(name)
        if deed is None:
            raise BadRequest(f"one of {', '.join(OFFERED)} is to be done")
        if not may(self.request.user, deed.permission):
            raise PermissionDenied
        return deed

    def _surroundings(self, shown: Preview) -> dict[str, Any]:
        """How much more work it makes, and whether anybody is there for what is not done at once."""
        store, conf = self.engine.store, self.engine.conf
        now, load = store.now(), []
        if shown.deed.is_held:
            counts = store.counts()
            ahead = forecasts(counts, store.series(RECENT + 1), now=now)
            load = [(queue, count, ahead.get(queue)) for queue, count in shown.by_queue]
        crew = [] if shown.is_inline else crews(store.workers(), now=now, lease=conf.lease)
        is_served = shown.is_inline or any(one.takes_jobs for one in serving(crew, conf.dashboard.queue))
        return {
            "load": load,
            "is_served": is_served,
            "queue": conf.dashboard.queue,
            "hold": conf.dashboard.hold // 1000,
        }


class Matching(Previewing):
    """All jobs that a search finds, as they are now."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.of_search(self.permitted(request.POST.get("act", "")))

    def of_search(self, deed: Deed) -> HttpResponse:
        request, given = self.request, self.request.POST
        chosen = {name: given[name] for name in CHOICES if given.get(name)}
        now, by = self.engine.store.now(), str(request.user.pk)
        try:
            order = Order.of_search(given.get(TYPED, ""), chosen, deed=deed.name, frozen=now, by=by)
        except InvalidArguments as error:
            messages.error(request, _("Nothing can be done to all jobs of a search that is only partly understood."))
            messages.error(request, error.message)
            return redirect(back(request))
        return self.show(preview(self.engine.store, deed, order))


class Chosen(Matching):
    """Jobs that were chosen one by one, or all that match if that was chosen."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        deed = self.permitted(request.POST.get("act", ""))
        if ALL in request.POST:
            return self.of_search(deed)
        ids = _ids(request.POST.getlist("id"))
        if not ids:
            messages.warning(request, _("No jobs were selected."))
            return redirect(back(request))
        order = Order(deed=deed.name, frozen=self.engine.store.now(), by=str(request.user.pk), ids=ids)
        return self.show(preview(self.engine.store, deed, order))


class Carry(Previewing):
    """Does what was shown, to the jobs that it was shown of."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        order = self._order(request)
        deed = self.permitted(order.deed)
        shown = preview(self.engine.store, deed, order)
        if shown.is_empty:
            messages.warning(request, _("Nothing was done: these jobs have moved on or are gone, and are left alone."))
            return redirect(back(request))
        form = ReasonForm(request.POST)
        if not form.is_valid():
            return self.show(shown, said=complaint(form))
        reason = form.cleaned_data["reason"]
        if said := _missing(request, shown, reason):
            return self.show(shown, said=said)
        wanted = order.but(reason=reason, expected=shown.total if shown.is_exact else None)
        return carried(request, self.engine, wanted, is_small=shown.is_inline)

    def _order(self, request: HttpRequest) -> Order:
        """The one that was shown to this user."""
        try:
            order = read_order(request.POST.get("order", ""), salt=SALT, max_age=_SECONDS)
        except signing.BadSignature as error:
            raise BadRequest("this order was not made here, or too long ago") from error
        if order.by != str(request.user.pk):
            raise PermissionDenied
        return order


def _missing(request: HttpRequest, shown: Preview, reason: str) -> str:
    if shown.needs_reason and not reason:
        return _("Please say why: it is kept with the jobs and in the history.")
    if shown.to_type and request.POST.get("typed", "").strip().replace(",", "") != shown.to_type:
        return _("Please type %(what)s to confirm.") % {"what": shown.to_type}
    return ""


def _ids(given: list[str]) -> tuple[str, ...]:
    if len(given) > MOST:
        raise BadRequest(f"at most {MOST} jobs can be chosen one by one")
    try:
        return tuple(dict.fromkeys(map(job_id_of, given)))
    except InvalidJobId as error:
        raise BadRequest(error.message) from error
