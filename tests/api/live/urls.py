"""What the site serves: the API, and a page to log in."""

from django.contrib.auth.views import LoginView
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/jobs/", include("asyncjobs.api.urls")),
    path("login/", LoginView.as_view(template_name="login.html", next_page="/api/jobs/")),
]
