"""The API behaves the same in every site, and leaves the site's own views alone."""

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.workers import ROOT

DATABASE = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:", "ATOMIC_REQUESTS": True}
FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.BrowsableAPIRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"anon": "1000/min"},
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "DEFAULT_VERSION": "1",
    "ALLOWED_VERSIONS": ["1"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "PAGE_SIZE": 1,
    "EXCEPTION_HANDLER": "tests.api.host.site.own_errors",
    "NON_FIELD_ERRORS_KEY": "__all__",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "URL_FORMAT_OVERRIDE": "f",
    "FORMAT_SUFFIX_KWARG": "suffix",
    "COMPACT_JSON": False,
    "UNICODE_JSON": False,
    "STRICT_JSON": False,
    "COERCE_DECIMAL_TO_STRING": False,
    "DATETIME_FORMAT": "%d.%m.%Y",
    "DATETIME_INPUT_FORMATS": ["%d.%m.%Y %H:%M"],
    "UPLOADED_FILES_USE_URL": False,
    "NUM_PROXIES": 0,
}


def visited(**options: Any) -> Any:
    """What a site with these settings answers."""
    command = [sys.executable, "-W", "error", "-m", "tests.api.host", json.dumps(options)]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3_000:]
    return json.loads(done.stdout)


@cache
def plain() -> Any:
    return visited()


def test_the_story_is_worth_comparing() -> None:
    statuses = [status for _, _, status, _, _ in json.loads(plain()["story"])]
    assert statuses == [
        *(202, 202, 202, 422, 422, 422, 400, 405, 401, 200, 400, 400, 405),
        *(200, 409, 200, 406, 200, 200, 200, 200, 200, 409, 403, 200, 204, 410),
    ]


def test_what_the_rest_framework_is_set_to_is_no_matter() -> None:
    odd = visited(REST_FRAMEWORK=FRAMEWORK)
    assert odd["story"].splitlines() == plain()["story"].splitlines()
    assert [(status, kind.partition(";")[0]) for status, kind, _ in odd["own"]] == [
        (200, "text/html"),
        (418, "text/html"),
    ]


def test_what_django_is_set_to_is_no_matter() -> None:
    odd = visited(
        APPEND_SLASH=False,
        DATABASES={"default": DATABASE, "other": DATABASE},
        DEBUG=True,
        LANGUAGE_CODE="de",
        MIDDLEWARE=["django.middleware.locale.LocaleMiddleware", "django.middleware.common.CommonMiddleware"],
        TIME_ZONE="Asia/Tokyo",
        USE_TZ=False,
        USE_THOUSAND_SEPARATOR=True,
        DEFAULT_CHARSET="latin-1",
    )
    assert odd["story"].splitlines() == plain()["story"].splitlines()


@pytest.mark.parametrize(
    ("included", "prefix"),
    [
        ("within a namespace", "/v1/api/jobs"),
        pytest.param("by language", "/en-us/api/jobs", marks=pytest.mark.slow),
        pytest.param("under another name", "/api/jobs", marks=pytest.mark.slow),
        pytest.param("twice", "/api/jobs", marks=pytest.mark.slow),
        pytest.param("twice", "/other", marks=pytest.mark.slow),
    ],
)
def test_where_it_is_included_is_no_matter(included: str, prefix: str) -> None:
    odd = visited(INCLUDED=included, prefix=prefix, LANGUAGE_CODE="en-us")
    assert odd["story"].splitlines() == plain()["story"].splitlines()


@pytest.mark.slow
def test_a_site_may_be_below_a_path() -> None:
    odd = visited(FORCE_SCRIPT_NAME="/site")
    assert odd["story"].splitlines() == plain()["story"].splitlines()
