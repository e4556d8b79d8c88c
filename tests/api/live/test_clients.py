"""Whoever calls the API as the documentation says gets what it says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.api.live.served import PASSWORD, USER, Api
from tests.proxy import proxy_to
from tests.servers import missing

PAGE = Path(__file__).parents[3] / "docs/how-to/http-clients.md"
NAME = "shop.jobs.build_report"
MADE = {"month": "2026-10", "pages": 3}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def called(url: str, *command: str) -> str:
    """What the command wrote, with the environment of the page."""
    given = {"API": url, "CREDENTIALS": f"{USER}:{PASSWORD}", "PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def typed(api: Api, commands: Sequence[str]) -> str:
    if not shutil.which("curl"):
        missing("no curl on PATH")
    return called(str(api.base_url), "bash", "-euo", "pipefail", "-c", "\n".join(commands))


def jobs(api: Api) -> set[str]:
    return {job["id"] for job in api.get("", params={"name": NAME, "limit": 200}).json()["jobs"]}


def test_a_plain_curl_loop_that_follows_what_it_is_told_reaches_the_result(wsgi: Api) -> None:
    declare, follow, *_ = blocks("bash")
    assert httpx.Response(200, text=typed(wsgi, [declare, follow])).json() == MADE


def test_every_command_of_the_page_answers_what_it_says(asgi: Api) -> None:
    written = typed(asgi, [f"{block}\necho; echo ---" for block in blocks("bash")])
    _, result, waited, repeated, watched, _ = (part.strip() for part in written.split("---"))
    assert httpx.Response(200, text=result).json() == MADE
    assert httpx.Response(200, text=waited).json()["result"] == MADE
    assert httpx.Response(200, text=repeated).json()["status"] == "queued"
    assert re.findall(r"^event: (.*)$", watched, re.MULTILINE) == ["log", "status"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (block,) = blocks("python")
    script = tmp_path / "run_job.py"
    script.write_text(block)
    return script


def test_the_client_in_python_answers_what_a_job_made(wsgi: Api, script: Path) -> None:
    assert called(str(wsgi.base_url), sys.executable, str(script)) == f"{MADE}\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["valkey"], scope="package")
def test_the_client_in_python_makes_one_job_though_answers_are_lost(wsgi: Api, script: Path) -> None:
    before = jobs(wsgi)
    with proxy_to(httpx.URL(wsgi.site).port or 0) as proxy:
        proxy.lose_reply(b"POST ", b"GET ")
        written = called(f"http://127.0.0.1:{proxy.port}/api/jobs/", sys.executable, str(script))
        assert proxy.lost_all
    assert written == f"{MADE}\n"
    assert len(jobs(wsgi) - before) == 1
