"""Runs of a job that ended badly, as its journal has them."""

import json
from typing import Any, NamedTuple

from asyncjobs.stores.base import Entry


class Attempt(NamedTuple):
    """A run that ended badly."""

    number: int  # of the entry
    attempt: int | None
    worker: str
    started_at: int | None
    ended_at: int
    code: str = ""
    type: str = ""
    message: str = ""
    traceback: str = ""

    @property
    def ran(self) -> int | None:
        return None if self.started_at is None else self.ended_at - self.started_at


def read_attempt(entry: Entry) -> Attempt:
    """What an entry says; one written in another way is a message."""
    try:
        said = dict(json.loads(entry.text))
    except (ValueError, TypeError, RecursionError):
        said = {"message": entry.text}
    texts = {name: str(said.get(name) or "") for name in ("code", "type", "message", "traceback")}
    return Attempt(
        entry.number,
        _whole(said.get("attempt")),
        str(said.get("worker") or ""),
        _whole(said.get("started_at")),
        entry.at,
        **texts,
    )


def _whole(value: Any) -> int | None:
    """Within what a date can say."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**47 else None
