"""The jobs a child holds, and where each is noted for the supervisor to see."""

from collections.abc import Collection

from asyncjobs.domain.job import Job
from asyncjobs.worker.held import HeldTable, monotonic_ms
from asyncjobs.worker.runner import Run


class Hands:
    """Runs by slot, not by job: a job that was taken from us may come back while its old run still goes on."""

    def __init__(self, table: HeldTable) -> None:
        self._table = table
        self._runs: dict[int, Run] = {}
        self._free = list(range(table.slots))

    @property
    def room(self) -> int:
        return len(self._free)

    def __len__(self) -> int:
        return len(self._runs)

    def runs(self) -> Collection[Run]:
        return list(self._runs.values())

    def hold(self, job: Job) -> Run:
        run = Run(job, slot=self._free.pop())
        self._runs[run.slot] = run
        self._table.hold(run.slot, job, monotonic_ms())
        self._table.write("count", len(self._runs))
        return run

    def drop(self, run: Run) -> None:
        del self._runs[run.slot]
        self._table.drop(run.slot)
        self._free.append(run.slot)
        self._table.write("count", len(self._runs))

    def unknown(self, jobs: Collection[Job]) -> list[Job]:
        """Those that are not held in this version."""
        known = {(run.job.id, run.job.version) for run in self._runs.values()}
        return [job for job in jobs if (job.id, job.version) not in known]
