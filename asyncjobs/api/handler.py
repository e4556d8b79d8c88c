"""What a worker knows of an asynchronous endpoint."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from rest_framework.views import APIView

from asyncjobs import rules
from asyncjobs.api.problems import Problem
from asyncjobs.api.rerun import Rerun, submitter_of
from asyncjobs.arguments.binding import Call
from asyncjobs.current import get_engine
from asyncjobs.domain.job import Job
from asyncjobs.domain.retry import RetryPolicy
from asyncjobs.errors import DeserializationError, EndpointRefused, UserGone
from asyncjobs.options import Options
from asyncjobs.registry import DEFAULT_RETRY, Handler
from asyncjobs.submission import new_job

DEFERRABLE: Final = ("POST", "PUT", "PATCH", "DELETE")

_FOR_GOOD: Final = tuple(f"{error.__module__}.{error.__qualname__}" for error in (EndpointRefused, UserGone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How the requests of an endpoint are taken and run."""

    methods: tuple[str, ...] | None = None  # None: all deferrable ones that the view has
    headers: tuple[str, ...] = ()  # kept beside those of the settings
    storage: str | None = None  # None: no files
    serializer: Any = None  # None: the view's own
    atomic: bool = False
    options: Options


class EndpointHandler(Handler[..., Any]):
    """Runs the requests to one view."""

    def __init__(
        self, view: type[APIView], terms: Terms, name: str | None = None, aliases: tuple[str, ...] = ()
    ) -> None:
        own_name = rules.job_name(f"{view.__module__}.{view.__qualname__}" if name is None else name)
        retry = _never_for_good(terms.options.retry or DEFAULT_RETRY)
        options = replace(terms.options, retry=None)
        super().__init__(_function_of(view), own_name, options, retry, aliases, atomic=terms.atomic)
        self.view = view
        self.terms = terms
        self.methods = _methods_of(view, terms.methods or DEFERRABLE)

    def of(self, view: type[APIView]) -> "EndpointHandler":
        """One on the same terms for a view that extends this one."""
        return EndpointHandler(view, self.terms)

    def new_job(self, owner: str | None, **fields: Any) -> Job:
        """A job for a request of which these are the fields."""
        return new_job(self.name, self.options.but({"owner": owner}), now=get_engine().store.now(), **fields)

    def call_of(self, job: Job) -> Call[Any]:
        """The view, about to answer the request that the job was made from."""
        return Call((self._rerun.of(job, submitter_of(job)),), {})

    def require_permitted(self, job: Job, request: Any) -> None:
        """Asks the view's permissions whether who sends this request may still have that of the job carried out."""
        try:
            view = self._rerun._asking(job, request)
        except DeserializationError as error:
            raise Problem("not-retryable", error.message) from None
        view._let_in()

    @cached_property
    def _rerun(self) -> type[Rerun]:
        space = {"__module__": self.view.__module__, "__doc__": self.view.__doc__, "_endpoint": self}
        made: type[Rerun] = type(self.view.__name__, (Rerun, self.view), space)
        return made


def _methods_of(view: type[APIView], asked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in asked if hasattr(view, name.lower()) and name.lower() in view.http_method_names)


def _never_for_good(policy: RetryPolicy) -> RetryPolicy:
    return replace(policy, never=(*policy.never, *_FOR_GOOD))


def _function_of(view: type[APIView]) -> Callable[[Rerun], Any]:
    """One of its own for every view: handlers are told apart by their functions."""

    def answer(rerun: Rerun) -> Any:
        return rerun._answer()

    answer.__module__ = view.__module__
    answer.__name__ = view.__name__
    answer.__qualname__ = view.__qualname__
    answer.__doc__ = view.__doc__
    return answer
