"""The OpenAPI description: all of the API, and nothing but what is true."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.urls import include, path
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.settings import patched_settings
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator
from rest_framework import generics, serializers

from asyncjobs import Job as OurJob
from asyncjobs import JobStatus
from asyncjobs.api import urls
from asyncjobs.api.bodies import entry_body, handler_body, job_body, pause_body, queue_body, with_result, worker_body
from asyncjobs.api.filters import FILTERS
from asyncjobs.api.openapi import parameters
from asyncjobs.api.openapi.components import COMPONENTS
from asyncjobs.api.openapi.dialect import old_schema, with_old_schemas
from asyncjobs.api.openapi.examples import MOST
from asyncjobs.api.openapi.operations import OPERATIONS
from asyncjobs.api.openapi.submission import submissions
from asyncjobs.api.problems import KINDS
from asyncjobs.api.submissions import FIELDS
from asyncjobs.api.views.submit import Jobs
from asyncjobs.domain.job import JobError, Progress
from asyncjobs.options import Options
from asyncjobs.registry import DEFAULT_RETRY, Exposure, Handler
from asyncjobs.stores.base import Entry, Pause, QueueCounts, WorkerRecord
from tests.api import jobs

ROOT = Path(__file__).parent.parent.parent
API = path("api/jobs/", include(urls))

SITE = """
import sys
import django
from django.conf import settings
from django.urls import include, path

if sys.argv[1] == "not installed":
    sys.modules["drf_spectacular"] = None
settings.configure(
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "asyncjobs"],
    ALLOWED_HOSTS=["testserver"],
    ROOT_URLCONF="__main__",
    ASYNCJOBS={"STORE": "memory"},
)
django.setup()
urlpatterns = [path("api/jobs/", include("asyncjobs.api.urls"))]
from django.test import Client

assert Client().get("/api/jobs/health/").status_code == 200
print([name for name in sys.modules if name.startswith(("drf_spectacular.", "asyncjobs.api.openapi"))])
"""


class Job(serializers.Serializer[Any]):
    """What a site calls a job."""

    salary = serializers.IntegerField()


class Openings(generics.ListAPIView[Any]):
    """A view of a site."""

    serializer_class = Job
    schema = AutoSchema()


def spoil(result: Any, **kwargs: Any) -> Any:
    """A hook of a site that changes what it is given, in place."""
    for schema in result["components"]["schemas"].values():
        schema.get("properties", {}).clear()
    return result


def described(*patterns: Any, version: str = "3.1.0", **settings: Any) -> Any:
    """What drf-spectacular makes of these addresses, without a warning."""
    with patched_settings({"OAS_VERSION": version, **settings}):
        made = SchemaGenerator(patterns=patterns or [API]).get_schema(public=True)
    assert not GENERATOR_STATS
    return json.loads(json.dumps(made))


def validator(schema: Any, description: Any) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": description["components"]})


def contents(node: Any) -> Any:
    """Everything in a description that has a schema and examples."""
    if isinstance(node, list):
        for part in node:
            yield from contents(part)
    elif isinstance(node, dict):
        shown = [example["value"] for example in node.get("examples", {}).values()] if "schema" in node else []
        if "schema" in node and "example" in node:
            shown.append(node["example"])
        if shown:
            yield node["schema"], shown
        for part in node.values():
            yield from contents(part)


def link(job_id: str, part: str) -> str:
    return f"https://example.com/{job_id}/{part}"


def handler(function: Any, serializer: Any, name: str = "h") -> Handler[..., Any]:
    """One that is registered nowhere."""
    return Handler(function, name, Options(), DEFAULT_RETRY, (), exposure=Exposure(serializer))


def test_every_method_of_every_address_is_described() -> None:
    views = {pattern.callback.cls for pattern in urls.urlpatterns}
    assert {view: set(methods) for view, methods in OPERATIONS.items()} == {
        view: set(view().allowed_methods) for view in views
    }


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0", "3.2.0"])
def test_the_description_is_valid_in_every_version(version: str) -> None:
    description = described(version=version)
    assert description["openapi"] == version
    validate_schema(description)


def test_the_written_description_is_the_one_of_the_demo_site(tmp_path: Path) -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "project.settings", "ASYNCJOBS_DEMO_DIR": str(tmp_path)}
    written = tmp_path / "openapi.json"
    command = ["make", "-s", "-o", ".venv/ready", "docs-api", f"RUN={sys.executable}", f"OPENAPI={written}"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    assert json.loads(written.read_text()) == json.loads((ROOT / "docs/reference/openapi.json").read_text()), (
        "run `make docs-api`"
    )


@pytest.mark.parametrize("drf_spectacular", ["not installed", "not used"])
def test_a_site_without_drf_spectacular_is_served_and_imports_nothing_of_this(drf_spectacular: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", SITE, drf_spectacular]
    site = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert (site.returncode, site.stdout) == (0, "[]\n"), site.stderr


def test_a_site_keeps_its_own_components() -> None:
    description = described(path("openings/", Openings.as_view()), API)
    schemas = description["components"]["schemas"]
    assert schemas["Job"]["properties"].keys() == {"salary"}
    assert "links" in schemas["AsyncJob"]["properties"]
    assert all(name.startswith("AsyncJob") for name in schemas.keys() - {"Job"})


def test_what_a_hook_does_to_a_description_is_not_done_to_the_next() -> None:
    before = described()
    described(POSTPROCESSING_HOOKS=[f"{__name__}.spoil"])
    assert described() == before


def test_a_view_made_from_one_of_ours_is_described_alike() -> None:
    class Own(Jobs):
        """Of a site."""

    [operations] = described(path("own/", Own.as_view()))["paths"].values()
    assert {operation["operationId"] for operation in operations.values()} == {"asyncjobs_list", "asyncjobs_submit"}


def test_who_may_come_in_is_the_sites_to_say() -> None:
    paths = described()["paths"]
    assert paths["/api/jobs/health/"]["get"]["security"] == [{}]
    assert paths["/api/jobs/"]["post"]["security"] == [{"cookieAuth": []}, {"basicAuth": []}]


@pytest.mark.parametrize("part", ["paths", "components"])
def test_every_example_fits(part: str) -> None:
    description = described()
    found = list(contents(description[part]))
    assert found
    for schema, shown in found:
        for example in shown:
            validator(schema, description).validate(example)


def test_every_handler_has_an_example() -> None:
    body = described()["paths"]["/api/jobs/"]["post"]["requestBody"]["content"]["application/json"]
    assert body["examples"]["tests.api.jobs.greet"]["value"] == {
        "name": "tests.api.jobs.greet",
        "kwargs": {"name": "text"},
    }
    offered = set(described()["components"]["schemas"]["AsyncJobSubmission"]["discriminator"]["mapping"])
    assert set(body["examples"]) <= offered
    assert len(body["examples"]) == min(len(offered), MOST)


FULL_JOB = OurJob(
    id="0190a6c2-7b1e-4f3a-9c58-2d6f0e8b4a17",
    name="x",
    status=JobStatus.FAILED,
    error=JobError(code="HANDLER_ERROR", message="it broke", type="ValueError", traceback="…"),
    progress=Progress(done=1, total=3),
    tags=("a",),
    created_at=1,
    started_at=2,
    completed_at=3,
)


@pytest.mark.parametrize(
    ("component", "body"),
    [
        ("AsyncJob", with_result(FULL_JOB, job_body(FULL_JOB, link, traceback=True))),
        ("AsyncJobLogLine", entry_body(Entry("log", 1, "text", number=1))),
        (
            "AsyncJobQueue",
            queue_body(QueueCounts(queue="a", by_status={}, oldest_at=1, pause=Pause(queue="a", since=1)), now=2),
        ),
        ("AsyncJobQueuePause", pause_body(Pause(queue="a", since=1, until=2))),
        ("AsyncJobWorker", worker_body(WorkerRecord("w", 1, '{"pid": 1, "queues": ["a"], "since": 1.5}'), 2, lease=1)),
        ("AsyncJobHandler", handler_body(jobs.greet, lambda name: "https://example.com/")),
    ],
)
def test_bodies_have_the_fields_that_are_described(component: str, body: Any) -> None:
    assert COMPONENTS[component]["properties"].keys() == body.keys()
    validator(COMPONENTS[component], described()).validate(json.loads(json.dumps(body)))


def test_what_can_be_asked_for_and_answered_is_described_in_full() -> None:
    assert parameters.FILTER_SCHEMAS.keys() == FILTERS.keys()
    assert COMPONENTS["AsyncJobProblemCode"]["enum"] == list(KINDS)
    assert submissions([jobs.add])["AsyncJobSubmission.tests.api.jobs.add"]["properties"].keys() == FIELDS


def test_every_kind_of_problem_is_answered_somewhere() -> None:
    said = {code for view in OPERATIONS.values() for operation in view.values() for code in operation.problems}
    assert said == KINDS.keys() - {"method-not-allowed"}  # which is no operation


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"kwargs": {"a": 1}}, True),
        ({"payload": {"a": 1}}, True),
        ({"args": [1]}, True),
        ({"args": [1, 2]}, True),
        ({"args": [1, 2, 3]}, False),
        ({"args": ["1"]}, False),
        ({"args": []}, False),
        ({}, False),
        ({"kwargs": {}}, False),
        ({"kwargs": {"a": "1"}}, False),
        ({"kwargs": {"a": 1, "c": 1}}, False),
        ({"kwargs": {"a": 1}, "payload": {"a": 1}}, False),
        ({"kwargs": {"a": 1}, "delay": 1, "run_at": None}, False),
        ({"kwargs": {"a": 1}, "delay": "PT10M"}, True),
        ({"kwargs": {"a": 1}, "colour": "red"}, False),
        ({"kwargs": {"a": 1}, "unique_key": "own"}, True),
        ({"name": "tests.api.jobs.once", "kwargs": {"same": 1}, "unique_key": "own"}, False),
    ],
)
def test_a_submission_fits_if_its_handler_takes_it(given: Any, fits: bool) -> None:  # noqa: FBT001 - of a table
    schema = {"$ref": "#/components/schemas/AsyncJobSubmission"}
    assert validator(schema, described()).is_valid({"name": "tests.api.jobs.add", **given}) is fits


def test_a_handler_that_needs_nothing_may_be_given_nothing() -> None:
    schema = {"$ref": "#/components/schemas/AsyncJobSubmission"}
    assert validator(schema, described()).is_valid({"name": "tests.api.jobs.echo"})


def test_names_that_no_component_can_have_are_told_apart() -> None:
    def nothing() -> None: ...

    made = submissions([handler(nothing, None, name) for name in ("a b", "a_b", "a,b")])
    assert len(made) == 5  # with those of any, and of many
    assert all(re.fullmatch(r"[\w.-]+", name, re.ASCII) for name in made)


def test_arguments_that_are_no_object_are_a_payload() -> None:
    def total(items: Any) -> int:
        return len(items)

    made = submissions([handler(total, lambda **options: jobs.Number(many=True, **options))])
    given = made["AsyncJobSubmission.h"]
    assert given["properties"]["payload"]["type"] == "array"
    assert not {"args", "kwargs"} & given["properties"].keys()


def test_where_nothing_is_offered_a_submission_is_described_still() -> None:
    assert list(submissions([])) == ["AsyncJobBatch", "AsyncJobSubmission"]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({"type": ["string", "null"], "maxLength": 2}, {"type": "string", "maxLength": 2, "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"anyOf": [{"$ref": "x"}, {"type": "null"}]}, {"anyOf": [{"$ref": "x"}], "nullable": True}),
        ({"const": "a"}, {"allOf": [{"enum": ["a"]}]}),
        ({"exclusiveMinimum": 0}, {"minimum": 0, "exclusiveMinimum": True}),
        (
            {"items": {"const": 1}, "not": {"const": 2}},
            {"items": {"allOf": [{"enum": [1]}]}, "not": {"allOf": [{"enum": [2]}]}},
        ),
        ({"properties": {"type": {"type": ["a", "null"]}}}, {"properties": {"type": {"type": "a", "nullable": True}}}),
        ({"enum": [None], "$schema": "x", "prefixItems": []}, {"enum": [None]}),
        ({"type": "null"}, {"type": "string", "nullable": True, "enum": [None]}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
    ],
)
def test_older_versions_are_told_in_their_own_words(new: Any, old: Any) -> None:
    assert old_schema(new) == old


def test_examples_are_left_as_they_are() -> None:
    example = {"schema": {"const": 1}, "example": {"schema": {"const": 1}}}
    assert with_old_schemas([example]) == [{"schema": {"allOf": [{"enum": [1]}]}, "example": {"schema": {"const": 1}}}]
