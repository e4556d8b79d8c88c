"""What the page on asynchronous endpoints says is so."""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from asyncjobs import Engine
from asyncjobs.api import async_endpoint
from asyncjobs.testing import run_jobs
from tests.api.conftest import ClientOf
from tests.test_docs import DOCS, table

PAGE = "how-to/async-endpoints.md"
TEXT = (DOCS / PAGE).read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[None]:
    """The site of the page's example."""
    (tmp_path / "shop").mkdir()
    for block in blocks("python"):
        if named := re.match(r"# (shop/\w+\.py)\n", block):
            (tmp_path / named[1]).write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    settings.ROOT_URLCONF = "shop.urls"
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def test_the_example_works_as_it_says(shop: None, client_of: ClientOf, ann: User, engine: Engine) -> None:
    request, response = blocks("http")[:2]
    head, _, body = request.partition("\n\n")
    method, url = head.split()[:2]
    kind = re.findall(r"Content-Type: (.+)", head)[0]
    client = client_of(ann)
    accepted: Any = client.generic(method, url, body, kind)
    assert accepted.status_code == int(response.split()[1])
    assert re.findall(r"^([\w-]+):", response, re.MULTILINE) == ["Location", "Retry-After"]
    assert accepted.headers["Retry-After"] == re.findall(r"Retry-After: (\d+)", response)[0]
    assert accepted.json()["queue"] == "reports"
    run_jobs()
    assert client.get(accepted.headers["Location"] + "result/").json() == json.loads(blocks("json")[0])
    assert client.get(url).json() == {"shop": 7}


def test_every_option_of_an_endpoint_is_documented() -> None:
    said = [name for row in table(PAGE, "option of an endpoint")[1:] for name in row[0].split(", ")]
    assert said == [name for name in inspect.signature(async_endpoint).parameters if name != "view"]
