"""The request of a job, answered by its view in a worker, or let in by it once more."""

from contextlib import closing, suppress
from typing import Any, Self

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.views import APIView

from asyncjobs.api.answers import failure_of, result_of
from asyncjobs.api.capture import request_of, route_of
from asyncjobs.api.fitting import fitted
from asyncjobs.api.uploads import StoredForm
from asyncjobs.domain.job import Job
from asyncjobs.errors import UserGone


class Rerun(APIView):
    """A view in a worker: who asks, and whether they may, is known.

    The names of ours begin with an underscore, to be none of the view's own.
    """

    _endpoint: Any  # the `EndpointHandler`
    _submitter: Any
    _auth: Any = None
    _asks = False  # for permission
    _form: StoredForm | None  # None: the body is as it came
    _defers = False

    @classmethod
    def of(cls, job: Job, submitter: Any) -> Self:
        """The view, about to answer the request that the job was made from."""
        view = cls()
        view._submitter = submitter
        view._take(job, request_of(job))
        return view

    @classmethod
    def _asking(cls, job: Job, again: Request) -> Self:
        """The view, about to let the same request in from the client that wants it to be carried out again."""
        view = cls()
        view._submitter, view._auth, view._asks = again.user, again.auth, True
        view._take(job, _as_sent_with(again._request, job))
        return view

    def _take(self, job: Job, request: WSGIRequest) -> None:
        self._form = StoredForm.of(job, self._endpoint.terms.storage)
        args, kwargs = route_of(job)
        request.body  # noqa: B018 - read now: as text and as a stream, in whatever order the view likes
        with suppress(Resolver404):  # the URLconf may have changed, and the view is known without it
            request.resolver_match = resolve(request.path_info)
        self.setup(request, *args, **kwargs)

    def get_authenticators(self) -> list[Any]:
        return [Submitter(self._submitter, self._auth)]

    def get_parsers(self) -> list[Any]:
        return super().get_parsers() if self._form is None else [self._form]

    def perform_content_negotiation(self, request: Any, force: Any = True) -> Any:  # noqa: FBT002 - as it is
        """Refuses nothing: the answer is the result of a job, in whatever form it was asked for."""
        return super().perform_content_negotiation(request, force=True)

    def check_permissions(self, request: Any) -> None:
        """Not in a worker: they were asked before the request was taken."""
        if self._asks:
            super().check_permissions(request)

    def check_throttles(self, request: Any) -> None:
        """It was counted when it came."""

    def _let_in(self) -> None:
        """Does all that the view does before it answers, and raises what that raises."""
        with closing(self._begin()) as request:
            self.initial(request, *self.args, **self.kwargs)

    def _answer(self) -> Any:
        """What the view answers, as the result of a job."""
        with closing(self._begin()) as request:
            return result_of(request, self._respond(request))

    def _begin(self) -> Any:
        self.request = request = self.initialize_request(self.request, *self.args, **self.kwargs)
        self.headers = self.default_response_headers
        return request

    def _respond(self, request: Any) -> Any:
        """What the view raises is what its exception handler makes of it, unless that is a failure of the server."""
        try:
            self.initial(request, *self.args, **self.kwargs)
            if self._endpoint.terms.serializer is not None:
                request.validated_data = fitted(self, request, self._endpoint.terms.serializer)
            return getattr(self, request.method.lower())(request, *self.args, **self.kwargs)
        except Exception as error:
            response = self.handle_exception(error)
            if response.status_code >= 500:
                raise
            if response.status_code >= 400:
                raise failure_of(response) from error
            return response


class Submitter(BaseAuthentication):
    """Knows who asks from the job."""

    def __init__(self, user: Any, auth: Any) -> None:
        self._known = None if user is None else (user, auth)

    def authenticate(self, request: Any) -> tuple[Any, Any] | None:
        return self._known


def _as_sent_with(again: HttpRequest, job: Job) -> WSGIRequest:
    """The request of the job, with what the job has not kept of clients as it is in this one."""
    client = {name: value for name, value in again.META.items() if name.startswith(("HTTP_", "REMOTE_"))}
    request = request_of(job, client)
    for name, value in vars(again).items():  # what middleware has put there
        if not name.startswith("_") and not hasattr(request, name):
            setattr(request, name, value)
    return request


def submitter_of(job: Job) -> Any:
    """The user who sent the request; None for one who was not known."""
    if job.owner is None:
        return None
    users = get_user_model()
    try:
        user = users._default_manager.get(pk=job.owner)
    except (users.DoesNotExist, ValueError, ValidationError):
        raise UserGone("the user who sent the request is gone", job_id=job.id) from None
    if not user.is_active:
        raise UserGone("the user who sent the request is not active any more", job_id=job.id)
    return user
