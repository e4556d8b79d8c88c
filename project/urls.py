"""What the demo site serves."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from project.views import front

urlpatterns: list[URLPattern | URLResolver] = [
    path("", front, name="front"),
    path("admin/", admin.site.urls),
    path("api/jobs/", include("asyncjobs.api.urls")),
]
