"""What is answered to requests that fit the OpenAPI description, and to those that do not, is what it says.

Requests and checks are Schemathesis's: statuses, types, headers and bodies of answers are as described, what fits is
taken, what does not is refused, nobody unknown gets in, and nothing is answered with 500.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import override_settings
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from pytest_django import Settings
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from asyncjobs import Query, get_engine
from asyncjobs.api import filters
from asyncjobs.api.openapi.operations import OPERATIONS, STAFF
from asyncjobs.testing import memory_jobs, run_jobs
from tests.api import jobs
from tests.api.tokens import USERS

ASYNCJOBS = {"API": {"AUTHENTICATION": ["tests.api.tokens.NameTokens"], "LONGEST_WAIT": 0.001}}

FEW = (jobs.add, jobs.echo, jobs.staff_only)  # fields of a site's own serializer would convert what does not fit
HANDLERS = ["tests.api.jobs.add", jobs.strange.name]
QUEUES = ["default", "slow", "busy"]

ALL = [operation.id for view in OPERATIONS.values() for operation in view.values()]
UNDER_ASGI = {"asyncjobs_events"}

# Whether it is there, in time, allowed, or given twice, no schema says.
BEYOND_SCHEMAS = {"queue", "delay", "run_at", "callback_url", "for", "until"}

QUICKLY = settings(
    max_examples=20, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
THOROUGHLY = settings(QUICKLY, max_examples=300, derandomize=False, phases=[Phase.generate, Phase.shrink])


def of_few_handlers(described: Any) -> Any:
    """Every one multiplies the requests, and other tests add theirs."""
    submission = described["components"]["schemas"]["AsyncJobSubmission"]
    mapping = {handler.name: submission["discriminator"]["mapping"][handler.name] for handler in FEW}
    submission["oneOf"] = [{"$ref": ref} for ref in mapping.values()]
    submission["discriminator"]["mapping"] = mapping
    body = described["paths"]["/api/jobs/"]["post"]["requestBody"]["content"]["application/json"]
    body["examples"] = {name: shown for name, shown in body["examples"].items() if name in mapping}
    body = described["paths"]["/api/jobs/batch/"]["post"]["requestBody"]["content"]["application/json"]
    body["examples"] = {}
    return described


@cache
def schema() -> Any:
    """The tests' own site, as it describes itself."""
    with override_settings(ASYNCJOBS=ASYNCJOBS), memory_jobs():
        described = of_few_handlers(json.loads(json.dumps(SchemaGenerator().get_schema(public=True))))
    made = schemathesis.openapi.from_dict(described, config=schemathesis.Config())
    made.app = get_wsgi_application()
    return made


@pytest.fixture(autouse=True)
def _site(settings: Settings, unlimited: None) -> Iterator[None]:
    """Requests that need no database, and leave those of other tests alone."""
    settings.ASYNCJOBS = ASYNCJOBS
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@contextmanager
def jobs_in_every_state() -> Iterator[list[str]]:
    """The ids of Ann's jobs, of one that was removed, and of one that is Bob's."""
    with memory_jobs() as engine:
        ann, bob = (str(USERS[name].pk) for name in ("ann", "bob"))
        ended = [
            jobs.add.using(owner=ann).submit(1, 2),
            jobs.echo.using(owner=ann).submit("https://example.com/report.pdf"),
            jobs.fail.using(owner=ann).submit(),
            jobs.talk.using(owner=ann).submit(3),
            jobs.add.using(owner=ann, queue="removed").submit(1),
        ]
        run_jobs()
        engine.delete(ended[-1].id)
        running = jobs.add.using(owner=ann, queue="busy", tags=["a"]).submit(2)
        engine.store.claim(["busy"], worker="w", limit=1, lease=60_000)
        canceled = jobs.add.using(owner=ann).submit(3)
        engine.cancel(canceled.id)
        waiting = [
            jobs.add.using(owner=ann, delay=60).submit(4),
            jobs.add.using(owner=ann).submit(5),
            jobs.add.using(owner=bob).submit(6),
        ]
        engine.pause("slow", reason="tests")
        yield [job.id for job in (*ended, running, canceled, *waiting)]


def aim(case: Any, ids: Sequence[str]) -> None:
    """Has a request meet what is there, where it names something at random; and our views, not Django's own refusal."""
    place, query = case.path_parameters, case.query
    case.headers.pop("Host", None)
    if is_uuid(place.get("job_id")):
        place["job_id"] = ids[UUID(place["job_id"]).int % len(ids)]
    if "name" in place:
        names = QUEUES if "queues" in case.path else HANDLERS
        known = len(place["name"]) % 3 or "\n" in unquote(place["name"])  # of which Django knows no address
        place["name"] = quote(names[len(place["name"]) % len(names)]) if known else place["name"]
    if (
        isinstance(query.get("cursor"), str) and 1 <= len(query["cursor"]) <= filters.LONGEST
    ):  # else it is to be refused
        query["cursor"] = get_engine().find(Query(limit=1)).next
    for submission in submissions_in(case.body):
        if is_queue(submission.get("queue")):
            submission["queue"] = QUEUES[len(submission["queue"]) % len(QUEUES)]


def submissions_in(body: Any) -> list[dict[str, Any]]:
    several = body.get("jobs") if isinstance(body, dict) else None
    return [one for one in (several if isinstance(several, list) else [body]) if isinstance(one, dict)]


def is_queue(given: Any) -> bool:
    return isinstance(given, str) and re.fullmatch(r"[\w.\-@+]{1,64}", given) is not None


def is_uuid(given: Any) -> bool:
    try:
        return str(UUID(given)) == given
    except (ValueError, TypeError, AttributeError):
        return False


def beyond_schemas(case: Any, response: Any) -> list[Any]:
    """The checks that do not hold for this answer: it says what no schema can, such as that the job is gone."""
    if response.status_code in (406, 410):
        return [positive_data_acceptance, negative_data_rejection]
    if response.status_code == 202 and any({"args", "kwargs"} <= one.keys() for one in submissions_in(case.body)):
        return [negative_data_rejection]  # some arguments by position, the others by name
    if response.status_code == 400 and re.search(r"2\^53|NUL|'created_(from|to)'", response.json()["detail"]):
        return [positive_data_acceptance]  # no store keeps such numbers, texts and times: no schema need say so
    if set(case.query) - {parameter.name for parameter in case.operation.query}:
        return [negative_data_rejection]  # parameters that nobody asks for are refused by the list alone
    if response.status_code != 422:
        return []
    places = [fault["pointer"].split("/") for fault in response.json().get("errors", ())]
    return [positive_data_acceptance] if all(BEYOND_SCHEMAS.intersection(place) for place in places) else []


def answered(case: Any) -> int:
    """The status of the answer, which is as described."""
    headers = {"Authorization": f"Token {'boss' if STAFF in case.operation.tags else 'ann'}"}
    with jobs_in_every_state() as ids:
        aim(case, ids)
        response = case.call(headers=headers)
        case.validate_response(response, headers=headers, excluded_checks=beyond_schemas(case, response))
    return int(response.status_code)


def search(operation: str, chosen: settings) -> set[int]:
    """The statuses of all answers. The plugin for pytest would prepare the requests whenever tests are collected."""
    statuses = set()

    def check(case: Any) -> None:
        statuses.add(answered(case))

    config = HypothesisTestConfig(project=schema().config, modes=list(HypothesisTestMode), settings=chosen)
    create_test(operation=schema().find_operation_by_id(operation), test_func=check, config=config)()
    return statuses


@pytest.mark.parametrize("operation", ALL)
def test_every_answer_is_as_described(operation: str) -> None:
    statuses = search(operation, QUICKLY)
    assert operation in UNDER_ASGI or min(statuses) < 400
    assert max(statuses) >= 400


@pytest.mark.slow
@pytest.mark.parametrize("operation", ALL)
def test_every_answer_is_as_described_however_long_one_searches(operation: str) -> None:
    assert search(operation, THOROUGHLY)
