"""Settings of the site whose API is measured: nobody is throttled, and connections are kept."""

from tests.worker.site import *  # noqa: F403 - settings are names, and this site needs all of them
from tests.worker.site import DATABASES, INSTALLED_APPS

INSTALLED_APPS += ["rest_framework"]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.bench.urls"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
DATABASES["default"]["CONN_MAX_AGE"] = None
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tests.bench.users.Known"],
    "DEFAULT_THROTTLE_RATES": {"asyncjobs-submit": None, "asyncjobs-poll": None},
}
