"""What can be done to a queue: pause it, resume it, empty it."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from asyncjobs import rules
from asyncjobs.bulk import UNSTARTED
from asyncjobs.dashboard.acting import log_action
from asyncjobs.dashboard.forms import PauseForm, complaint
from asyncjobs.dashboard.frame import Act, back
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.preview import INLINE
from asyncjobs.dashboard.ordering import carried
from asyncjobs.engine import Engine
from asyncjobs.errors import InvalidJob
from asyncjobs.stores.base import QueueCounts
from asyncjobs.templatetags.asyncjobs import shown


def counts_of(engine: Engine, name: str) -> QueueCounts:
    """Those of a queue that was used: a slip of the pen makes no queue."""
    for counts in engine.counts():
        if counts.queue == name:
            return counts
    raise Http404(gettext("There is no such queue."))


def unstarted_in(counts: QueueCounts) -> int:
    return sum(counts.by_status.get(status, 0) for status in UNSTARTED)


class QueueAct(Act):
    """Something done to a queue that was used. Of a name that no queue of ours can have, it is said so."""

    def act(self, request: HttpRequest, name: str) -> None:
        counts_of(self.engine, name)
        try:
            self.change(request, name)
        except InvalidJob as error:
            messages.error(request, error.message)

    def change(self, request: HttpRequest, name: str) -> None:
        raise NotImplementedError


class PauseQueue(QueueAct):
    """Stops workers from taking jobs of a queue."""

    permission = "pause_queue"

    def change(self, request: HttpRequest, name: str) -> None:
        form = PauseForm(request.POST)
        if not form.is_valid():
            messages.error(request, complaint(form))
            return
        reason = form.cleaned_data["reason"]
        self.engine.pause(name, reason=reason, until=form.end(), by=str(request.user.pk))
        log_action(request, gettext("Paused: %(reason)s") % {"reason": shown(reason)}, about=f"queue {name}")
        messages.success(request, gettext("Queue %(name)s is paused. What runs goes on.") % {"name": name})


class ResumeQueue(QueueAct):
    """Lets workers take jobs of a queue again."""

    permission = "pause_queue"

    def change(self, request: HttpRequest, name: str) -> None:
        if self.engine.resume(name):
            log_action(request, gettext("Resumed"), about=f"queue {name}")
            messages.success(request, gettext("Queue %(name)s is resumed.") % {"name": name})
        else:
            messages.info(request, gettext("Queue %(name)s was not paused.") % {"name": name})


class PurgeQueue(Act):
    """Removes the jobs of a queue that have not started, by an operation."""

    permission = "purge_queue"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = kwargs["name"]
        waiting = unstarted_in(counts_of(self.engine, name))
        if request.POST.get("typed", "").strip() != name:
            messages.error(request, gettext("That is not the name of the queue: nothing was removed."))
            return redirect(back(request))
        try:
            chosen = {"queue": rules.queue_name(name)}
        except InvalidJob as error:
            messages.error(request, error.message)
            return redirect(back(request))
        now, by = self.engine.store.now(), str(request.user.pk)
        order = Order.of_search("", chosen, deed="purge", frozen=now, by=by).but(expected=waiting)
        return carried(request, self.engine, order, is_small=waiting <= INLINE)
