"""Addresses of a site that includes the API."""

from typing import Any

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from tests.api.host.site import Own

API = path("api/jobs/", include("asyncjobs.api.urls"))
WAYS: dict[str, Any] = {
    "plainly": [API],
    "by language": i18n_patterns(API),
    "under another name": [path("api/jobs/", include("asyncjobs.api.urls", namespace="work"))],
    "within a namespace": [path("v1/", include(([API], "v1"), namespace="v1"))],
    "twice": [path("other/", include("asyncjobs.api.urls", namespace="other")), API],
}
urlpatterns = [*WAYS[getattr(settings, "INCLUDED", "plainly")], path("own/", Own.as_view())]
