"""The Lua scripts: files, put together from includes, called by their hash."""

import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeVar

from redis import Redis
from redis.exceptions import NoScriptError

from asyncjobs.stores.redis.line import Line

T = TypeVar("T")

SCRIPT_LIMIT: Final = 100  # jobs of one script call, at most; `add` alone takes MAX_BATCH, to be all or none
LUA: Final = files(__package__) / "lua"
ENTRIES: Final = (
    *("add", "claim", "swap", "watch", "beat", "lapsed", "held", "get", "find", "counts", "delete", "prune", "turn"),
    *("order", "resting", "restore", "faults", "due"),
    *(
        "heal",
        "check_faults",
        "check_jobs",
        "check_members",
        "check_entries",
        "check_group",
        "check_journals",
        "check_trash",
        "check_unique",
    ),
)
_INCLUDE: Final = re.compile(r"^--- @include (\w+)\n", re.MULTILINE)

# New jobs are refused when the server is at its memory limit; whatever frees or records work must still be done.
_FLAGS: Final = {"add": "#!lua\n"}
_ALLOW_OOM: Final = "#!lua flags=allow-oom\n"


class Script(NamedTuple):
    """A script and the hash the server knows it by."""

    body: str
    sha: str


def compose(name: str, pasted: set[str] | None = None) -> str:
    """The script's text with each include pasted once, where it is first asked for."""
    pasted = {name} if pasted is None else pasted

    def paste(match: re.Match[str]) -> str:
        include = match[1]
        if include in pasted:
            return ""
        pasted.add(include)
        return compose(include, pasted)

    return _INCLUDE.sub(paste, (LUA / f"{name}.lua").read_text())


@cache
def load(*, flags: bool) -> dict[str, Script]:
    """All scripts by name. `flags` is off for servers that do not know them (fakeredis)."""
    return {name: _script((_FLAGS.get(name, _ALLOW_OOM) if flags else "") + compose(name)) for name in ENTRIES}


def _script(body: str) -> Script:
    return Script(body, sha1(body.encode(), usedforsecurity=False).hexdigest())


def run(line: Line, called: Script, prefix: str, args: Sequence[Any]) -> Any:
    """One script in one round trip; two when the server has lost it."""
    try:
        return line.ask("EVALSHA", called.sha, 1, prefix, *args)
    except NoScriptError:
        return line.ask("EVAL", called.body, 1, prefix, *args)


def run_both(client: Redis, line: Line, prefix: str, calls: Sequence[tuple[Script, Sequence[Any]]]) -> list[Any]:
    """Several scripts in one round trip, in order. The first error is raised, after the ones the server lost ran."""
    pipeline = client.pipeline(transaction=False)
    for called, args in calls:
        pipeline.evalsha(called.sha, 1, prefix, *args)
    answers = pipeline.execute(raise_on_error=False)
    for position, (called, args) in enumerate(calls):
        if isinstance(answers[position], NoScriptError):
            answers[position] = run(line, called, prefix, args)
        elif isinstance(answers[position], Exception):
            raise answers[position]
    return answers


def parts(items: Sequence[T], most: int = SCRIPT_LIMIT) -> list[Sequence[T]]:
    """As many at a time as one script call takes."""
    return [items[start : start + most] for start in range(0, len(items), most)]
