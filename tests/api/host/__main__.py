"""`python -m tests.api.host '{"DEBUG": true}'` prints what the API of a site with these settings answers.

In a process of its own: much of what the REST framework is set to holds from the moment its classes are made.
"""

import asyncio
import json
import re
import sys
from typing import Any

import django
from django.conf import settings

PLAIN: dict[str, Any] = {
    "SECRET_KEY": "x" * 50,
    "ALLOWED_HOSTS": ["testserver"],
    "ROOT_URLCONF": "tests.api.host.urls",
    "INSTALLED_APPS": ["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "asyncjobs"],
    "DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    "MIDDLEWARE": ["django.middleware.common.CommonMiddleware"],
    "ASYNCJOBS": {"STORE": "memory", "API": {"AUTHENTICATION": ["tests.api.host.site.Named"]}},
    "TEMPLATES": [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    "USE_TZ": True,
    "LOGGING_CONFIG": None,
}
SHOWN = ("Content-Type", "Location", "Link", "Retry-After", "WWW-Authenticate", "Allow", "Idempotent-Replayed")
BASE = "http://testserver"


class Visit:
    """Asks for this and that, and notes what is answered."""

    def __init__(self, prefix: str) -> None:
        from django.db import connections
        from django.test import AsyncClient, Client

        for alias in connections:
            connections[alias].ensure_connection()
        self._prefix = prefix
        self._client = Client(headers={"Authorization": "Name 7"}, raise_request_exception=False)
        self._async_client = AsyncClient(raise_request_exception=False)
        self.notes: list[Any] = []

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        options = {"content_type": "application/json", "headers": headers}
        data = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        answer = self._client.generic(method, self._prefix + path, data, **options)  # type: ignore[arg-type]
        return self._noted(method, path, answer)

    def ask_loop(self, path: str) -> Any:
        """Under ASGI."""
        asked = self._async_client.get(self._prefix + path, headers={"Authorization": "Name 7"})
        return self._noted("async GET", path, asyncio.run(asked))

    def _noted(self, method: str, path: str, answer: Any) -> Any:
        shown = {name: answer.headers[name] for name in SHOWN if name in answer.headers}
        body = json.loads(answer.content) if "json" in shown.get("Content-Type", "") else None
        if isinstance(body, dict):
            body.pop("detail", None)
            for fault in body.get("errors", []):
                fault.pop("detail")
        self.notes.append([method, path, answer.status_code, shown, body])
        return answer

    def story(self) -> str:
        """The notes, without what is another one each time."""
        text = json.dumps(self.notes, indent=1, sort_keys=True)
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME", text)
        text = re.sub(r"cursor=\d+", "cursor=TIME", text)
        prefix = (settings.FORCE_SCRIPT_NAME or "") + self._prefix
        return text.replace(f"{BASE}{prefix}", BASE).replace(f'"{prefix}/', '"/')


def visit(prefix: str) -> str:
    """What the API says to some who ask it, and what the site's own view says."""
    from asyncjobs.testing import run_jobs

    visit = Visit(prefix)
    add = {"name": "add", "kwargs": {"a": 1, "since": "2026-01-02T03:04:05Z"}}
    made = visit.ask("POST", "/", add, **{"Idempotency-Key": "one"}).json()
    visit.ask("POST", "/", add, **{"Idempotency-Key": "one"})
    visit.ask("POST", "/batch/", {"jobs": [{"name": "add", "args": [1]}] * 3})
    visit.ask("POST", "/", {"name": "pair", "payload": {"low": 2, "high": 1}})
    visit.ask("POST", "/", {"name": "add", "kwargs": {"a": "x", "b": 1}})
    visit.ask("POST", "/", {"name": "no"}, Accept="text/html", **{"Accept-Language": "de"})
    visit.ask("POST", "/", "{")
    visit.ask("PUT", "/", {})
    visit.ask("GET", "/", Authorization="")
    visit.ask("GET", "/?limit=2", Accept="text/html")
    visit.ask("GET", "/?format=api")
    visit.ask("GET", "/?color=red", Accept="application/json; version=9")
    visit.ask("OPTIONS", "/")
    path = f"/{made['id']}/"
    for part in ("", "result/", "log/", "events/"):
        visit.ask("GET", path + part)
    visit.ask_loop(path)
    visit.ask_loop(path + "?wait=0")
    run_jobs()
    for part in ("", "result/"):
        visit.ask("GET", path + part, Accept="text/html")
    visit.ask_loop(path)
    visit.ask("POST", path + "cancel/", {})
    visit.ask("GET", "/queues/")
    visit.ask("GET", "/health/", Authorization="")
    visit.ask("DELETE", path)
    visit.ask("GET", path)
    return visit.story()


def own_view(prefix: str) -> list[Any]:
    """What the site's own view says."""
    from django.test import Client

    client = Client()
    asked = (
        client.get(f"{prefix}own/"),
        client.post(f"{prefix}own/", "a=1", content_type="application/x-www-form-urlencoded"),
    )
    return [[answer.status_code, answer.headers["Content-Type"], answer.content.decode()] for answer in asked]


def main(options: dict[str, Any]) -> None:
    prefix, own = options.pop("prefix", "/api/jobs"), options.pop("own", "/")
    settings.configure(**{**PLAIN, **options})
    django.setup()
    print(json.dumps({"story": visit(prefix), "own": own_view(own)}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
