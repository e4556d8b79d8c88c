"""Whether the workers of this machine take jobs: for probes."""

import os
import socket
from collections.abc import Iterator
from typing import Any, Final

from asyncjobs.about import read_about
from asyncjobs.engine import Engine

LONGEST_SILENCE_MS: Final = 45_000  # of a worker's record
LONGEST_HUNGER_MS: Final = 60_000  # of a child that runs nothing, since it was last answered


def complaints(engine: Engine, *, name: str | None) -> list[str]:
    """What is wrong with the workers of this machine, or with the one of that name; none: all is well."""
    now = engine.store.now()
    said = [(now - record.beat_at, read_about(record.about)) for record in engine.store.workers()]
    mine = [(silence, about) for silence, about in said if _is_meant(about, name)]
    newest = {about.get("name"): about.get("since", 0) for _, about in sorted(mine, key=_since)}
    if not mine:
        return ["no worker of this machine has been heard of"]
    return [
        complaint
        for silence, about in mine
        if about.get("since", 0) == newest[about.get("name")]  # the others are of a worker that this one has replaced
        for complaint in _complaints(silence, about)
    ]


def _since(said: tuple[int, dict[str, Any]]) -> float:
    return float(said[1].get("since", 0))


def _complaints(silence: int, about: dict[str, Any]) -> Iterator[str]:
    hunger = silence + about.get("claimed_ago", 0)
    if silence > LONGEST_SILENCE_MS:
        yield f"process {about['pid']} was last heard of {silence // 1000} s ago"
    elif not about.get("running") and about.get("state") != "quiet" and hunger > LONGEST_HUNGER_MS:
        yield f"process {about['pid']} asked for jobs and was not answered for {hunger // 1000} s"


def _is_meant(about: dict[str, Any], name: str | None) -> bool:
    if about.get("host") != socket.gethostname() or about.get("state") == "ended":
        return False
    return name in (None, about.get("name")) and _is_there(about.get("supervisor"))


def _is_there(pid: object) -> bool:
    """Whether this process exists. What was killed is remembered for a day, and is no reason to complain."""
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
