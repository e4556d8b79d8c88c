"""Handlers: the functions that run jobs, by name."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import update_wrapper
from typing import Any, Final, Generic, NamedTuple, ParamSpec, Self, TypeVar, Unpack, overload

from asgiref.sync import sync_to_async

from asyncjobs import rules
from asyncjobs.arguments.binding import Binding, Call
from asyncjobs.arguments.decoding import decode_call
from asyncjobs.current import get_engine
from asyncjobs.domain.job import Job
from asyncjobs.domain.retry import RetryPolicy, exponential
from asyncjobs.errors import DuplicateHandler, InvalidJob, UnknownHandler
from asyncjobs.options import HandlerOptions, Options, SubmitOptions
from asyncjobs.submission import new_jobs
from asyncjobs.times import Duration

P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound="Handler[..., Any]")

DEFAULT_RETRY: Final = exponential()
_OF_HANDLERS: Final = ("name", "aliases", "atomic", "api", "serializer", "can_submit")  # alone, and not of their jobs

_handlers: dict[str, "Handler[..., Any]"] = {}


class Exposure(NamedTuple):
    """How clients of the HTTP API may submit a handler's jobs."""

    serializer: Any = None  # a class of the REST framework's; None: made from the signature
    can_submit: Callable[[Any], bool] | None = None  # asked with the request


class Handler(Generic[P, R]):
    """A function that runs jobs. Calling it runs it here and now; `submit` has it run by a worker."""

    def __init__(
        self,
        function: Callable[P, R],
        name: str,
        options: Options,
        retry: RetryPolicy,
        aliases: tuple[str, ...],
        *,
        atomic: bool = False,
        exposure: Exposure | None = None,
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = name
        self.options = options
        self.retry = retry
        self.aliases = aliases
        self.atomic = atomic
        self.exposure = exposure
        self.is_async = inspect.iscoroutinefunction(function)
        self.binding = Binding(function)

    def __repr__(self) -> str:
        return f"<Handler {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[P]:
        """The arguments of one job, for `submit_many`."""
        return Call(args, kwargs)

    def call_of(self, job: Job) -> Call[Any]:
        """The arguments that a stored job has for the function."""
        return decode_call(job.payload)

    def using(self, **options: Unpack[SubmitOptions]) -> Self:
        """This handler with other options: `handler.using(queue="slow").submit(…)`."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | {"options": self.options.but(options)}
        return other

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Has the function run with these arguments, and answers the job that does it."""
        return self._submit([Call(args, kwargs)])[0]

    def submit_in(self, delay: Duration, /, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Submits a job that runs after `delay`: seconds or a timedelta."""
        return self.using(delay=delay).submit(*args, **kwargs)

    def submit_at(self, moment: datetime, /, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Submits a job that runs at `moment`."""
        return self.using(run_at=moment).submit(*args, **kwargs)

    def submit_many(self, calls: Iterable[Call[P]]) -> list[Job]:
        """Submits a job for each call, in far less time than one by one: `add.submit_many(add.call(n, 1) for n in x)`.

        If any of the calls cannot be a job, none is stored. They are stored 1,000 at a time, each thousand all or
        none; if one is refused, the error says how many jobs were stored before.
        """
        return self._submit(calls)

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        return await sync_to_async(self.submit)(*args, **kwargs)

    async def asubmit_in(self, delay: Duration, /, *args: P.args, **kwargs: P.kwargs) -> Job:
        return await sync_to_async(self.submit_in)(delay, *args, **kwargs)

    async def asubmit_at(self, moment: datetime, /, *args: P.args, **kwargs: P.kwargs) -> Job:
        return await sync_to_async(self.submit_at)(moment, *args, **kwargs)

    async def asubmit_many(self, calls: Iterable[Call[P]]) -> list[Job]:
        return await sync_to_async(self.submit_many)(calls)

    def jobs_of(self, calls: Iterable[Call[Any]]) -> list[Job]:
        """A job for each of these calls, to be submitted by the engine. One call that cannot be a job raises."""
        engine = get_engine()
        now, limit = engine.store.now(), engine.conf.max_payload
        return new_jobs(self.name, self.binding, self.options, calls, now=now, max_payload=limit)

    def _submit(self, calls: Iterable[Call[Any]]) -> list[Job]:
        unique = self.options.unique
        return get_engine().submit_many(self.jobs_of(calls), on_conflict=unique.on_conflict if unique else "return")


@overload
def job(function: Callable[P, R], /) -> Handler[P, R]: ...
@overload
def job(
    *,
    name: str | None = None,
    aliases: Iterable[str] = (),
    atomic: bool = False,
    api: bool = False,
    serializer: Any = None,
    can_submit: Callable[[Any], bool] | None = None,
    **options: Unpack[HandlerOptions],
) -> Callable[[Callable[P, R]], Handler[P, R]]: ...
def job(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    aliases: Iterable[str] = (),
    atomic: bool = False,
    api: bool = False,
    serializer: Any = None,
    can_submit: Callable[[Any], bool] | None = None,
    **options: Unpack[HandlerOptions],
) -> Any:
    """Makes a function a handler: `@job` or `@job(queue="mail", max_retries=5)`.

    Jobs are stored under the handler's name, by default that of the function; after a rename, `aliases` keeps the
    jobs of the old name running. An `atomic` one runs in a transaction; if jobs are kept in the same database, its end
    is written in it, too. With `api`, clients of the HTTP API can submit it: with arguments that fit the `serializer`,
    or else the function's own signature, and if `can_submit(request)` says so.
    """
    if not api and (serializer or can_submit):
        raise InvalidJob("serializer and can_submit are for handlers that the API offers: give api=True, too")
    exposure = Exposure(serializer, can_submit) if api else None
    known = [rules.job_name(alias) for alias in aliases]
    chosen = Options().but(options, beside=_OF_HANDLERS)

    def made(function: Callable[P, R]) -> Handler[P, R]:
        if atomic and inspect.iscoroutinefunction(function):
            raise InvalidJob(f"{function.__qualname__} is async, and Django has no transactions for async code")
        own_name = rules.job_name(f"{function.__module__}.{function.__qualname__}" if name is None else name)
        policy = chosen.retry or DEFAULT_RETRY
        options = replace(chosen, retry=None)
        return register(Handler(function, own_name, options, policy, tuple(known), atomic=atomic, exposure=exposure))

    return made if function is None else made(function)


def lookup(name: str) -> Handler[..., Any]:
    """The handler of this name, or once of this name."""
    handler = _handlers.get(name)
    if handler is None:
        close = get_close_matches(name[: rules.MAX_NAME], _handlers, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownHandler(f"no handler is registered as {name!r:.220}{hint}")
    return handler


def handlers() -> list[Handler[..., Any]]:
    """All handlers, by name."""
    return [handler for name, handler in sorted(_handlers.items()) if name == handler.name]


def is_internal(handler: Handler[..., Any]) -> bool:
    """Whether it is one of this package, and not of the site."""
    return handler.name.startswith("asyncjobs.")


def names_of_handlers() -> list[str]:
    """The names of those that are the site's."""
    return [handler.name for handler in handlers() if not is_internal(handler)]


def register(handler: H) -> H:
    """Makes the handler known by its names."""
    names = (handler.name, *handler.aliases)
    for name in names:
        _refuse_another(name, handler)
    for name in names:
        _handlers[name] = handler
    return handler


def _refuse_another(name: str, handler: Handler[..., Any]) -> None:
    """A module that is imported again registers the same functions again, and that is no conflict."""
    known = _handlers.get(name)
    if known is not None and _place_of(known.function) != _place_of(handler.function):
        raise DuplicateHandler(
            f"{_place_of(handler.function)} cannot be the job {name!r}: {_place_of(known.function)} is already"
        )


def _place_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
