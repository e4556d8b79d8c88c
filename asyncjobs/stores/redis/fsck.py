"""Compares every key of the store with every other that must agree with it."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Finding
from asyncjobs.stores.redis import codec, connection, keys

if TYPE_CHECKING:
    from asyncjobs.stores.redis.store import RedisStore

STEP = 100

_MESSAGES = {
    "MISPLACED": "is not in the place that its status names",
    "TWO_PLACES": "is in a second place",
    "FAULT_ASTRAY": "has a fault and is not dead",
    "NOT_INDEXED": "is missing from an index",
    "UNREADABLE": "cannot be read by this release",
}
_TRASH_MESSAGES = {
    "MISPLACED": "is in the trash and not listed there by its time",
    "ASTRAY": "has left something in the trash that does not belong there",
}


class Fsck:
    """One pass over all keys. Each script looks at up to STEP of them at one moment, so that work going on beside
    the check is never mistaken for damage."""

    def __init__(self, store: "RedisStore", *, fix: bool) -> None:
        self._store = store
        self._fix = "fix" if fix else ""

    def findings(self) -> list[Finding]:
        found: list[Finding] = []
        for suffixes in self._all_keys():
            found.extend(self._check_jobs([key.partition(":")[2] for key in suffixes if key.startswith("job:")]))
            found.extend(self._check_trash([match[1] for match in map(_RESTING.fullmatch, suffixes) if match]))
            found.extend(self._check_unique([match[1] for match in map(_UNIQUE.fullmatch, suffixes) if match]))
            found.extend(self._check_journals([match.groups() for match in map(_JOURNAL.fullmatch, suffixes) if match]))
            for suffix in suffixes:
                found.extend(self._check_list(suffix))
        return found + list(self._check_faults())

    def _all_keys(self) -> Iterator[list[str]]:
        prefix = f"{self._store.prefix}:"
        stored = (key.decode().removeprefix(prefix) for key in self._scan(f"{_literal(prefix)}*"))
        while step := list(islice(stored, STEP)):
            yield step

    def _scan(self, pattern: str) -> Iterator[bytes]:
        cursor, scan = 0, connection.translated(self._store.client.scan)
        while True:
            cursor, page = scan(cursor, match=pattern, count=1000)
            yield from page
            if not cursor:
                return

    def _check_jobs(self, ids: Sequence[str]) -> Iterator[Finding]:
        if not ids:
            return
        answer = self._run("check_jobs", *ids)
        wrong = {job_id.decode(): code.decode() for job_id, code in zip(answer[::2], answer[1::2], strict=True)}
        stored = zip(ids, self._store.raw(ids), strict=True)
        unreadable = {job_id: "UNREADABLE" for job_id, text in stored if text and codec.read_if_possible(text) is None}
        yield from (self._heal(job_id, code) for job_id, code in (wrong | unreadable).items())

    def _heal(self, job_id: str, code: str) -> Finding:
        fixed = bool(self._fix) and code != "UNREADABLE" and self._put_back(job_id)
        return Finding(code=code, message=f"job {job_id} {_MESSAGES[code]}", job_id=job_id, fixed=fixed)

    def _put_back(self, job_id: str) -> bool:
        [job] = self._store.get([job_id])
        if job is None:
            return False
        place = keys.place(job.status, job.queue, job.priority)
        indexes = keys.indexes(job.queue, job.name, job.owner, job.tags)
        healed = self._run("heal", job_id, job.version, place, job.score, job.created_at, job.queue, *indexes)
        return bool(healed)

    def _check_journals(self, journals: Sequence[Sequence[str]]) -> Iterator[Finding]:
        if not journals:
            return
        answer = self._run("check_journals", self._fix, *(part for journal in journals for part in journal))
        for kind, job_id in zip(answer[::2], answer[1::2], strict=True):
            yield self._astray(job_id.decode(), f"journal:{kind.decode()}")

    def _check_unique(self, names: Sequence[str]) -> Iterator[Finding]:
        answer = self._run("check_unique", self._fix, *names) if names else []
        for name, job_id in zip(answer[::2], answer[1::2], strict=True):
            message = f"job {job_id.decode()} holds the unique key {name.decode()!r} and has no right to it"
            yield Finding(code="KEY_ASTRAY", message=message, job_id=job_id.decode(), fixed=bool(self._fix))

    def _check_trash(self, ids: Sequence[str]) -> Iterator[Finding]:
        answer = self._run("check_trash", self._fix, *dict.fromkeys(ids)) if ids else []
        for job_id, code in zip(answer[::2], answer[1::2], strict=True):
            message = f"job {job_id.decode()} {_TRASH_MESSAGES[code.decode()]}"
            yield Finding(code=code.decode(), message=message, job_id=job_id.decode(), fixed=bool(self._fix))

    def _check_list(self, suffix: str) -> Iterator[Finding]:
        kind = suffix.split(":")[1] if suffix.startswith("jobs:") else ""
        if suffix == keys.TRASH:
            for step in self._members(suffix):
                yield from self._check_trash(step)
        elif kind == "stream":
            yield from self._check_stream(suffix)
        elif kind in _SETS_OF_JOBS:
            yield from self._check_members(suffix)

    def _check_members(self, suffix: str) -> Iterator[Finding]:
        for step in self._members(suffix):
            for job_id in self._run("check_members", suffix, self._fix, *step):
                yield self._astray(job_id.decode(), suffix)

    def _check_faults(self) -> Iterator[Finding]:
        """Last of all: what was put right before changes the times of faults."""
        for step in self._members(keys.FAULTS):
            for fault in self._run("check_faults", self._fix, *step):
                message = f"fault {fault.decode()} is not listed at the time of its last job"
                yield Finding(code="FAULT_ASTRAY", message=message, fixed=bool(self._fix))

    def _members(self, suffix: str) -> Iterator[list[str]]:
        """Those of a sorted set, as many at a time as one script looks at."""
        scan = connection.translated(self._store.client.zscan_iter)
        members = (member.decode() for member, _ in scan(self._store.key(suffix), count=STEP))
        while step := list(islice(members, STEP)):
            yield step

    def _check_stream(self, suffix: str) -> Iterator[Finding]:
        if self._run("check_group", suffix, self._fix):
            message = f"{suffix} has entries that its group has passed over"
            yield Finding(code="PASSED_OVER", message=message, fixed=bool(self._fix))
        first = "-"
        while True:
            last, *ids = self._run("check_entries", suffix, first, self._fix)
            yield from (self._astray(job_id.decode(), suffix) for job_id in ids)
            if not last:
                return
            first = f"({last.decode()}"

    def _astray(self, job_id: str, suffix: str) -> Finding:
        message = f"{suffix} has an entry for job {job_id}, which does not belong there"
        return Finding(code="ASTRAY", message=message, job_id=job_id, fixed=bool(self._fix))

    def _run(self, name: str, *args: Any) -> Any:
        return self._store.run_again(name, self._store._given_now, *args)


_RESTING = re.compile("trash:(?:job|journal:[^:]*):(.*)", re.DOTALL)
_JOURNAL = re.compile("journal:([^:]*):(.*)", re.DOTALL)
_UNIQUE = re.compile("unique:(.*)", re.DOTALL)
_PLACES = {keys.sorted_place(status, "").split(":")[1] for status in JobStatus if status != JobStatus.QUEUED}
_SETS_OF_JOBS = _PLACES | {"index", "owner", "tag", "fault"}


def _literal(text: str) -> str:
    """`text` as a pattern that matches nothing else: a cluster's prefix has braces, a user's may have brackets."""
    return "".join(f"\\{letter}" if letter in "*?[]^\\" else letter for letter in text)
