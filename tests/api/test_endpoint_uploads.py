"""Files that are sent to an endpoint wait for the worker in a storage."""

import json
from io import BytesIO
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.api.capture import FORM
from asyncjobs.current import exchange_engine
from asyncjobs.domain.job import Job
from asyncjobs.stores.base import Store
from asyncjobs.testing import memory_jobs, run_jobs
from tests.api.conftest import ClientOf, JsonClient
from tests.stores.faulty import Fault, FaultyStore
from tests.threads import in_threads

pytestmark = [pytest.mark.urls("tests.api.endpoints"), pytest.mark.django_db]
IN_MEMORY = {"BACKEND": "django.core.files.storage.InMemoryStorage"}


@pytest.fixture(autouse=True)
def storage(settings: Settings) -> InMemoryStorage:
    settings.STORAGES = {"default": IN_MEMORY, "staticfiles": IN_MEMORY}
    made = storages["default"]
    assert isinstance(made, InMemoryStorage)
    return made


@pytest.fixture
def client(client_of: ClientOf, ann: User, engine: Engine) -> JsonClient:
    return client_of(ann)


def stored(engine: Engine) -> list[Job]:
    return engine.find(Query()).jobs


def files_in(storage: InMemoryStorage, directory: str = "asyncjobs") -> list[str]:
    if not storage.exists(directory):
        return []
    directories, names = storage.listdir(directory)
    found = [f"{directory}/{name}" for name in names]
    return found + [name for one in directories for name in files_in(storage, f"{directory}/{one}")]


def file(name: str = "a b.txt", content: bytes = b"hello", kind: str = "text/plain") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, kind)


def send(client: JsonClient, url: str = "/upload/", **fields: Any) -> Any:
    return client.post(url, fields, format="multipart", headers=fields.pop("headers", None))


def test_a_worker_reads_the_files_of_a_form(client: JsonClient, engine: Engine, storage: InMemoryStorage) -> None:
    accepted = send(client, title=["x", "é"], doc=[file(), file("b.csv", "1;é".encode(), "text/csv")], more=file())
    assert accepted.status_code == 202
    [job] = stored(engine)
    assert sorted(files_in(storage)) == [
        f"asyncjobs/{job.id}/0-a_b.txt",
        f"asyncjobs/{job.id}/1-b.csv",
        f"asyncjobs/{job.id}/2-a_b.txt",
    ]
    run_jobs()
    assert engine.result(job.id) == {
        "fields": {"title": ["x", "é"]},
        "files": [
            ["a b.txt", "text/plain", 5, "hello"],
            ["b.csv", "text/csv", 4, "1;é"],
            ["a b.txt", "text/plain", 5, "hello"],
        ],
        "data": ["doc", "more", "title"],
    }


def test_the_job_has_references_and_no_content(client: JsonClient, engine: Engine) -> None:
    send(client, title="x", doc=file())
    [job] = stored(engine)
    assert json.loads(job.payload) == {
        "fields": {"title": ["x"]},
        "files": [
            [
                "doc",
                {
                    "storage": "default",
                    "name": f"asyncjobs/{job.id}/0-a_b.txt",
                    "filename": "a b.txt",
                    "content_type": "text/plain",
                    "size": 5,
                },
            ]
        ],
    }


def test_an_endpoint_without_a_storage_takes_no_files(client: JsonClient, engine: Engine) -> None:
    refused = send(client, "/mirror/", doc=file())
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported-media-type")
    assert "takes no files" in refused.json()["detail"]
    assert stored(engine) == []


def test_an_endpoint_with_a_storage_takes_other_bodies_too(client: JsonClient, engine: Engine) -> None:
    client.post("/upload/", {"a": 1})
    [job] = run_jobs()
    assert engine.result(job.id) == {"fields": {}, "files": [], "data": ["a"]}


def test_the_serializer_sees_the_files(client: JsonClient, engine: Engine, storage: InMemoryStorage) -> None:
    refused = send(client, "/attach/", title="far too long", file=file(content=b""))
    assert refused.status_code == 422
    assert {fault["pointer"] for fault in refused.json()["errors"]} == {"#/title", "#/file"}
    assert (stored(engine), files_in(storage)) == ([], [])
    assert send(client, "/attach/", title="fits", file=file()).status_code == 202
    [job] = run_jobs()
    assert engine.result(job.id) == "hello"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "0-passwd"),
        ("a/b.txt", "0-b.txt"),
        ("$$$", "0-file"),
        ("é" * 200 + ".txt", "0-" + "é" * 98 + ".txt"),
        ("漢" * 90 + ".txt", "0-" + "漢" * 65 + ".txt"),  # of three bytes each
    ],
)
def test_no_name_leads_anywhere_else(
    client: JsonClient, engine: Engine, storage: InMemoryStorage, name: str, kept: str
) -> None:
    assert send(client, doc=file(name)).status_code == 202
    [job] = stored(engine)
    assert files_in(storage) == [f"asyncjobs/{job.id}/{kept}"]


def test_too_many_bytes_are_refused_before_they_are_read(
    client_of: ClientOf, ann: User, settings: Settings, storage: InMemoryStorage
) -> None:
    settings.ASYNCJOBS = {"API": {"MAX_BODY": 10_000}}
    with memory_jobs() as engine:
        refused = send(client_of(ann), doc=file(content=b"x" * 10_001))
        assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
        assert stored(engine) == []
    assert files_in(storage) == []


def test_too_many_files_are_refused(client: JsonClient, engine: Engine, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    refused = send(client, doc=[file(), file(), file()])
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed")
    assert stored(engine) == []


@pytest.mark.parametrize("size", [65_536, 3_000_000])  # more than a job may have, or Django takes
def test_fields_no_job_can_keep_leave_no_files(
    client: JsonClient, engine: Engine, storage: InMemoryStorage, size: int
) -> None:
    refused = send(client, title="x" * size, doc=file())
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
    assert (stored(engine), files_in(storage)) == ([], [])


CUT_OFF = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nhalf of'


def reading_bodies(get_response: Any) -> Any:
    """Middleware that is the first to read them, as one that logs them is."""

    def middleware(request: Any) -> Any:
        request.body  # noqa: B018 - looking is what reads
        return get_response(request)

    return middleware


def reading_forms(get_response: Any) -> Any:
    """The same, of one that looks for something in them."""

    def middleware(request: Any) -> Any:
        request.POST  # noqa: B018 - looking is what reads
        return get_response(request)

    return middleware


@pytest.mark.parametrize("middleware", [[], [f"{__name__}.reading_bodies"], [f"{__name__}.reading_forms"]])
def test_a_form_that_breaks_off_is_refused(
    client_of: ClientOf, ann: User, engine: Engine, storage: InMemoryStorage, settings: Settings, middleware: list[str]
) -> None:
    """Also where the check against CSRF was the first to read it, which makes nothing of it."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, *middleware]
    by_session = Client(enforce_csrf_checks=True)
    by_session.force_login(ann)
    by_session.cookies["csrftoken"] = token = "a" * 32
    for client in (client_of(ann), by_session):
        kind, rest = (
            "multipart/form-data; boundary=x",
            cast(Any, {"CONTENT_LENGTH": "5000", "wsgi.input": BytesIO(CUT_OFF)}),
        )
        refused = client.generic("POST", "/upload/", CUT_OFF, kind, headers={"X-CSRFToken": token}, **rest)
        assert (refused.status_code, refused.json()["detail"]) == (400, "The body breaks off.")
    assert (stored(engine), files_in(storage)) == ([], [])
    assert client_of(ann).post("/upload/", {"title": "é", "doc": file()}, format="multipart").status_code == 202
    run_jobs()
    [job] = stored(engine)
    assert engine.result(job.id)["fields"] == {"title": ["é"]}


def test_a_job_that_is_refused_leaves_no_files(
    client_of: ClientOf, ann: User, settings: Settings, storage: InMemoryStorage
) -> None:
    settings.ASYNCJOBS = {"QUEUES": {"default": {"limit": 1}}}
    with memory_jobs() as engine:
        assert send(client_of(ann), doc=file()).status_code == 202
        assert send(client_of(ann), doc=file()).status_code == 429
        assert len(stored(engine)) == len(files_in(storage)) == 1


@pytest.mark.parametrize(
    ("faults", "jobs", "files"),
    [
        ([Fault.BEFORE], 0, 0),
        ([Fault.AFTER], 1, 1),
        ([Fault.BEFORE, Fault.BEFORE], 0, 1),  # nobody can tell: a job without its files would be worse
        ([Fault.AFTER, Fault.BEFORE], 1, 1),
    ],
)
def test_a_job_that_may_be_stored_has_its_files(
    client: JsonClient, engine: Engine, storage: InMemoryStorage, faults: list[Fault], jobs: int, files: int
) -> None:
    faulty = Engine(cast(Store, FaultyStore(engine.store, faults, of=("add", "get"))), engine.conf)
    exchange_engine(faulty)
    assert send(client, doc=file()).status_code == 503
    exchange_engine(engine)
    assert (len(stored(engine)), len(files_in(storage))) == (jobs, files)


def test_of_many_forms_with_one_key_one_is_stored(
    client_of: ClientOf, ann: User, engine: Engine, storage: InMemoryStorage
) -> None:
    def post() -> Any:
        return send(client_of(ann), doc=file(), headers={"Idempotency-Key": "k"})

    answers = in_threads(*[post] * 8)
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(stored(engine)) == len(files_in(storage)) == 1


def test_the_same_form_with_the_same_key_is_stored_once(
    client: JsonClient, engine: Engine, storage: InMemoryStorage
) -> None:
    def post(content: bytes = b"hello", title: str = "x") -> Any:
        return send(client, title=title, doc=file(content=content), headers={"Idempotency-Key": "k"})

    first, again = post(), post()
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert post(content=b"other").json()["code"] == "key-reused"
    assert post(title="other").json()["code"] == "key-reused"
    assert len(stored(engine)) == len(files_in(storage)) == 1


FORGED = json.dumps(
    {
        "fields": {"title": ["x"]},
        "files": [
            ["f", {"storage": "private", "name": "pay.txt", "filename": "x", "content_type": "text/plain", "size": 3}]
        ],
    }
)


@pytest.fixture
def secret(storage: InMemoryStorage, settings: Settings) -> str:
    """What is in a file of the site's own, in another storage."""
    settings.STORAGES = {**settings.STORAGES, "private": IN_MEMORY}
    storages["private"].save("pay.txt", ContentFile(b"top secret"))
    return "top secret"


@pytest.mark.parametrize("kind", ["*/*", "*/form-data", "multipart/*", "*/*; boundary=x", "*"])
@pytest.mark.parametrize("url", ["/upload/", "/attach/", "/mirror/"])
def test_a_body_of_any_kind_whatever_is_refused(client: JsonClient, engine: Engine, url: str, kind: str) -> None:
    refused = client.post(url, FORGED, content_type=kind)
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported-media-type")
    assert stored(engine) == []


@pytest.mark.parametrize("kind", ["*/*", "*/form-data", "multipart/form-data", "multipart/form-data; boundary=x"])
def test_what_was_not_taken_as_a_form_is_none_in_the_worker(
    client: JsonClient, engine: Engine, secret: str, kind: str
) -> None:
    client.post("/upload/", FORGED, content_type="application/json")
    [taken] = stored(engine)
    engine.delete(taken.id)
    engine.submit_many([taken.replace(headers={**(taken.headers or {}), "Content-Type": [kind]})], on_commit=False)
    [job] = run_jobs()
    assert secret not in f"{job.result} {job.error}"


def test_clients_cannot_say_that_a_body_is_a_form_that_was_kept(
    client: JsonClient, engine: Engine, secret: str
) -> None:
    client.post("/upload/", FORGED, content_type="application/json", headers={FORM: "default"})
    [job] = stored(engine)
    assert FORM not in (job.headers or {})
    run_jobs()
    assert engine.result(job.id) == {"fields": {}, "files": [], "data": ["fields", "files"]}


@pytest.mark.parametrize(
    ("stored_in", "name"),
    [
        ("private", "pay.txt"),
        ("private", "asyncjobs/{id}/0-a_b.txt"),
        ("default", "pay.txt"),
        ("default", "asyncjobs/00000000-0000-0000-0000-000000000001/0-a_b.txt"),
        ("default", "asyncjobs/{id}/../../pay.txt"),
    ],
)
def test_a_form_has_no_files_but_those_that_came_with_it(
    client: JsonClient, engine: Engine, secret: str, stored_in: str, name: str
) -> None:
    send(client, doc=file())
    [taken] = stored(engine)
    form = json.loads(taken.payload)
    form["files"][0][1].update(storage=stored_in, name=name.format(id=taken.id))
    engine.delete(taken.id)
    engine.submit_many([taken.replace(payload=json.dumps(form))], on_commit=False)
    [job] = run_jobs()
    assert (job.status, job.error and job.error.code) == (JobStatus.FAILED, "ENDPOINT_REFUSED")
    assert job.error is not None
    assert "no file of this form" in job.error.message


class Renaming(InMemoryStorage):
    """A storage that puts files elsewhere than it is told to."""

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        return super().save(f"media/{name}", content, max_length)


def test_a_storage_that_gives_files_names_of_its_own_is_a_mistake_of_the_site(
    client: JsonClient, engine: Engine, settings: Settings
) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": f"{__name__}.{Renaming.__qualname__}"}}
    with pytest.raises(ImproperlyConfigured, match="keeps files where it is told to, and not at 'media/asyncjobs/"):
        send(client, doc=file())
    assert stored(engine) == []
    assert files_in(cast(InMemoryStorage, storages["default"]), "media") == []


def test_a_file_that_is_gone_fails_the_run(client: JsonClient, engine: Engine, storage: InMemoryStorage) -> None:
    send(client, doc=file())
    [name] = files_in(storage)
    storage.delete(name)
    [job] = run_jobs()
    assert job.status == JobStatus.SCHEDULED
    assert job.error is not None
    assert job.error.type == "builtins.FileNotFoundError"
