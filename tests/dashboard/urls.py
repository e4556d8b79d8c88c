"""What the site for browsers serves."""

from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path


def no_icon(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=204)


urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("favicon.ico", no_icon),
    path("static/<path:path>", serve, {"insecure": True}),
]
