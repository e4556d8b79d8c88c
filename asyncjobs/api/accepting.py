"""An asynchronous view in the web process: it takes requests, and leaves the answers to workers."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import Http404
from django.urls import NoReverseMatch
from rest_framework.exceptions import NotAcceptable, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from asyncjobs.api.acceptance import Acceptance
from asyncjobs.api.access import owner_of
from asyncjobs.api.capture import PATH, Text, captured
from asyncjobs.api.fitting import fitted
from asyncjobs.api.handler import EndpointHandler
from asyncjobs.api.idempotency import HEADER, Key, key_of
from asyncjobs.api.problems import Problem, handle, invalid, pointers
from asyncjobs.api.reading import read_as_utf8
from asyncjobs.api.site_transactions import inside_those_of, outside_all
from asyncjobs.api.uploads import Form, is_form, require_definite, require_form
from asyncjobs.current import get_engine
from asyncjobs.engine import Engine
from asyncjobs.registry import register


class Accepting(APIView):
    """Stores a request with an asynchronous method as a job, once the view's own rules have let it in.

    The names of ours begin with an underscore, to be none of the view's own.
    """

    _endpoint: EndpointHandler
    _text: Text | None = None  # None: a form with files

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """What extends an endpoint is an endpoint, whose jobs have its own name."""
        super().__init_subclass__(**kwargs)
        if "_endpoint" not in cls.__dict__ and hasattr(cls, "_endpoint"):
            cls._endpoint = register(cls._endpoint.of(cls))

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        if initkwargs:
            raise TypeError(f"{cls.__qualname__}.as_view() takes no options: a worker would not know of them")
        return outside_all(super().as_view())

    @property
    def _defers(self) -> bool:
        """Whether the request is one for a worker."""
        return self.request.method in self._endpoint.methods

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Methods that are answered here get the transactions that the site has around its views."""
        with nullcontext() if self._defers else inside_those_of(super().dispatch):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        if not self._defers:
            return super().initial(request, *args, **kwargs)
        read_as_utf8(request._request)
        self._take_body(request)
        super().initial(request, *args, **kwargs)
        setattr(self, request.method.lower(), self._accept)  # where `dispatch` looks for what is to answer

    def perform_content_negotiation(self, request: Any, force: Any = False) -> Any:  # noqa: FBT002 - as it is
        if not self._defers:
            return super().perform_content_negotiation(request, force)
        renderer = JSONRenderer()
        try:
            return self.get_content_negotiator().select_renderer(request, [renderer])
        except (NotAcceptable, Http404, SuspiciousOperation):  # of a query that cannot be read
            return renderer, renderer.media_type

    def get_exception_handler(self) -> Any:
        own = super().get_exception_handler()
        return _problems_or(own) if self._defers else own

    def _take_body(self, request: Any) -> None:
        """Before the parsers, which may leave nothing of it. A form with files is left to them."""
        conf = get_engine().conf
        if is_form(request):
            require_form(request, self._endpoint.terms.storage, conf)
        else:
            require_definite(request)
            self._text = Text.of(request, conf)

    def _accept(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Stores the request as a job, and answers 202."""
        engine = get_engine()
        owner = _owner_of(request.user)
        _require_readable(request)
        fields = captured(request, (*engine.conf.api.headers, *self._endpoint.terms.headers), args, kwargs)
        body = self._text or Form(request, self._endpoint.terms.storage)
        acceptance = _acceptance(engine, request, _key_of(request, fields["headers"][PATH][0], body))
        replayed = acceptance.replayed()
        if replayed is not None:
            return replayed
        _require_fit(self, request)
        job = self._endpoint.new_job(owner, **fields)
        return body.accepted(engine, acceptance, job)


def _require_readable(request: Any) -> None:
    """Has the parsers refuse what they cannot read now, and not in a worker."""
    try:
        request.data  # noqa: B018 - looking is what parses
    except RecursionError:
        raise Problem("malformed", "The body is nested too deep.") from None


def _require_fit(view: Accepting, request: Any) -> None:
    try:
        fitted(view, request, view._endpoint.terms.serializer)
    except ValidationError as error:
        raise Problem("invalid", "The request does not fit.", faults=pointers(error.detail, "#")) from None
    except OverflowError:  # to parsers of the REST framework 1e400 is a number
        raise invalid("#", "A number is too large.") from None


def _owner_of(user: Any) -> str | None:
    """None for one who is not known. Of one who is, and has no account, a worker would know nothing."""
    owner = owner_of(user)
    if owner is None and getattr(user, "is_authenticated", False):
        raise Problem("permission-denied", "Only users with an account can have jobs.")
    return owner


def _key_of(request: Any, path: str, body: Text | Form) -> Key | None:
    return key_of(request, f"{path}\n{body.fingerprint()}") if HEADER in request.headers else None


def _acceptance(engine: Engine, request: Any, key: Key | None) -> Acceptance:
    try:
        return Acceptance(engine, request, key)
    except NoReverseMatch as error:
        raise ImproperlyConfigured(
            "Whoever sends a request to an asynchronous endpoint is told where to follow its job, and there is no such"
            ' address. Add path("api/jobs/", include("asyncjobs.api.urls")) to the URLconf.'
        ) from error


def _problems_or(own: Callable[..., Response | None]) -> Callable[..., Response | None]:
    """Answers errors as problems; those that only the site knows as the site does."""

    def handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
        return handle(error, context) or own(error, context)

    return handler
