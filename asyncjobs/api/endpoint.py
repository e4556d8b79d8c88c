"""`@async_endpoint`: a view of the REST framework whose requests are answered by workers."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeVar, Unpack, overload

from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import storages
from rest_framework.decorators import api_view
from rest_framework.permissions import IsAuthenticated
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from asyncjobs import rules
from asyncjobs.api.accepting import Accepting
from asyncjobs.api.handler import DEFERRABLE, EndpointHandler, Terms
from asyncjobs.conf_api import header_name
from asyncjobs.errors import InvalidJob
from asyncjobs.options import HandlerOptions, Options
from asyncjobs.reading import BadSetting
from asyncjobs.registry import register

V = TypeVar("V", bound=Callable[..., Any])

_NAMELESS: Final = "WrappedAPIView"  # what `api_view` calls its classes


@overload
def async_endpoint(view: V, /) -> V: ...
@overload
def async_endpoint(
    *,
    methods: Iterable[str] | None = None,
    serializer: Any = None,
    storage: str | None = None,
    headers: Iterable[str] = (),
    name: str | None = None,
    aliases: Iterable[str] = (),
    atomic: bool = False,
    **options: Unpack[HandlerOptions],
) -> Callable[[V], V]: ...
def async_endpoint(
    view: Any = None,
    /,
    *,
    methods: Iterable[str] | None = None,
    serializer: Any = None,
    storage: str | None = None,
    headers: Iterable[str] = (),
    name: str | None = None,
    aliases: Iterable[str] = (),
    atomic: bool = False,
    **options: Unpack[HandlerOptions],
) -> Any:
    """Makes a view asynchronous: its requests are checked and stored, answered 202, and carried out by a worker.

    For a view class of the REST framework, a view function made by `api_view` or `as_view`, or a plain function,
    which becomes a view for POST. Of a view that has several methods, those that change something are asynchronous,
    or those named by `methods`. The body is to fit the `serializer`, or else that of the view. Jobs keep the headers
    named in the settings and those in `headers`; uploaded files go to the `storage`. Other options are as for `@job`.
    """
    terms = Terms(
        methods=None if methods is None else tuple(map(_method, methods)),
        headers=tuple(map(_header, headers)),
        storage=_storage(storage),
        serializer=serializer,
        atomic=atomic,
        options=_options(options),
    )
    made = partial(_made, terms=terms, name=name, aliases=tuple(map(rules.job_name, aliases)))
    return made if view is None else made(view)


def _made(view: Any, *, terms: Terms, name: str | None, aliases: tuple[str, ...]) -> Any:
    """A class of a class, and a view of what else there is."""
    if isinstance(view, type):
        return _endpoint(view, terms, name, aliases)
    kind = _class_of(view, name) if _is_made(view) else _from_function(view, terms.methods)
    return _endpoint(kind, terms, name, aliases).as_view()


def _endpoint(view: type[APIView], terms: Terms, name: str | None, aliases: tuple[str, ...]) -> type[Accepting]:
    _require_usable(view)
    made = view if issubclass(view, Accepting) else _accepting(view)
    handler = EndpointHandler(made, terms, name, aliases)
    missing = [method for method in terms.methods or () if method not in handler.methods]
    if missing or not handler.methods:
        raise TypeError(f"{view.__qualname__} has no method {', '.join(missing or DEFERRABLE)} to be left to a worker")
    made._endpoint = register(handler)
    return made


def _accepting(view: type[APIView]) -> type[Accepting]:
    space = {"__module__": view.__module__, "__doc__": view.__doc__, "__qualname__": _qualname(view)}
    made: type[Accepting] = type(view.__name__, (Accepting, view), space)
    return made


def _is_made(view: Any) -> bool:
    """Whether it is what `as_view` makes."""
    return hasattr(view, "cls") or hasattr(view, "view_class")


def _class_of(view: Any, name: str | None) -> type[APIView]:
    """The class behind a view function, with the options that `as_view` was given."""
    kind: type[APIView] = getattr(view, "cls", None) or view.view_class
    _require_usable(kind)
    if hasattr(getattr(view, "__wrapped__", None), "__wrapped__"):
        raise TypeError("async_endpoint goes below other decorators of a view, right above @api_view or as_view()")
    options = view.view_initkwargs
    if not options:
        return kind
    if name is None:
        raise TypeError(f"{kind.__qualname__}.as_view() has options: give its endpoint a name of its own")
    given = ", ".join(f"{key}={value!r}" for key, value in sorted(options.items()))
    space = {"__module__": kind.__module__, "__qualname__": f"{kind.__qualname__}({given})", "__doc__": kind.__doc__}
    made: type[APIView] = type(kind.__name__, (kind,), options | space)
    return made


def _from_function(function: Any, methods: tuple[str, ...] | None) -> type[APIView]:
    """A view class; for users who are known, unless the function has permissions of its own.

    Others could not follow their jobs.
    """
    if not callable(function):
        raise TypeError(f"{function!r:.80} is no view")
    view: Any = api_view(methods or ("POST",))(function)
    if not hasattr(function, "permission_classes"):
        view.cls.permission_classes = [IsAuthenticated]
    made: type[APIView] = view.cls
    return made


def _qualname(view: type[APIView]) -> str:
    return view.__name__ if view.__qualname__ == _NAMELESS else view.__qualname__


def _require_usable(view: type[Any]) -> None:
    if not issubclass(view, APIView):
        raise TypeError(f"{view.__qualname__} is no view of the REST framework")
    if issubclass(view, ViewSetMixin):
        raise TypeError(f"{view.__qualname__} is a view set, whose actions cannot be endpoints: write a view for each")
    if any(map(inspect.iscoroutinefunction, _functions_of(view))):
        raise TypeError(f"{view.__qualname__} is async, and views of the REST framework cannot be")


def _functions_of(view: type[APIView]) -> Iterator[Any]:
    """What answers requests; of a view that `api_view` made, the function within."""
    for method in DEFERRABLE:
        if handler := getattr(view, method.lower(), None):
            yield handler
            yield from inspect.getclosurevars(handler).nonlocals.values()


def _options(given: HandlerOptions) -> Options:
    if "unique" in given:
        raise InvalidJob("requests have no unique key: a client that repeats one sends an Idempotency-Key")
    return Options().but(given)


def _method(name: str) -> str:
    method = name.upper()
    if method not in DEFERRABLE:
        raise TypeError(f"{name!r:.40} is not asynchronous anywhere: {', '.join(DEFERRABLE)} can be")
    return method


def _header(name: str) -> str:
    try:
        return header_name(name)
    except BadSetting as error:
        raise InvalidJob(f"{error}. {error.hint or ''}".strip()) from None


def _storage(alias: str | None) -> str | None:
    if alias is not None and alias not in storages.backends:
        raise ImproperlyConfigured(f"STORAGES has no {alias!r}; there are {', '.join(storages.backends)}")
    return alias
