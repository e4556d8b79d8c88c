"""The demo site. It reads two variables of the environment:

- ASYNCJOBS_DEMO_REDIS_URL: keep jobs in this Redis or Valkey server. Without it they are kept in the database.
- ASYNCJOBS_DEMO_DIR: where the database file goes; `.demo` in the checkout by default.
"""

import os
from pathlib import Path

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
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ASYNCJOBS_DEMO_DIR / "demo.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

ASYNCJOBS_DEMO = "project.jobs.submit_samples"  # what `manage.py demo` calls
if redis_url := os.environ.get("ASYNCJOBS_DEMO_REDIS_URL"):
    ASYNCJOBS = {"STORE": "redis", "OPTIONS": {"URL": redis_url}}
