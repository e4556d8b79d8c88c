"""The fsck: every job against its position, its unique key, its tags and the tally.

A job and all that must agree with it are written in one transaction, and each look here is one statement, which sees
one moment: what it finds is damage, whatever goes on beside. Only tags take two statements, and a second look.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from asyncjobs.domain.faults import fault_of
from asyncjobs.domain.job import FIELDS, JobError, JobStatus
from asyncjobs.stores.base import DAY_MS, Finding, fault_days
from asyncjobs.stores.orm import faults, tally
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.rows import score_of, tags_of, written

FOUND_LIMIT: Final = 1_000  # findings of one sort in one check
STEP: Final = 1_000  # jobs, or rows of tags, that are looked at together

_STATUSES: Final = ", ".join(str(int(status)) for status in JobStatus)
_SCORE: Final = score_of({name: name for name in FIELDS})
_UNKNOWN: Final = f"status NOT IN ({_STATUSES})"
_MISPLACED: Final = f"status IN ({_STATUSES}) AND (position <> {_SCORE} OR {_SCORE} IS NULL)"
_KEY_ASTRAY: Final = """
    unique_held IS NOT NULL AND (
        unique_key IS NULL OR unique_held <> unique_key
        OR (unique_while = 'pending' AND status NOT IN (100, 150, 200))
        OR (unique_while = 'running' AND status NOT IN (100, 150, 200, 300))
        OR (unique_while = 'ttl' AND unique_until IS NULL)
    )
"""
_FAULT_ASTRAY: Final = "fault IS NOT NULL AND status <> 500"
_PARK: Final = """
    UPDATE asyncjobs_job SET status = 500, version = version + 1, completed_at = %s, position = %s, updated_at = %s,
        claimed_until = NULL, unique_held = NULL, error = %s, fault = %s
"""
_PLACE: Final = f"""
    UPDATE asyncjobs_job SET
        due_at = CASE WHEN status = 200 THEN COALESCE(due_at, position) ELSE due_at END,
        claimed_until = CASE WHEN status = 300 THEN COALESCE(claimed_until, position) ELSE claimed_until END,
        completed_at = CASE WHEN status >= 400 THEN COALESCE(completed_at, position) ELSE completed_at END,
        position = COALESCE({_SCORE}, position)
"""
_LET_GO: Final = "UPDATE asyncjobs_job SET unique_held = NULL"
_UNBLAME: Final = "UPDATE asyncjobs_job SET fault = NULL"
_UNKNOWN_ERROR: Final = JobError(code="JOB_STORE_ERROR", message="the stored status does not exist")


def check(database: Database, *, now: int, fix: bool) -> list[Finding]:
    findings = [finding for ailment in _ailments(now) for finding in _suffering(database, ailment, fix=fix)]
    findings += [
        *islice(_tags_astray(database, fix=fix), FOUND_LIMIT),
        *_journals_astray(database, fix=fix),
        *_untagged(database, fix=fix),
    ]
    findings += _stored_and_resting(database, fix=fix)
    return findings + _miscounted(database, fix=fix) + _miscounted_faults(database, now=now, fix=fix)


class Ailment(NamedTuple):
    """What may be wrong with one row, and the UPDATE that heals it."""

    code: str
    message: str
    damage: str
    cure: str
    values: list[Any]


def _ailments(now: int) -> list[Ailment]:
    # A job of unknown status becomes a dead letter, for somebody to look at.
    # Those of all handlers are one group: it is the store that failed them.
    parked = [now, now, now, written("error", _UNKNOWN_ERROR), fault_of("", _UNKNOWN_ERROR)]
    return [
        Ailment("UNKNOWN_STATUS", "has a status that does not exist", _UNKNOWN, _PARK, parked),
        Ailment("MISPLACED", "is not where its times put it", _MISPLACED, _PLACE, []),
        Ailment("KEY_ASTRAY", "holds a unique key it has no right to", _KEY_ASTRAY, _LET_GO, []),
        Ailment("FAULT_ASTRAY", "has a fault and is not dead", _FAULT_ASTRAY, _UNBLAME, []),
    ]


def _suffering(database: Database, ailment: Ailment, *, fix: bool) -> Iterator[Finding]:
    """The jobs with this ailment, each healed if it still has it then."""
    sql = f"SELECT seq, id FROM asyncjobs_job WHERE {ailment.damage} ORDER BY seq LIMIT {FOUND_LIMIT}"
    cure = f"{ailment.cure} WHERE seq = %s AND {ailment.damage}"
    for seq, job_id in _rows(database, sql, []):
        fixed = fix and _changed(database, cure, [*ailment.values, seq])
        yield Finding(code=ailment.code, message=f"job {job_id} {ailment.message}", job_id=job_id, fixed=fixed)


_TAGS: Final = """
    SELECT tag.tag, tag.created_at, tag.seq, job.id, job.tags FROM asyncjobs_tag AS tag
    LEFT JOIN asyncjobs_job AS job ON job.seq = tag.seq AND job.created_at = tag.created_at
    WHERE {beyond}
    ORDER BY tag.tag, tag.created_at, tag.seq LIMIT %s
"""


def _tags_astray(database: Database, *, fix: bool) -> Iterator[Finding]:
    """Rows of tags without a job, or of one without the tag: what tags a job has, and since when, never changes."""
    beyond, last = "1 = 1", list[Any]()
    while rows := _rows(database, _TAGS.format(beyond=beyond), [*last, STEP]):
        beyond, last = _beyond(database, *rows[-1][:3])
        for tag, created_at, seq, job_id, tags in rows:
            known = tags_of(tags)
            if known is not None and tag not in known:
                gone = "DELETE FROM asyncjobs_tag WHERE tag = %s AND created_at = %s AND seq = %s"
                fixed = fix and _changed(database, gone, [tag, created_at, seq])
                message = f"tag {tag!r} is kept for job number {seq}, which is gone or does not have it"
                yield Finding(code="ASTRAY", message=message, job_id=job_id, fixed=fixed)


def _beyond(database: Database, tag: str, created_at: int, seq: int) -> tuple[str, list[Any]]:
    """The SQL for the rows of tags after this one: a range of the primary key, for each database as it finds one."""
    if database.is_mysql:
        within = "tag.tag = %s AND tag.created_at >= %s AND (tag.created_at > %s OR tag.seq > %s)"
        return f"tag.tag > %s OR ({within})", [tag, tag, created_at, created_at, seq]
    return "(tag.tag, tag.created_at, tag.seq) > (%s, %s, %s)", [tag, created_at, seq]


def _journals_astray(database: Database, *, fix: bool) -> Iterator[Finding]:
    sql = f"""
        SELECT DISTINCT entry.seq FROM asyncjobs_entry AS entry LEFT JOIN asyncjobs_job AS job ON job.seq = entry.seq
        LEFT JOIN asyncjobs_trash AS resting ON resting.seq = entry.seq
        WHERE job.seq IS NULL AND resting.seq IS NULL LIMIT {FOUND_LIMIT}
    """
    for (seq,) in _rows(database, sql, []):
        fixed = fix and _changed(database, "DELETE FROM asyncjobs_entry WHERE seq = %s", [seq])
        yield Finding(code="ASTRAY", message=f"a journal is kept for job number {seq}, which is gone", fixed=fixed)


def _stored_and_resting(database: Database, *, fix: bool) -> Iterator[Finding]:
    sql = f"""
        SELECT job.seq, job.id FROM asyncjobs_job AS job JOIN asyncjobs_trash AS resting ON resting.seq = job.seq
        LIMIT {FOUND_LIMIT}
    """
    for seq, job_id in _rows(database, sql, []):
        fixed = fix and _changed(database, "DELETE FROM asyncjobs_trash WHERE seq = %s", [seq])
        yield Finding(code="TWO_PLACES", message=f"job {job_id} is in the trash, too", job_id=job_id, fixed=fixed)


def _untagged(database: Database, *, fix: bool) -> Iterator[Finding]:
    """Jobs that cannot be found by one of their tags."""
    last = 0
    sql = "SELECT seq FROM asyncjobs_job WHERE seq > %s AND tags IS NOT NULL ORDER BY seq LIMIT %s"
    while seqs := [row[0] for row in _rows(database, sql, [last, STEP])]:
        last = seqs[-1]
        if database.directly(partial(_missing_tags, seqs=seqs, lock="")):
            yield from database.atomically(partial(_tag_again, database=database, seqs=seqs, fix=fix))


def _tag_again(cursor: Cursor, *, database: Database, seqs: list[int], fix: bool) -> list[Finding]:
    """Looks once more, at jobs that now cannot come or go."""
    missing = _missing_tags(cursor, seqs=seqs, lock=database.locked)
    if fix and missing:
        sql = "INSERT INTO asyncjobs_tag (tag, created_at, seq) VALUES (%s, %s, %s)"
        cursor.executemany(sql, [entry for _, entry in missing])
    return [
        Finding(
            code="NOT_INDEXED", message=f"job {job_id} cannot be found by its tag {tag!r}", job_id=job_id, fixed=fix
        )
        for job_id, (tag, _, _) in missing
    ]


def _missing_tags(cursor: Cursor, *, seqs: list[int], lock: str) -> list[tuple[str, tuple[str, int, int]]]:
    sql = f"SELECT id, tags, created_at, seq FROM asyncjobs_job WHERE seq IN ({marks(seqs)}) ORDER BY seq {lock}"
    cursor.execute(sql, seqs)
    wanted = [(row[0], (tag, row[2], row[3])) for row in cursor.fetchall() for tag in tags_of(row[1]) or ()]
    if not wanted:
        return []
    pairs = ", ".join(["(%s, %s, %s)"] * len(wanted))
    cursor.execute(
        f"SELECT tag, created_at, seq FROM asyncjobs_tag WHERE (tag, created_at, seq) IN ({pairs})",
        [value for _, entry in wanted for value in entry],
    )
    there = set(map(tuple, cursor.fetchall()))
    return [(job_id, entry) for job_id, entry in wanted if entry not in there]


_DIFFERENCE: Final = """
    SELECT queue, status, sum(amount) FROM (
        SELECT queue, status, count(*) AS amount FROM asyncjobs_job GROUP BY queue, status
        UNION ALL
        SELECT queue, status, -sum(amount) FROM asyncjobs_tally GROUP BY queue, status
    ) AS step GROUP BY queue, status HAVING sum(amount) <> 0
"""


def _miscounted(database: Database, *, fix: bool) -> list[Finding]:
    """What changes meanwhile changes jobs and tally alike: a difference stays as it is until it is made good."""
    found = [(queue, status, int(amount)) for queue, status, amount in _rows(database, _DIFFERENCE, [])]
    if fix and found:
        rows = [(queue, status, amount, 0, 0) for queue, status, amount in found]
        database.atomically(lambda cursor: tally.add(cursor, rows))
    return [
        Finding(code="MISCOUNTED", message=f"queue {queue!r} has {amount:+d} jobs of status {status}", fixed=fix)
        for queue, status, amount in found
    ]


_DAY: Final = "CASE WHEN {day} < %s THEN 0 ELSE {day} END"
_JOBS_DAY: Final = _DAY.format(day=f"(position - position %% {DAY_MS})")
_FAULT_DIFFERENCE: Final = f"""
    SELECT fault, day, sum(amount) FROM (
        SELECT fault, {_JOBS_DAY} AS day, 1 AS amount FROM asyncjobs_job WHERE fault IS NOT NULL
        UNION ALL
        SELECT fault, {_DAY.format(day="day")} AS day, -amount FROM asyncjobs_fault
    ) AS step GROUP BY fault, day HAVING sum(amount) <> 0
"""


def _miscounted_faults(database: Database, *, now: int, fix: bool) -> list[Finding]:
    """The same for faults. Days that folding may have put together are compared together."""
    first = fault_days(now)[0]
    found = {faults.Death(*row[:2]): int(row[2]) for row in _rows(database, _FAULT_DIFFERENCE, [first, first])}
    if fix and found:
        database.atomically(lambda cursor: faults.add(cursor, Counter(found)))
    return [
        Finding(code="MISCOUNTED", message=f"fault {fault} has {amount:+d} dead jobs", fixed=fix)
        for (fault, _), amount in found.items()
    ]


def _rows(database: Database, sql: str, values: list[Any]) -> list[Any]:
    def work(cursor: Cursor) -> list[Any]:
        cursor.execute(sql, values)
        rows: list[Any] = cursor.fetchall()
        return rows

    return database.directly(work)


def _changed(database: Database, sql: str, values: list[Any]) -> bool:
    def work(cursor: Cursor) -> bool:
        cursor.execute(sql, values)
        return bool(cursor.rowcount > 0)

    return database.atomically(work)
