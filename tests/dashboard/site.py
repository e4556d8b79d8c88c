"""Settings of a site with a dashboard, served to browsers under a strict content security policy."""

from tests.worker.site import *  # noqa: F403 - settings are names, and this site needs all of them
from tests.worker.site import DATABASES, INSTALLED_APPS

INSTALLED_APPS += [
    "django.contrib.admin",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "tests.api.live",
    "tests.dashboard",
]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.dashboard.urls"
MIDDLEWARE = [
    "tests.dashboard.policy.StrictPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "/static/"
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if "sqlite" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("timeout", 20)
