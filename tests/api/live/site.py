"""Settings of the site that is served: that of the workers' tests, with the API. Its users are in its database."""

from tests.worker.site import *  # noqa: F403 - settings are names, and this site needs all of them
from tests.worker.site import INSTALLED_APPS

INSTALLED_APPS += ["rest_framework", "tests.api.live"]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.api.live.urls"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"login.html": "{% csrf_token %}"})]},
    }
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # every request has a password to check
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.BasicAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": None, "asyncjobs-poll": None},
}
