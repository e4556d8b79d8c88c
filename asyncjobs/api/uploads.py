"""Forms with files: these go to a storage, and the job has references to them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self

from django.core.exceptions import ImproperlyConfigured, SuspiciousFileOperation
from django.core.files.storage import storages
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.text import get_valid_filename
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.response import Response

from asyncjobs.api.acceptance import Acceptance
from asyncjobs.api.capture import FORM
from asyncjobs.api.problems import Problem
from asyncjobs.api.reading import require_length, require_utf8, require_whole, watch_body
from asyncjobs.api.submissions import Submission
from asyncjobs.conf import Conf
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import StoreError

MEDIA_TYPE: Final = "multipart/form-data"
DIRECTORY: Final = "asyncjobs"
_LONGEST_NAME: Final = 200  # bytes: file systems take 255, and there are more of them than characters

_to_json: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Reference(NamedTuple):
    """Where a file is, and what the client said of it."""

    storage: str
    name: str
    filename: str
    content_type: str
    size: int


class Form:
    """A form in a request, with its files."""

    def __init__(self, request: Any, storage: str | None) -> None:
        assert storage is not None, "forms are refused without one"
        require_whole(request)
        self._fields = {name: list(values) for name, values in request.POST.lists()}
        self._files = [(field, file) for field, files in request.FILES.lists() for file in files]
        self._alias = storage
        self._storage = storages[storage]

    def fingerprint(self) -> str:
        """The same for a form that says the same, whatever its boundary."""
        files = [[field, file.name, file.content_type, _digest(file)] for field, file in self._files]
        return _to_json([self._fields, files])

    def accepted(self, engine: Engine, acceptance: Acceptance, job: Job) -> Response:
        """Stores the files, and then the job. Files of a job that is not stored are removed again."""
        saved: list[tuple[str, Reference]] = []
        try:
            for field, reference in self._save(job.id):
                saved.append((field, reference))
                _require_own_name(reference.name, job.id)
            payload = _payload(self._fields, saved, limit=engine.conf.max_payload)
            headers = {**(job.headers or {}), FORM: [self._alias]}
            response = acceptance.one(Submission(job.replace(payload=payload, headers=headers)))
        except BaseException:
            if not _may_be_stored(engine, job):
                self._remove(saved)
            raise
        if response.data["id"] != job.id:
            self._remove(saved)
        return response

    def _save(self, job_id: str) -> Iterator[tuple[str, Reference]]:
        for number, (field, file) in enumerate(self._files):
            name = self._storage.save(f"{DIRECTORY}/{job_id}/{number}-{_safe(file.name)}", file)
            yield field, Reference(self._alias, name, file.name, file.content_type or "", file.size)

    def _remove(self, saved: list[tuple[str, Reference]]) -> None:
        for _, reference in saved:
            with suppress(OSError):  # the request has a problem of its own, and that is what to tell
                self._storage.delete(reference.name)


class StoredForm(BaseParser):
    """Reads the form that is the payload of a job, with files of its own alone."""

    media_type = MEDIA_TYPE

    def __init__(self, job_id: str, storage: str | None) -> None:
        self._job_id = job_id
        self._alias = storage

    @classmethod
    def of(cls, job: Job, storage: str | None) -> Self | None:
        """None if the payload is a body: what that says of files is nothing but what a client says."""
        return cls(job.id, storage) if FORM in (job.headers or {}) else None

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        stored = json.load(stream)
        fields = QueryDict(mutable=True)
        for name, values in stored["fields"].items():
            fields.setlist(name, values)
        fields._mutable = False  # as the QueryDict of a request is
        files = MultiValueDict[str, StoredFile]()
        for field, reference in stored["files"]:
            files.appendlist(field, StoredFile(self._own(Reference(**reference))))
        return DataAndFiles(fields, files)

    def _own(self, reference: Reference) -> Reference:
        if reference.storage != self._alias or not _is_own_name(reference.name, self._job_id):
            raise ParseError(f"{reference.name!r:.200} in {reference.storage!r:.80} is no file of this form.")
        return reference


class StoredFile(UploadedFile):  # type: ignore[type-arg]  # generic for type checkers alone
    """A file of a request, in the storage where it waits for its job; opened when it is first read."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self._opened: Any = None
        super().__init__(None, reference.filename, reference.content_type, reference.size)

    @property
    def file(self) -> Any:
        if self._opened is None:
            self._opened = storages[self.reference.storage].open(self.reference.name)
        return self._opened

    @file.setter
    def file(self, opened: Any) -> None:
        self._opened = opened

    @property
    def closed(self) -> bool:
        return self._opened is None or self._opened.closed

    def open(self, mode: str | None = None, *args: Any, **options: Any) -> Self:
        if self.closed:
            self._opened = None
        else:
            self.seek(0)
        return self

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def is_form(request: Any) -> bool:
    kind: str = request.content_type or ""
    return kind.partition(";")[0].strip().lower() == MEDIA_TYPE


def require_definite(request: Any) -> None:
    """Refuses a body of any kind whatever: any parser would take it, and another one in a worker."""
    if "*" in (request.content_type or "").partition(";")[0]:
        raise Problem("unsupported-media-type", "Say of which kind the body is.")


def require_form(request: Any, storage: str | None, conf: Conf) -> None:
    """Refuses a form where none is taken, or one that is too large or not in UTF-8, before a byte of it is read.

    And when it is read, one that breaks off.
    """
    require_utf8(request)
    if storage is None:
        raise Problem("unsupported-media-type", "This endpoint takes no files: send JSON, or a form without files.")
    require_length(request, conf.api.max_body)
    watch_body(request)


def _payload(fields: Mapping[str, list[str]], saved: list[tuple[str, Reference]], *, limit: int) -> str:
    text = _to_json({"fields": fields, "files": [[field, reference._asdict()] for field, reference in saved]})
    if len(text.encode()) > limit:
        raise Problem("too-large", f"The fields of a form have at most {limit:,} bytes here.")
    return text


def _is_own_name(name: str, job_id: str) -> bool:
    return name.startswith(f"{DIRECTORY}/{job_id}/") and ".." not in name.split("/")


def _require_own_name(name: str, job_id: str) -> None:
    if not _is_own_name(name, job_id):
        raise ImproperlyConfigured(f"The storage of an endpoint keeps files where it is told to, and not at {name!r}.")


def _safe(name: str | None) -> str:
    try:
        return get_valid_filename(name or "").encode()[-_LONGEST_NAME:].decode(errors="ignore")
    except SuspiciousFileOperation:
        return "file"


def _digest(file: Any) -> str:
    digest = sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _may_be_stored(engine: Engine, job: Job) -> bool:
    """Of a store that did not answer it is not known, and a job without its files is worse than files without a job."""
    try:
        return engine.store.get([job.id]) != [None]
    except StoreError:
        return True
