"""What must hold whatever went wrong: no job lost, none ended twice, no two holders at once."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from asyncjobs.domain.job import TERMINAL, Job, JobStatus
from asyncjobs.domain.transitions import LEASE_EXPIRED, WORKER_DIED
from asyncjobs.engine import Engine
from asyncjobs.errors import StoreError
from asyncjobs.registry import Handler
from asyncjobs.stores.base import SERIES_MINUTES
from asyncjobs.stores.redis import RedisStore
from tests.worker.conftest import World
from tests.workers import Effect, Site, Worker, until

LEASE = 2.0
either = pytest.mark.parametrize("either_trial", ["valkey", "postgres"], indirect=True)
UNSETTLED = 1.0  # seconds: a run that ended so shortly before its process was killed may not have been settled
LOOK = 0.02


class Trial(World):
    """A world in which things go wrong."""

    def __init__(self, site: Site, engine: Engine) -> None:
        super().__init__(site, engine)
        self.killed: dict[int, float] = {}  # process ids, and when

    def start(self, *flags: str, processes: int = 2, threads: int = 2) -> Worker:
        return self.site.start(f"--lease={LEASE}", f"--processes={processes}", f"--threads={threads}", *flags)

    def submit_many(self, handler: Handler[..., Any], calls: Iterable[tuple[Any, ...]], **options: Any) -> list[Job]:
        chosen = handler.using(**options)
        return chosen.submit_many(handler.call(*call) for call in calls)

    def running(self, *jobs: Job) -> bool:
        """Whether the handlers of all of these have begun."""
        return {job.id for job in jobs} <= {effect.job_id for effect in self.site.effects("start")}

    def kill(self, worker: Worker) -> None:
        pids = [worker.pid, *worker.children()]
        worker.kill()
        self.killed |= dict.fromkeys(pids, time.monotonic())

    def kill_child(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self.killed[pid] = time.monotonic()

    def count_ended(self) -> int:
        """0 while the store cannot be asked."""
        try:
            return sum(counts.by_status.get(status, 0) for counts in self.engine.counts() for status in TERMINAL)
        except StoreError:
            return 0

    def starts_of(self, jobs: Iterable[Job]) -> set[int]:
        """How often they were started: each number that occurs."""
        starts = starts_by_job(self.site.effects("start"))
        return {len(starts.get(job.id, [])) for job in jobs}

    def survived(self, jobs: Sequence[Job], *, seconds: float = 60) -> list[Job]:
        """These jobs, all that there are, once they have ended, and as the contract says."""
        until(lambda: self.count_ended() >= len(jobs), seconds=seconds, every=LOOK)
        stored = [job for job in self.store.get([job.id for job in jobs]) if job is not None]
        assert {job.id for job in stored} == {job.id for job in jobs}, "jobs were lost"
        assert all(job.is_terminal for job in stored)
        ends = sum(minute.count for minute in self.store.series(SERIES_MINUTES))
        assert ends == len(jobs), "jobs ended more than once"
        starts = starts_by_job(self.site.effects("start"))
        assert starts.keys() <= {job.id for job in jobs}
        for job in stored:
            assert_books_agree(job, starts.get(job.id, []))
        assert self.engine.check() == []
        return stored

    def repeats(self) -> list[Effect]:
        """Runs that were not the last of their job. Each ran in a process that was killed under it, or ended so
        shortly before that nobody was told."""
        ends = {(end.job_id, end.fence): end.at for end in self.site.effects("end")}
        repeats = [start for runs in starts_by_job(self.site.effects("start")).values() for start in runs[:-1]]
        for run in repeats:
            assert run.pid in self.killed, f"{run} was repeated, though its process was not killed"
            killed_at = self.killed[run.pid]
            assert run.at <= killed_at
            assert ends.get((run.job_id, run.fence), killed_at) >= killed_at - UNSETTLED
        return repeats

    def rescues(self, jobs: Iterable[Job], code: str) -> list[float]:
        """Seconds from the death of a process to the moment each of its jobs was taken back, for this reason."""
        pids = {record.worker: json.loads(record.about)["pid"] for record in self.store.workers()}
        reasons = [entry for job in jobs for entry in self.store.journal(job.id, "attempt")]
        taken = [(json.loads(entry.text), entry.at / 1000) for entry in reasons]
        ahead = time.time() - time.monotonic()
        # A process that was killed before it was ever heard of cannot be told.
        return [
            at - ahead - self.killed[pids[about["worker"]]]
            for about, at in taken
            if about["code"] == code and about["worker"] in pids
        ]


def starts_by_job(starts: Iterable[Effect]) -> dict[str, list[Effect]]:
    by_job: dict[str, list[Effect]] = {}
    for start in starts:
        by_job.setdefault(start.job_id, []).append(start)
    return by_job


def assert_books_agree(job: Job, starts: Sequence[Effect]) -> None:
    """What the job says of its runs is what its handler saw. A job without effects has nothing to compare."""
    fences = [start.fence for start in starts]
    assert fences == sorted(set(fences)), f"{job.id} was held by two at once: {starts}"
    charged = job.crashes + job.lapses + job.retry_count
    died = job.error is not None and job.error.code in (WORKER_DIED.code, LEASE_EXPIRED.code)
    assert job.attempt == charged + (not died), f"{job} was charged wrongly"
    if starts and job.status == JobStatus.COMPLETED:
        assert fences[-1] == job.version - 1, f"the last run of {job} is not the one recorded"


def client_of(trial: Trial) -> Any:
    """redis-py types its answers as all that they might be."""
    return cast(RedisStore, trial.store).client


def send_all(worker: Worker, number: signal.Signals) -> None:
    """To the supervisor, then to its children."""
    for pid in [worker.pid, *worker.children()]:
        os.kill(pid, number)


def percentile(numbers: Sequence[float], part: float) -> float:
    return sorted(numbers)[min(len(numbers) - 1, int(len(numbers) * part))] if numbers else 0.0


def gone(pid: int) -> bool:
    """Whether this process runs no more; one that nobody has waited for yet does not run."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def statuses(jobs: Iterable[Job]) -> Mapping[JobStatus, int]:
    return Counter(job.status for job in jobs)
