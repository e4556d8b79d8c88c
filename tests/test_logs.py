"""Log records: which job they are about, one line each, where they go."""

import contextvars
import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from asyncjobs import logs
from asyncjobs.domain.job import Job
from asyncjobs.ids import new_ids
from asyncjobs.worker import context as contexts
from asyncjobs.worker.context import JobContext


def record(message: str = "message", *args: Any, **facts: Any) -> logging.LogRecord:
    made = logging.LogRecord("asyncjobs.worker", logging.WARNING, "file.py", 1, message, args, None)
    for name, value in facts.items():
        setattr(made, name, value)
    logs.JobIdFilter().filter(made)
    return made


def line_of(made: logging.LogRecord) -> str:
    return logs.LineFormatter().format(made)


def document_of(made: logging.LogRecord) -> Any:
    text = logs.JsonFormatter().format(made)
    assert "\n" not in text
    return json.loads(text)


def failing() -> Any:
    try:
        raise ValueError("odd")
    except ValueError:
        return sys.exc_info()


def test_a_record_names_the_job_it_is_about() -> None:
    assert line_of(record(job_id="some-id")).endswith("some-id message")
    assert document_of(record(job_id="some-id"))["job_id"] == "some-id"


def test_a_record_written_in_a_run_names_its_job() -> None:
    job = Job(id=new_ids(1)[0], name="n")

    def within() -> logging.LogRecord:
        contexts.enter(JobContext(job))
        return record()

    made = contextvars.Context().run(within)
    assert job.id in line_of(made)
    assert document_of(made)["job_id"] == job.id


def test_what_a_record_says_goes_before_where_it_was_written() -> None:
    def within() -> logging.LogRecord:
        contexts.enter(JobContext(Job(id=new_ids(1)[0], name="n")))
        return record(job_id="another")

    assert document_of(contextvars.Context().run(within))["job_id"] == "another"


def test_other_records_name_none() -> None:
    made = record()
    assert line_of(made).endswith("] message")
    assert "job_id" not in document_of(made)


def test_a_record_without_the_filter_is_formatted_too() -> None:
    made = logging.LogRecord("other", logging.INFO, "file.py", 1, "message", (), None)
    assert line_of(made).endswith("] message")
    assert "job_id" not in document_of(made)


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x1b[2Jb", "a\x07b", "a\u2028b", "a\u202eb", "a\x85b", "a\ud800b"])
def test_a_line_is_one_line_whatever_the_message(text: str) -> None:
    line = line_of(record("%s", text))
    assert line.isprintable()
    assert line.encode()
    assert document_of(record("%s", text))["message"] == text


def test_text_that_can_be_read_stays() -> None:
    assert line_of(record("naïve – 日本 %d%%", 5)).endswith("naïve – 日本 5%")


def test_a_line_says_when_how_bad_and_which_process() -> None:
    made = record()
    assert f" WARNING [{made.process}] " in line_of(made)


def test_a_traceback_follows_the_line() -> None:
    made = record(exc_info=failing())
    first, *rest = line_of(made).splitlines()
    assert first.endswith("message")
    assert rest[-1] == "ValueError: odd"


def test_a_document_has_the_exception() -> None:
    document = document_of(record(exc_info=failing()))
    assert "ValueError: odd" in document["exception"]
    assert (document["level"], document["logger"], document["message"]) == ("WARNING", "asyncjobs.worker", "message")
    assert document["time"].endswith("+00:00")


class Keeping(logging.Handler):
    """Where a site has its log go."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record.getMessage())


class Stage(NamedTuple):
    root: logging.Logger
    own: logging.Logger
    stderr: io.StringIO


@contextmanager
def bare_site() -> Iterator[Stage]:
    """The root logger and ours without handlers, and what is written to standard error. No fixture: pytest adds its own
    handlers after those."""
    root, own = logging.getLogger(), logging.getLogger("asyncjobs")
    before = [(logger, logger.handlers, logger.level) for logger in (root, own)]
    root.handlers, own.handlers = [], []
    own.setLevel(logging.NOTSET)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stderr", stderr := io.StringIO())
            yield Stage(root, own, stderr)
    finally:
        for logger, handlers, level in before:
            logger.handlers, logger.propagate = handlers, True
            logger.setLevel(level)


def test_a_site_that_says_nothing_gets_lines_on_standard_error() -> None:
    with bare_site() as stage:
        logs.set_up(as_json=False)
        logging.getLogger("asyncjobs.worker").info("told")
        logging.getLogger("asyncjobs.worker").debug("not told")
    assert stage.stderr.getvalue().count("\n") == 1
    assert stage.stderr.getvalue().endswith("told\n")


@pytest.mark.parametrize("where", ["root", "own"])
def test_a_site_that_says_where_its_log_goes_is_left_alone(where: str) -> None:
    with bare_site() as stage:
        handlers = getattr(stage, where).handlers = [Keeping()]
        logs.set_up(as_json=False)
        logging.getLogger("asyncjobs.worker").warning("told")
        assert getattr(stage, where).handlers is handlers
    assert (handlers[0].kept, stage.stderr.getvalue()) == (["told"], "")


def test_a_level_that_the_site_chose_stays() -> None:
    with bare_site() as stage:
        stage.own.setLevel(logging.ERROR)
        logs.set_up(as_json=False)
        logging.getLogger("asyncjobs.worker").warning("not told")
    assert stage.stderr.getvalue() == ""


def test_json_has_all_records_written_once_as_documents() -> None:
    """Whoever asks for it on the command line wants nothing else on that stream."""
    with bare_site() as stage:
        stage.own.handlers, stage.own.propagate = [logging.StreamHandler(stage.stderr)], False
        logs.set_up(as_json=True)
        logging.getLogger("asyncjobs.worker").info("ours")
        logging.getLogger("shop").warning("the site's")
    documents = [json.loads(line) for line in stage.stderr.getvalue().splitlines()]
    assert [document["message"] for document in documents] == ["ours", "the site's"]
