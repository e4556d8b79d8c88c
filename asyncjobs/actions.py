"""What people did to a job, kept in its journal: who, what and why."""

import json
from typing import Any, Final

from asyncjobs.stores.base import Entry

OPERATION: Final = "asyncjobs.operation"
"""The name of jobs that do to others what somebody ordered. One that is over is never run again: it is ordered anew."""


def action_entry(action: str, *, by: str | None, now: int, **more: Any) -> Entry:
    """The entry that says so; `by` is whoever did it, as the jobs of that user have it."""
    return Entry("action", now, json.dumps({"action": action, "by": by, **more}, ensure_ascii=False))


def read_action(entry: Entry) -> dict[str, Any]:
    """What an entry says; one written in another way says what it says."""
    try:
        return {"action": "", "by": None} | dict(json.loads(entry.text))
    except (ValueError, TypeError, RecursionError):
        return {"action": entry.text, "by": None}
