"""The frame of every page: the admin around it, who may see it, and how it stays fresh."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, reverse
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.generic import TemplateView, View
from django_htmx.middleware import HtmxDetails

from asyncjobs.current import get_engine
from asyncjobs.engine import Engine
from asyncjobs.errors import DeserializationError, StoreError

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin  # which is no generic class when it runs

logger = logging.getLogger("asyncjobs.dashboard")

RETRY_SECONDS: int = 5  # after which a store may answer again
LIVE: str = "_live"  # the parameter of a poll: what the page has, as a digest

TABS: Sequence[tuple[str, Promise]] = (
    ("dashboard_changelist", _("Overview")),
    ("jobs", _("Jobs")),
    ("dead", _("Dead letters")),
    ("delayed", _("Delayed")),
    ("queues", _("Queues")),
    ("workers", _("Workers")),
    ("operations", _("Operations")),
)


def may(user: Any, permission: str) -> bool:
    """Whether it is staff with this permission (see `models.Dashboard`)."""
    return bool(user.is_active and user.is_staff and user.has_perm(f"asyncjobs.{permission}"))


class Permissions:
    """What a user may do, for templates: `may.retry_job`."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def __getitem__(self, permission: str) -> bool:
        return may(self._user, permission)


class Framed(View):
    """A view within an admin site, for staff with its permission."""

    site: AdminSite = admin.site
    permission = "view_dashboard"
    tab = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not (may(request.user, "view_dashboard") and may(request.user, self.permission)):
            raise PermissionDenied
        try:
            return _kept(_rendered(super().dispatch(request, *args, **kwargs)))
        except StoreError as error:
            logger.error("%s", error)  # it may name the server, which is nothing for a page
            text = self._instead(request, "unavailable", _("The jobs cannot be reached"))
            return _kept(HttpResponse(text, status=503, headers={"Retry-After": str(RETRY_SECONDS)}))
        except DeserializationError as error:
            logger.error("%s", error)
            return _kept(HttpResponse(self._instead(request, "unreadable", _("An unreadable job")), status=500))

    def _instead(self, request: HttpRequest, name: str, title: Promise) -> str:
        """A page that says why there is no other. One that is open and polls stays as it is, and says so itself."""
        if HtmxDetails(request):
            return ""
        again = request.get_full_path() if request.method == "GET" else back(request)
        return render_to_string(
            f"asyncjobs/dashboard/{name}.html", self.frame() | {"title": title, "again": again}, request
        )

    def frame(self) -> dict[str, Any]:
        """What the templates of the admin and ours know of any page. None of it comes from the store."""
        ours = {"tabs": TABS, "tab": self.tab, "may": Permissions(self.request.user)}
        return {**self.site.each_context(self.request), **ours}

    @property
    def engine(self) -> Engine:
        return get_engine()

    def address(self, name: str, *parameters: str) -> str:
        """Where another view of ours is, within the same admin site."""
        return reverse(f"admin:asyncjobs_{name}", args=parameters, current_app=self.site.name)


class Page(Framed, TemplateView):
    """A page. Asked with `_live`, it answers the parts of it that have changed, and 204 when none has."""

    title: str | Promise = ""
    live_template = ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**self.frame(), **super().get_context_data(**kwargs), "title": self.title}

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if LIVE in request.GET and self.live_template:
            return self._news(request, self.get_context_data(**kwargs))
        return super().get(request, *args, **kwargs)

    def _news(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        news = render_to_string(self.live_template, context, request)
        digest = hashlib.blake2b(news.encode(), digest_size=8).hexdigest()
        if digest == request.GET[LIVE]:
            return HttpResponse(status=204)
        seen = f'<input type="hidden" id="aj-rev" name="{LIVE}" value="{digest}" hx-swap-oob="true">'
        return HttpResponse(news + seen)


class Act(Framed):
    """Something a user does. It changes something, so it is a POST, and then leads back to a page."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.act(request, *args, **kwargs)
        return redirect(back(request))

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError


def _rendered(response: HttpResponseBase) -> HttpResponseBase:
    """A page may read from the store until it is rendered."""
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


def _kept(response: HttpResponseBase) -> HttpResponseBase:
    """No cache keeps a page, unless its view says how."""
    if not response.has_header("Cache-Control"):
        add_never_cache_headers(response)
    return response


def back(request: HttpRequest) -> str:
    """The page that the form names, if it is one of this site; else the first one of this admin."""
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return wanted
    return reverse("admin:asyncjobs_dashboard_changelist", current_app=request.current_app)


class DashboardAdmin(_ModelAdmin):
    """What the admin shows for a model without a table."""

    def get_urls(self) -> list[URLPattern]:
        from asyncjobs.dashboard.urls import patterns

        return patterns(self.admin_site)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may(request.user, "view_dashboard")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request.user, "view_dashboard")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def framed(site: AdminSite, view: type[Framed]) -> Callable[..., HttpResponseBase]:
    """The view behind the login of this admin site. A poll of someone logged out leads the page there."""
    inner = view.as_view(site=site)
    behind_login = site.admin_view(inner, cacheable=True)  # `_kept` sees to that

    @wraps(inner)
    def outer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.current_app = site.name  # as the admin itself does
        if site.has_permission(request):
            return behind_login(request, *args, **kwargs)
        if HtmxDetails(request):
            page = HtmxDetails(request).current_url_abs_path or request.path
            return HttpResponse(status=204, headers={"HX-Redirect": _login(site, page)})
        if request.method == "POST":  # which a login cannot lead back to
            messages.warning(request, _("You were not logged in any more: nothing was done."))
            return redirect(_login(site, back(request)))
        return behind_login(request, *args, **kwargs)

    return outer


def _login(site: AdminSite, page: str) -> str:
    """The login that leads on to this page."""
    return f"{reverse('admin:login', current_app=site.name)}?{urlencode({'next': page})}"
