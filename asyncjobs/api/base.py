"""What all views of the API have in common, whatever the site's REST framework is set to."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.utils.cache import patch_vary_headers
from django.utils.module_loading import import_string
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle, ScopedRateThrottle, SimpleRateThrottle
from rest_framework.views import APIView

from asyncjobs.api.access import HasAccount
from asyncjobs.api.problems import handle_all
from asyncjobs.api.reading import ENVELOPE, StrictJson, read_as_utf8, require_length
from asyncjobs.api.site_transactions import outside_all
from asyncjobs.current import get_engine
from asyncjobs.engine import Engine

logger = logging.getLogger("asyncjobs.api")

SUBMIT: Final = "asyncjobs-submit"
POLL: Final = "asyncjobs-poll"
DEFAULT_RATES: Final = {SUBMIT: "60/min", POLL: "600/min"}


class AlwaysJson(DefaultContentNegotiation):
    """Answers JSON to whoever asks: no client of this API expects anything else."""

    def select_renderer(
        self, request: Any, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class Counting(SimpleRateThrottle):
    """Counts requests in the site's cache. What it cannot count it lets pass: jobs do not depend on a cache."""

    def allow_request(self, request: Any, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except Exception:  # of any cache there is
            logger.exception("requests cannot be counted")
            return True


class Throttle(ScopedRateThrottle, Counting):
    """At the site's rate for the scope of the view, if it has one, else at ours; `None` there is no limit."""

    def get_rate(self) -> str | None:
        rates: dict[str, Any] = {**DEFAULT_RATES, **api_settings.DEFAULT_THROTTLE_RATES}
        rate: str | None = rates.get(str(self.scope))
        return rate


class ApiView(APIView):
    """A view that answers in JSON, and problems as problems."""

    permission_classes: Sequence[Any] = (HasAccount,)
    parser_classes = (StrictJson,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AlwaysJson
    throttle_classes = (Throttle,)
    versioning_class = None
    throttle_scope: str = POLL
    http_method_names = ("get", "head", "post", "delete")  # OPTIONS would tell what the OpenAPI description does
    route: Sequence[str] = ()  # what it takes of its address

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return outside_all(super().as_view(**initkwargs))

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Without what a site captures of the address before ours begins."""
        return super().dispatch(request, **{name: kwargs[name] for name in self.route})

    @property
    def engine(self) -> Engine:
        return get_engine()

    def max_body(self) -> int:
        """The most bytes a request may have."""
        return self.max_submission()

    def max_submission(self) -> int:
        """The most bytes that what is asked of one job may have."""
        return min(self.engine.conf.max_payload + ENVELOPE, self.engine.conf.api.max_body)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        read_as_utf8(request._request)
        super().initial(request, *args, **kwargs)
        require_length(request, self.max_body())

    def get_authenticators(self) -> list[Any]:
        paths = get_engine().conf.api.authentication
        return super().get_authenticators() if paths is None else [import_string(path)() for path in paths]

    def get_throttles(self) -> list[BaseThrottle]:
        """Looking is counted apart from what changes something."""
        self.throttle_scope = POLL if self.request.method in SAFE_METHODS else SUBMIT
        return super().get_throttles()

    def get_exception_handler(self) -> Any:
        return handle_all

    def finalize_response(self, request: Any, response: Response, *args: Any, **kwargs: Any) -> Response:
        """An answer is for the one who asked, and to be asked for again; a problem is kept by nobody."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response.setdefault("Cache-Control", "no-store" if response.status_code >= 400 else "private, no-cache")
        patch_vary_headers(response, ("Authorization", "Cookie"))
        return response
