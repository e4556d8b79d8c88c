"""Workers: who lives, who fell silent, what each runs; and having one take no more jobs, or stop."""

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.acting import log_action
from asyncjobs.dashboard.crews import Crew, crews, ended
from asyncjobs.dashboard.frame import Act, Page
from asyncjobs.dashboard.marks import mark_of_all
from asyncjobs.templatetags.asyncjobs import shown

ENDED_SHOWN: Final = 50
ORDERS: Final = {
    "quiet": _("Worker %(name)s takes no more jobs as soon as it hears of it: within fifteen seconds, if it lives."),
    "work": _("Worker %(name)s takes jobs again as soon as it hears of it: within fifteen seconds, if it lives."),
    "stop": _(
        "Worker %(name)s lets what runs finish, and stops as soon as it hears of it: in fifteen seconds, if it lives."
    ),
}


class Workers(Page):
    template_name = "asyncjobs/dashboard/workers.html"
    live_template = "asyncjobs/dashboard/_workers_live.html"
    tab = "workers"
    title = _("Workers")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        engine = self.engine
        records, now = engine.store.workers(), engine.store.now()
        found = crews(records, now=now, lease=engine.conf.lease)
        return super().get_context_data(**kwargs) | {
            "crews": found,
            "ended": ended(records, limit=ENDED_SHOWN),
            "seen": mark_of_all(process.id for crew in found for process in crew.processes),
            "lease": engine.conf.lease,
        }


class OrderWorker(Act):
    """Has a worker take no more jobs, take them again, or stop."""

    permission = "control_worker"

    def act(self, request: HttpRequest) -> None:
        order = request.POST.get("order", "")
        crew = self._crew(request.POST.get("worker", ""))
        if order not in ORDERS or crew is None:
            messages.error(request, gettext("There is no such worker any more: nothing was ordered."))
            return
        for process in crew.processes:
            self.engine.store.order(process.id, order)
        said = ORDERS[order] % {"name": shown(crew.name)}
        log_action(request, said, about=shown(f"worker {crew.name} on {crew.host}"))
        messages.success(request, said)

    def _crew(self, key: str) -> Crew | None:
        store = self.engine.store
        found = crews(store.workers(), now=store.now(), lease=self.engine.conf.lease)
        return next((crew for crew in found if crew.key == key), None)
