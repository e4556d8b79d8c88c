"""What staff see of queues, workers and handlers, and what they do to queues."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from rest_framework.response import Response

from asyncjobs.api.access import SEE_ALL, IsStaffWith, owner_of
from asyncjobs.api.base import ApiView
from asyncjobs.api.bodies import handler_body, handler_linker, pause_body, queue_body, worker_body
from asyncjobs.api.problems import Problem, invalid
from asyncjobs.api.submissions import exposed
from asyncjobs.api.times import duration_of, moment_of
from asyncjobs.api.views.acts import read_reason, require_empty
from asyncjobs.errors import InvalidJob, UnknownHandler
from asyncjobs.registry import lookup
from asyncjobs.times import due_ms

End = datetime | timedelta


class StaffView(ApiView):
    """A view for staff with a permission."""

    permission_classes = (IsStaffWith,)
    permission = SEE_ALL


class Queues(StaffView):
    """All queues that were ever used."""

    def get(self, request: Any) -> Response:
        """How many jobs each has in which status, how long the oldest waits, and its pause."""
        counts, now = self.engine.counts(), self.engine.store.now()
        return Response({"queues": [queue_body(queue, now) for queue in counts]})


class QueueView(StaffView):
    """A view of one queue."""

    route = ("name",)
    permission = "pause_queue"

    def require_queue(self, name: str) -> None:
        """One that was used: a slip of the pen makes no queue."""
        if all(counts.queue != name for counts in self.engine.counts()):
            raise Problem("not-found", "There is no such queue.")


class PauseQueue(QueueView):
    """A halt of a queue."""

    def post(self, request: Any, name: str) -> Response:
        """Stops workers from taking its jobs, until it is resumed, or until a time."""
        self.require_queue(name)
        reason, until = _pause_in(request.data, self.engine.store.now())
        pause = self.engine.pause(name, reason=reason, until=until, by=owner_of(request.user))
        return Response(pause_body(pause))


class ResumeQueue(QueueView):
    """The end of a halt."""

    def post(self, request: Any, name: str) -> Response:
        """Lets workers take its jobs again, and says whether they could not."""
        self.require_queue(name)
        require_empty(request.data)
        return Response({"resumed": self.engine.resume(name)})


class Workers(StaffView):
    """The processes that run jobs."""

    def get(self, request: Any) -> Response:
        """Those heard from in the last day, and what they said."""
        records, now = self.engine.store.workers(), self.engine.store.now()
        lease = self.engine.conf.lease
        return Response({"workers": [worker_body(record, now, lease=lease) for record in records]})


class Handlers(StaffView):
    """What clients may submit."""

    def get(self, request: Any) -> Response:
        """The handlers offered, with their options and their arguments."""
        link = handler_linker(request)
        return Response({"handlers": [handler_body(handler, link) for handler in exposed()]})


class OneHandler(StaffView):
    """One of the handlers that clients may submit."""

    route = ("name",)

    def get(self, request: Any, name: str) -> Response:
        """Its options and its arguments."""
        try:
            handler = lookup(name)
        except UnknownHandler:
            raise _no_handler() from None
        if handler.exposure is None:
            raise _no_handler()
        return Response(handler_body(handler, handler_linker(request)))


def _pause_in(body: Any, now: int) -> tuple[str, End | None]:
    """The reason and the end that are asked for."""
    if not isinstance(body, Mapping) or body.keys() - _ENDS.keys() - {"reason"}:
        raise invalid("#", 'Give nothing, or an object with a "reason" and "until" or "for".')
    ends = [name for name in _ENDS if body.get(name) is not None]
    if len(ends) > 1:
        raise invalid("#/for", "A pause has an end or a length, not both.")
    return read_reason(body), _end(ends[0], body[ends[0]], now) if ends else None


def _end(name: str, given: Any, now: int) -> End:
    try:
        end = _ENDS[name](given)
        due = due_ms(end, now=now)
    except InvalidJob as error:
        raise invalid(f"#/{name}", error.message) from None
    if due <= now:
        raise invalid(f"#/{name}", "A pause ends in the future.")
    return end


def _no_handler() -> Problem:
    return Problem("not-found", "There is no such handler.")


_ENDS: Final[Mapping[str, Callable[[Any], End]]] = {
    "until": partial(moment_of, what="the end of a pause"),
    "for": partial(duration_of, what="the length of a pause"),
}
