"""The demo site's settings, with every database the stores are tested on.

The server behind `postgres` or `mariadb` is started and filled in when a test first asks for that database, so that
a run without such tests needs none. `sqlite` is the contract suite's own; `default` is left to pytest-django.
"""

import atexit
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from project.settings import *  # noqa: F403 - settings are names, and the tests need all of them

SCRATCH = Path(tempfile.mkdtemp(prefix="asyncjobs-tests-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

SECRET_KEY = "of a site for tests"  # that of the sites which tests start: they read what tests sign
ROOT_URLCONF = "tests.urls"
MEDIA_ROOT = SCRATCH / "uploads"  # of tests that name no place of their own
ASYNCJOBS: dict[str, Any] = {}  # type: ignore[no-redef]  # the defaults, and not what the demo prefers
TEST_DATABASE = f"test_asyncjobs_{os.getpid()}"


def _sqlite(name: str) -> dict[str, Any]:
    """A file, because threads share no SQLite database in memory."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": SCRATCH / f"{name}.sqlite3",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        },
        "TEST": {"NAME": SCRATCH / f"test-{name}.sqlite3"},
    }


def _server(engine: str, **options: Any) -> dict[str, Any]:
    return {
        "ENGINE": f"django.db.backends.{engine}",
        "NAME": "postgres" if engine == "postgresql" else "mysql",
        "OPTIONS": options,
        "TEST": {"NAME": TEST_DATABASE},
    }


DATABASES: dict[str, dict[str, Any]] = {"default": _sqlite("default"), "sqlite": _sqlite("sqlite")}  # type: ignore[no-redef]
if find_spec("psycopg"):
    DATABASES["postgres"] = _server("postgresql")
if find_spec("MySQLdb") or find_spec("pymysql"):
    DATABASES["mariadb"] = _server("mysql", charset="utf8mb4")
if not find_spec("MySQLdb") and find_spec("pymysql"):
    import pymysql

    pymysql.install_as_MySQLdb()

SILENCED_SYSTEM_CHECKS = ["asyncjobs.W001"]  # of a handler in tests.worker.jobs
