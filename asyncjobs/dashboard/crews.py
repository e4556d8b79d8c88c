"""Workers as the store knows them: processes, each with a record of its own, and the workers they belong to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from asyncjobs.about import read_about
from asyncjobs.dashboard.marks import mark
from asyncjobs.errors import InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.stores.base import WorkerRecord

ENDED: Final = "ended"
SILENT: Final = "silent"
_ACHIEVED: Final = {"quiet": ("quiet", "ending"), "work": ("working", "ending"), "stop": ("ending",)}
_MOST_JOBS: Final = 20  # as many as a record of ours names
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of a worker. `state` is what it said, or "silent" where it should have been heard from."""

    id: str
    state: str
    beat_at: int
    order: str  # not obeyed yet; else ""
    pid: int | None
    running: int
    jobs: tuple[str, ...]  # the ids of those it runs, or of some of them
    memory: int | None
    exitcode: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """A worker: the supervisor, and its processes that have not ended."""

    key: str  # the same for all that a worker's processes said at any time
    name: str
    host: str
    version: str
    queues: tuple[str, ...]
    exclude: tuple[str, ...]
    threads: int | None
    since: int | None
    processes: tuple[Process, ...]

    @property
    def is_silent(self) -> bool:
        return any(process.state == SILENT for process in self.processes)

    @property
    def takes_jobs(self) -> bool:
        return any(process.state == "working" for process in self.processes)

    @property
    def is_quiet(self) -> bool:
        return any(process.state == "quiet" for process in self.processes)

    @property
    def serves_all(self) -> bool:
        return "*" in self.queues and not self.exclude

    def serves(self, queue: str) -> bool:
        """Whether it listens to this queue. What no worker of ours wrote listens to nothing."""
        is_excluded = any(fnmatchcase(queue, pattern) for pattern in self.exclude)
        return not is_excluded and any(fnmatchcase(queue, pattern) for pattern in self.queues)


def crews(records: Iterable[WorkerRecord], *, now: int, lease: int) -> list[Crew]:
    """The workers with a process that has not ended: those that fell silent first, then by name and host."""
    members: dict[str, list[tuple[Mapping[str, Any], Process]]] = {}
    for record in records:
        said = read_about(record.about)
        process = _process(record, said, now=now, lease=lease)
        if process.state != ENDED:
            members.setdefault(_key(record, said), []).append((said, process))
    found = [_crew(key, some[0][0], [process for _, process in some]) for key, some in members.items()]
    return sorted(found, key=lambda crew: (not crew.is_silent, crew.name, crew.host, crew.since or 0))


def ended(records: Iterable[WorkerRecord], *, limit: int) -> list[tuple[str, str, Process]]:
    """The processes that ended last, each with the name and the host of its worker."""
    over = [(record, said) for record in records if (said := read_about(record.about)).get("state") == ENDED]
    newest = sorted(over, key=lambda one: one[0].beat_at, reverse=True)[:limit]
    return [
        (_text(said, "name") or record.worker, _text(said, "host"), _process(record, said, now=0, lease=0))
        for record, said in newest
    ]


def serving(found: Iterable[Crew], queue: str) -> list[Crew]:
    """Those that listen to this queue, also if they take no jobs now."""
    return [crew for crew in found if crew.serves(queue)]


def _process(record: WorkerRecord, said: Mapping[str, Any], *, now: int, lease: int) -> Process:
    state = _text(said, "state") or "working"
    is_silent = state != ENDED and now - record.beat_at > lease
    return Process(
        id=record.worker,
        state=SILENT if is_silent else state,
        beat_at=record.beat_at,
        order="" if state in _ACHIEVED.get(record.order, (state,)) else record.order,
        pid=_number(said, "pid"),
        running=_number(said, "running") or 0,
        jobs=tuple(filter(_is_job_id, _texts(said, "jobs")))[:_MOST_JOBS],
        memory=_number(said, "memory") or None,
        exitcode=_number(said, "exitcode"),
    )


def _crew(key: str, said: Mapping[str, Any], processes: list[Process]) -> Crew:
    since = said.get("since")
    return Crew(
        key=key,
        name=_text(said, "name") or processes[0].id,
        host=_text(said, "host"),
        version=_text(said, "version"),
        queues=_texts(said, "queues"),
        exclude=_texts(said, "exclude"),
        threads=_number(said, "threads"),
        since=round(since * 1000) if isinstance(since, int | float) and 0 < since < 1e11 else None,
        processes=tuple(sorted(processes, key=lambda process: (process.state != SILENT, process.pid or 0, process.id))),
    )


def _key(record: WorkerRecord, said: Mapping[str, Any]) -> str:
    """By what all processes of a worker say alike. One that does not is a worker by itself."""
    alike = [said.get(name) for name in ("name", "host", "supervisor", "since")]
    whose = alike if all(alike) else [record.worker]
    return mark(repr(whose))


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value[:_LONGEST] if isinstance(value, str) else ""


def _texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = said.get(name)
    return tuple(value[:_LONGEST] for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def _number(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _is_job_id(text: str) -> bool:
    try:
        return job_id_of(text) == text
    except InvalidJobId:
        return False
