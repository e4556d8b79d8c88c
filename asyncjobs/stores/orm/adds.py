"""Adding jobs: all or none, each id once, each unique key once, whoever else adds at the same moment."""

from collections.abc import Iterable, Mapping, Sequence

from django.db import IntegrityError, transaction

from asyncjobs.domain.job import Job
from asyncjobs.errors import DuplicateJob, QueueFull, StoreError
from asyncjobs.stores.base import Receipt, Twins
from asyncjobs.stores.orm import faults, receipts, tally
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.listening import RING_IF_AWAITED
from asyncjobs.stores.orm.rows import JOB_COLUMNS, STORED, job_of, json_text, postgres_type, row_of
from asyncjobs.stores.orm.unique import let_go_of_expired

TRIES = 5  # a twin may end between our insert and our look

_COLUMNS = ", ".join(STORED)
_INSERT = f"INSERT INTO asyncjobs_job ({_COLUMNS}) VALUES ({marks(STORED)})"
_POSTGRES_INSERT = f"""
    INSERT INTO asyncjobs_job ({_COLUMNS})
    SELECT {_COLUMNS} FROM json_to_recordset(%s)
        AS new ({", ".join(map(postgres_type, STORED))})
    ON CONFLICT DO NOTHING RETURNING id, {RING_IF_AWAITED}
"""


def add(database: Database, jobs: Sequence[Job], *, now: int, limits: Mapping[str, int], twins: Twins) -> list[Job]:
    """What is stored for each of these jobs."""
    if not jobs:
        return []
    return database.atomically(lambda cursor: _Addition(database, cursor, jobs, now=now).run(limits, twins))


def add_once(
    database: Database, jobs: Sequence[Job], receipt: Receipt, *, now: int, limits: Mapping[str, int], twins: Twins
) -> list[Job]:
    """The same, with this receipt. `Repeated` when one is kept under its key already, also if that is this very one."""

    def work(cursor: Cursor) -> list[Job]:
        receipts.keep(cursor, database, receipt, now=now)
        stored = _Addition(database, cursor, jobs, now=now).run(limits, twins) if jobs else []
        receipts.note_twins(cursor, receipt, jobs, stored)
        return stored

    return database.atomically(work)


class _Addition:
    """One call of `add`, in its transaction."""

    def __init__(self, database: Database, cursor: Cursor, jobs: Sequence[Job], *, now: int) -> None:
        self.database = database
        self.cursor = cursor
        self.jobs = jobs
        self.now = now
        self.answers: dict[str, Job] = {}  # by the id asked for
        self.first = _first_of_keys(jobs, now)

    def run(self, limits: Mapping[str, int], twins: Twins) -> list[Job]:
        self._queue_up(limits)
        followers = [job for job in self.jobs if self._leader(job).id != job.id]
        self._answer_stored(job.id for job in followers)
        self._store({job.id: job for job in self.jobs if self._leader(job).id == job.id})
        for job in followers:
            self.answers.setdefault(job.id, self.answers[self._leader(job).id])
        if twins == "refuse":
            self._refuse_twins()
        self._refuse_overflow(limits)
        return [self.answers[job.id] for job in self.jobs]

    def _queue_up(self, limits: Mapping[str, int]) -> None:
        """Waits for other transactions that add to a queue of limited depth: what they add counts, if they commit."""
        for queue in sorted({job.queue for job in self.jobs} & limits.keys()):
            self.database.put(self.cursor, "asyncjobs_limit", {"queue": queue, "most": limits[queue]}, key="queue")

    def _leader(self, job: Job) -> Job:
        """The first job of this call with the same unique key."""
        if job.unique_key is None or not job.holds_unique_key(self.now):
            return job
        return self.first[job.unique_key]

    def _store(self, fresh: dict[str, Job]) -> None:
        for _ in range(TRIES):
            self._answer(fresh, self._insert(list(fresh.values())))
            if not fresh:
                return
            self._answer(fresh, self._stored(fresh))
            self._answer(fresh, self._twins_of(fresh))
            if not fresh:
                return
            # No sooner: who is stored already takes no key, and a clock that is set back gives expired ones back.
            let_go_of_expired(self.cursor, [job.unique_key for job in fresh.values() if job.unique_key], now=self.now)
        raise StoreError("other jobs with these unique keys come and go too fast")

    def _answer(self, fresh: dict[str, Job], found: Mapping[str, Job]) -> None:
        self.answers.update(found)
        for job_id in found:
            del fresh[job_id]

    def _answer_stored(self, ids: Iterable[str]) -> None:
        self.answers.update(self._stored(list(ids)))

    def _insert(self, jobs: list[Job]) -> dict[str, Job]:
        inserted = self._insert_where_free(jobs) if self.database.is_postgres else self._insert_all_or_none(jobs)
        tally.record(self.cursor, (tally.Move(None, tally.place_of(job)) for job in inserted), now=self.now)
        faults.record(self.cursor, died=faults.deaths_of(inserted))
        tag(self.cursor, inserted)
        return {job.id: job for job in inserted}

    def _insert_where_free(self, jobs: list[Job]) -> list[Job]:
        rows = [dict(zip(STORED, row_of(job, self.now), strict=True)) for job in jobs]
        self.cursor.execute(_POSTGRES_INSERT, [json_text(rows)])
        ids = {row[0] for row in self.cursor.fetchall()}
        return [job for job in jobs if job.id in ids]

    def _insert_all_or_none(self, jobs: list[Job]) -> list[Job]:
        """All, or none when one of them, or a twin, is stored already."""
        try:
            with transaction.atomic(using=self.database.alias):
                self.cursor.executemany(_INSERT, [row_of(job, self.now) for job in jobs])
        except IntegrityError:
            return []
        return jobs

    def _stored(self, ids: Iterable[str]) -> dict[str, Job]:
        return {job.id: job for job in self._select("id", list(ids))}

    def _twins_of(self, fresh: Mapping[str, Job]) -> dict[str, Job]:
        keys = [job.unique_key for job in fresh.values() if job.holds_unique_key(self.now)]
        held = self._select("unique_held", [key for key in keys if key])
        holders = {job.unique_key: job for job in held if job.holds_unique_key(self.now)}
        return {
            job.id: holders[job.unique_key]
            for job in fresh.values()
            if job.holds_unique_key(self.now) and job.unique_key in holders
        }

    def _select(self, column: str, values: list[str]) -> list[Job]:
        if not values:
            return []
        # Also the rows our insert ran into.
        current = self.database.current
        sql = f"SELECT {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE {column} IN ({marks(values)}) {current}"
        self.cursor.execute(sql, values)
        return [job_of(row) for row in self.cursor.fetchall()]

    def _refuse_twins(self) -> None:
        for job in self.jobs:
            twin = self.answers[job.id]
            if twin.id != job.id:
                raise DuplicateJob(f"job {twin.id} holds the unique key {twin.unique_key!r}", job_id=twin.id)

    def _refuse_overflow(self, limits: Mapping[str, int]) -> None:
        added = {job.queue for job in self.jobs if self.answers[job.id] is job}
        for queue in added & limits.keys():
            if tally.backlog(self.cursor, queue) > limits[queue]:
                raise QueueFull(f"queue {queue!r} takes no more than {limits[queue]} unstarted jobs")


def _first_of_keys(jobs: Sequence[Job], now: int) -> dict[str, Job]:
    first: dict[str, Job] = {}
    for job in jobs:
        if job.unique_key is not None and job.holds_unique_key(now):
            first.setdefault(job.unique_key, job)
    return first


def tag(cursor: Cursor, jobs: Sequence[Job]) -> None:
    """Enters these jobs, which are stored, into the lists of their tags."""
    tagged = {job.id: job for job in jobs if job.tags}
    if not tagged:
        return
    cursor.execute(f"SELECT id, seq FROM asyncjobs_job WHERE id IN ({marks(tagged)})", list(tagged))
    seqs = dict(cursor.fetchall())
    rows = [(tag, job.created_at, seqs[job_id]) for job_id, job in tagged.items() for tag in dict.fromkeys(job.tags)]
    cursor.executemany("INSERT INTO asyncjobs_tag (tag, created_at, seq) VALUES (%s, %s, %s)", rows)
