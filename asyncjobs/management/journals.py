"""A job's journal as text for terminals, and as JSON for programs."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from asyncjobs.management.printing import ago, iso, safe
from asyncjobs.stores.base import JOURNAL_LIMITS, Entry, EntryKind, Store

SHOWN: Final = 20  # log lines on a terminal

_AT_ALL: Final = {"attempt": None, "code": "", "message": "", "type": "", "traceback": "", "worker": ""}


def kept(store: Store, job_id: str, kind: EntryKind) -> list[Entry]:
    """All entries of this kind there are."""
    return store.journal(job_id, kind, limit=JOURNAL_LIMITS[kind])


def attempt_document(entry: Entry) -> dict[str, Any]:
    """An attempt that ended badly; one written in another way is a message."""
    try:
        said = dict(json.loads(entry.text))
    except (ValueError, TypeError):
        said = {"message": entry.text}
    return {"number": entry.number, "at": iso(entry.at)} | _AT_ALL | said


def log_document(entry: Entry) -> dict[str, Any]:
    return {"number": entry.number, "at": iso(entry.at), "text": entry.text}


def journal_lines(attempts: Sequence[Entry], log: Sequence[Entry], now: int) -> list[str]:
    """The attempts with their tracebacks, then the last lines of the log."""
    lines = [line for entry in attempts for line in _attempt_lines(entry, now)]
    last = log[-SHOWN:]
    if last:
        lines += ["", f"log, lines {last[0].number} to {last[-1].number}"]
    return lines + [f"    {iso(entry.at)}  {safe(entry.text)}" for entry in last]


def _attempt_lines(entry: Entry, now: int) -> Iterator[str]:
    said = attempt_document(entry)
    yield ""
    yield safe(f"attempt {said['attempt']} on {said['worker']} ended {said['at']} ({ago(entry.at, now)})")
    yield safe(f"    {said['code']}: {said['type']} {said['message']}")
    yield from (f"    {safe(line)}" for line in str(said["traceback"]).splitlines())
