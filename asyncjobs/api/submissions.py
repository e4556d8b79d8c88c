"""From what a client asks for to jobs that can be stored."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple

from asyncjobs.api.access import owner_of
from asyncjobs.api.arguments import Arguments
from asyncjobs.api.pace import pace_of
from asyncjobs.api.problems import Fault, Problem, escaped, invalid
from asyncjobs.api.times import duration_of, moment_of
from asyncjobs.api.webhooks import CALLBACK, check_callback
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import InvalidArguments, InvalidJob, PayloadTooLarge, UnknownHandler
from asyncjobs.registry import Handler, handlers, lookup
from asyncjobs.rules import unique_key
from asyncjobs.unique import OnConflict, Unique

FIELDS: Final = frozenset(
    {"name", "args", "kwargs", "payload", "queue", "priority", "delay", "run_at", "unique_key", "tags", "callback_url"}
)


class Submission(NamedTuple):
    """A job to be stored, and what is to happen if it has a twin: a live job with the same key."""

    job: Job
    on_conflict: OnConflict = "return"
    may_meet_others: bool = False
    callback: str | None = None


class Submissions:
    """Reads the submissions of one request."""

    def __init__(self, engine: Engine, request: Any) -> None:
        self._engine = engine
        self._request = request
        self._owner = owner_of(request.user)
        self._offers: dict[str, tuple[Handler[..., Any], Arguments]] = {}

    def read(self, body: Any, at: str = "#") -> Submission:
        """What this body asks for; `at` is its place in the request."""
        if not isinstance(body, Mapping):
            raise invalid(at, "A submission is an object.")
        if unknown := sorted(body.keys() - FIELDS):
            raise Problem("invalid", "There is no such field.", faults=(_unknown(name, at) for name in unknown))
        handler, arguments = self._offer(body.get("name"), at)
        options = self._options(handler, body, at)
        call = arguments.read(body, at)
        try:
            [job] = (handler.using(**options) if options else handler).jobs_of([call])
        except (InvalidArguments, InvalidJob) as error:
            raise invalid(at, error.message) from None
        except PayloadTooLarge as error:
            raise Problem("too-large", error.message) from None
        callback = self._callback(body.get("callback_url"), at)
        if callback is not None:
            job = job.replace(headers={CALLBACK: [callback]})
        unique = None if "unique" in options else handler.options.unique
        if unique is None:
            return Submission(job, callback=callback)
        return Submission(job, unique.on_conflict, may_meet_others=True, callback=callback)

    def _offer(self, name: Any, at: str) -> tuple[Handler[..., Any], Arguments]:
        """The handler of this name, if the client may submit it. Those that are not offered are not there."""
        if not isinstance(name, str):
            raise invalid(f"{at}/name", "Give the name of a handler.", "required")
        if name not in self._offers:
            handler = _exposed(name, at)
            may = handler.exposure.can_submit if handler.exposure else None
            if may is not None and not may(self._request):
                raise Problem("permission-denied", f"You may not submit {handler.name}.")
            self._offers[name] = handler.using(owner=self._owner), Arguments(handler, self._request)
        return self._offers[name]

    def _options(self, handler: Handler[..., Any], body: Mapping[str, Any], at: str) -> dict[str, Any]:
        if "delay" in body and "run_at" in body:
            raise invalid(f"{at}/run_at", "A job has a delay or a time to run at, not both.")
        options = {}
        for name, read in _READERS.items():
            if body.get(name) is not None:
                try:
                    options[name] = read(body[name])
                    handler.options.but({name: options[name]})
                except InvalidJob as error:
                    raise invalid(f"{at}/{name}", error.message) from None
        if (key := body.get("unique_key")) is not None:
            options["unique"] = self._unique(handler, key, f"{at}/unique_key")
        self._require_queue(handler, options.get("queue"), f"{at}/queue")
        return options

    def _unique(self, handler: Handler[..., Any], key: Any, at: str) -> Unique:
        """By the client's own key, which is no other client's. It takes no handler out of its own."""
        if handler.options.unique is not None:
            raise invalid(at, "Jobs of this handler have a key of their own.")
        try:
            own = sha256(f"{self._owner}\n{unique_key(key)}".encode()).hexdigest()[:32]
        except InvalidJob as error:
            raise invalid(at, error.message) from None
        return Unique(key=lambda *args, **kwargs: f"client:{own}")

    def _callback(self, url: Any, at: str) -> str | None:
        try:
            return None if url is None else check_callback(url, self._engine.conf.api.webhooks)
        except InvalidJob as error:
            raise invalid(f"{at}/callback_url", error.message) from None

    def _require_queue(self, handler: Handler[..., Any], queue: str | None, at: str) -> None:
        """One that is there: clients fill queues, and do not make them."""
        if queue is None or queue == handler.options.queue or queue in self._engine.conf.queues:
            return
        if queue not in pace_of(self._engine).queues(self._engine):
            raise invalid(at, f"There is no queue {queue!r:.80}.")


def exposed() -> list[Handler[..., Any]]:
    """The handlers that clients may submit, by name."""
    return [handler for handler in handlers() if handler.exposure is not None]


def _exposed(name: str, at: str) -> Handler[..., Any]:
    try:
        handler = lookup(name)
    except UnknownHandler:
        handler = None
    if handler is None or handler.exposure is None:
        raise invalid(f"{at}/name", f"There is no handler {name!r:.220}.", "unknown")
    return handler


def _unknown(name: str, at: str) -> Fault:
    return Fault(f"{at}/{escaped(name[:80])}", "unknown", "There is no such field.")


def _delay(value: Any) -> timedelta:
    return duration_of(value, "a delay")


def _run_at(value: Any) -> datetime:
    return moment_of(value, "a time to run at")


def _tags(value: Any) -> Sequence[str]:
    if not isinstance(value, list):
        raise InvalidJob("tags are a list of texts")
    return value


def _priority(value: Any) -> Any:
    """Such as 5, and 5.0: to JSON it is the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_given(value: Any) -> Any:
    return value


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "queue": _as_given,
    "priority": _priority,
    "delay": _delay,
    "run_at": _run_at,
    "tags": _tags,
}
