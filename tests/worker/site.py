"""Settings of the site whose worker the tests run: jobs in the Redis or the database that the environment names.

- WORKER_TEST_REDIS: the URL of a Redis or Valkey server; without it, jobs are in the database.
- WORKER_TEST_DATABASE: DATABASES["default"] as JSON.
- WORKER_TEST_SETTINGS: what else ASYNCJOBS is to say, as JSON.
- WORKER_TEST_APPS: more apps, with commas between.
- WORKER_TEST_URLS: the URLconf; without it, the site serves nothing.
"""

import json
import os
from importlib.util import find_spec

SECRET_KEY = "of a site for tests"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "asyncjobs", "tests.worker"]
INSTALLED_APPS += filter(None, os.environ.get("WORKER_TEST_APPS", "").split(","))
ALLOWED_HOSTS = ["testserver"]
if urls := os.environ.get("WORKER_TEST_URLS"):
    ROOT_URLCONF = urls
DATABASES = {"default": json.loads(os.environ["WORKER_TEST_DATABASE"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ASYNCJOBS = json.loads(os.environ.get("WORKER_TEST_SETTINGS", "{}"))
if url := os.environ.get("WORKER_TEST_REDIS"):
    ASYNCJOBS |= {"STORE": "redis", "OPTIONS": {"URL": url, "TIMEOUT": 2, **ASYNCJOBS.get("OPTIONS", {})}}
if "mysql" in DATABASES["default"]["ENGINE"] and find_spec("pymysql"):
    import pymysql

    pymysql.install_as_MySQLdb()

SILENCED_SYSTEM_CHECKS = ["asyncjobs.W001"]  # of a handler in tests.worker.jobs
