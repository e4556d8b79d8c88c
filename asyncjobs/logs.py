"""Log records that say which job they are about, as lines for people or as JSON for programs.

With a LOGGING of your own, use `asyncjobs.logs.JobIdFilter` to have `job_id` on every record, and
`asyncjobs.logs.JsonFormatter`.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

from asyncjobs.worker.context import current_job_id

_LINE: Final = "{asctime} {levelname:<7} [{process}] {job}{message}"


class JobIdFilter(logging.Filter):
    """Puts `job_id` on every record: the one it names, else that of the run it was written in, else nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.job_id = getattr(record, "job_id", None) or current_job_id()
        return True


class LineFormatter(logging.Formatter):
    """One line a record, whatever the message contains, and the traceback below."""

    def __init__(self) -> None:
        super().__init__(_LINE, style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        job_id = getattr(record, "job_id", "")
        record.job = f"{job_id} " if job_id else ""
        record.message = _on_one_line(record.message)
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "pid": record.process,
            "message": record.getMessage(),
        }
        if getattr(record, "job_id", ""):
            document["job_id"] = record.job_id  # type: ignore[attr-defined]  # put there by the filter
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str)


def set_up(*, as_json: bool) -> None:
    """Has the worker's log written to standard error, unless the site's LOGGING says where it goes.

    JSON was asked for by the command line, which overrules LOGGING: a stream of documents has no other lines.
    """
    logger = logging.getLogger("asyncjobs")
    if logger.hasHandlers() and not as_json:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else LineFormatter())
    handler.addFilter(JobIdFilter())
    target = logging.getLogger() if as_json else logger
    logger.handlers, logger.propagate = [], True
    target.handlers = [handler]
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
