"""A site may have its views in transactions, of whatever database: what the API takes is stored for good by then."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connections
from django.test import AsyncClient, Client

from asyncjobs import Engine, Query
from tests.api import jobs
from tests.api.jobs import submitted_by

pytestmark = [pytest.mark.urls("tests.api.endpoints"), pytest.mark.django_db, pytest.mark.usefixtures("unlimited")]


@pytest.fixture(params=["default", "sqlite"])
def transactions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this database are around all views. A test that begins one in the second database fails."""
    monkeypatch.setitem(connections[request.param].settings_dict, "ATOMIC_REQUESTS", value=True)


def sent_to(server: str, user: User, method: str, url: str, body: Any = None) -> Any:
    client: Any = Client() if server == "wsgi" else AsyncClient()
    client.force_login(user)
    send = getattr(client, method) if server == "wsgi" else async_to_sync(getattr(client, method))
    return send(url, body, content_type="application/json") if body is not None else send(url)


@pytest.mark.parametrize("server", ["wsgi", "asgi"])
@pytest.mark.parametrize("address", ["", "{id}/", "{id}/?wait=1", "{id}/log/", "health/", "queues/"])
def test_reading_needs_no_transaction(
    engine: Engine, boss: User, transactions: None, server: str, address: str
) -> None:
    job = submitted_by(boss, jobs.add, 1)
    engine.cancel(job.id)
    assert sent_to(server, boss, "get", f"/api/jobs/{address.format(id=job.id)}").status_code == 200


@pytest.mark.parametrize("server", ["wsgi", "asgi"])
@pytest.mark.parametrize(
    ("url", "body"), [("/api/jobs/", {"name": "tests.api.jobs.add", "args": [1]}), ("/mixed/", {}), ("/mirror/", {})]
)
def test_jobs_are_taken_outside_of_every_transaction(
    engine: Engine, boss: User, transactions: None, server: str, url: str, body: Any
) -> None:
    assert sent_to(server, boss, "post", url, body).status_code == 202
    assert len(engine.find(Query()).jobs) == 1
