"""The demo site. It reads two variables of the environment:

- ASYNCJOBS_DEMO_REDIS_URL: keep jobs in this Redis or Valkey server. Without it they are kept in the database.
- ASYNCJOBS_DEMO_DIR: where the database file goes; `.demo` in the checkout by default.
"""

import os
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent
ASYNCJOBS_DEMO_DIR = Path(os.environ.get("ASYNCJOBS_DEMO_DIR", BASE_DIR / ".demo"))
ASYNCJOBS_DEMO_DIR.mkdir(parents=True, exist_ok=True)

SECRET_KEY = "this site is served to this machine alone"  # and its sessions are worth nothing elsewhere
DEBUG = True
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ROOT_URLCONF = "project.urls"
USE_TZ = True
TIME_ZONE = "UTC"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_htmx",
    "asyncjobs",
    "project",
]
if find_spec("drf_spectacular"):
    INSTALLED_APPS += ["drf_spectacular"]  # which writes docs/reference/openapi.json: see `make docs-api`
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
# The page asks for itself every few seconds: what the worker says is not to drown in that.
LOGGING = {"version": 1, "disable_existing_loggers": False, "loggers": {"django.server": {"level": "WARNING"}}}
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ASYNCJOBS_DEMO_DIR / "demo.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SPECTACULAR_SETTINGS = {
    "TITLE": "asyncjobs",
    "DESCRIPTION": "Submit background jobs, follow them, fetch what they made. Handlers: those of the demo site.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
}

ASYNCJOBS_DEMO = "project.jobs.submit_samples"  # what `manage.py demo` calls at the start,
ASYNCJOBS_DEMO_NEXT = "project.jobs.submit_next"  # and then again and again
ASYNCJOBS: dict[str, Any] = {"RETENTION": dict.fromkeys(("completed", "failed", "canceled"), timedelta(hours=1))}
if redis_url := os.environ.get("ASYNCJOBS_DEMO_REDIS_URL"):
    ASYNCJOBS |= {"STORE": "redis", "OPTIONS": {"URL": redis_url}}
