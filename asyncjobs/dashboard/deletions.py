"""Who deleted what rests in the trash, and why."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from asyncjobs.actions import read_action
from asyncjobs.dashboard.people import names_of, who
from asyncjobs.domain.job import Job
from asyncjobs.stores.base import Entry, Resting


class Deletion(NamedTuple):
    """A job in the trash, and what is known of how it came there."""

    job: Job
    at: int
    until: int
    by: str = ""
    reason: str = ""


def deletions(rests: Sequence[Resting]) -> list[Deletion]:
    said = [_said(rest.note) for rest in rests]
    names = names_of(str(one["by"]) for one in said if one.get("by") is not None)
    return [_deletion(rest, one, names) for rest, one in zip(rests, said, strict=True)]


def _said(note: Entry | None) -> dict[str, Any]:
    """Nothing, if the last thing that people did to the job was another one."""
    said = read_action(note) if note is not None else {}
    return said if said.get("action") == "delete" else {}


def _deletion(rest: Resting, said: Mapping[str, Any], names: Mapping[str, str]) -> Deletion:
    by = who(said.get("by"), names) if said else ""
    return Deletion(rest.job, rest.at, rest.until, by, str(said.get("reason") or ""))
