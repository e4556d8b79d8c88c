"""Reading jobs: by id, page by page along an index, and how many there are on a stretch of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.stores.base import MAX_DUE, Page, Query
from asyncjobs.stores.cursor import Cursor as PageEnd
from asyncjobs.stores.cursor import InvalidCursor
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.rows import JOB_COLUMNS, job_of, readable

WINDOW: Final = 1_000  # entries looked through for filters that the index does not serve
CHUNK: Final = 1_000  # ids in one statement

_BY_ID = f"SELECT {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE id IN ({{ids}})"
_BY_SEQ = f"SELECT {JOB_COLUMNS}, job.seq FROM asyncjobs_job AS job WHERE seq IN ({{seqs}})"

_SPAN = f"""(SELECT count(*) FROM (
    SELECT 1 FROM asyncjobs_job WHERE {{of}} status = 200 AND position >= %s AND position < %s
    ORDER BY position LIMIT {MAX_DUE}
) AS span)"""


def get(database: Database, ids: Sequence[str]) -> list[Job | None]:
    return database.directly(lambda cursor: by_id(cursor, ids))


def by_id(cursor: Cursor, ids: Sequence[str], *, current: str = "") -> list[Job | None]:
    """These jobs, in the order asked. `current` ends a SELECT that is not to see the caller's snapshot."""
    jobs = {job.id: job for job in _read(cursor, ids, current)}
    return [jobs.get(job_id) for job_id in ids]


def _read(cursor: Cursor, ids: Sequence[str], current: str) -> Iterator[Job]:
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        cursor.execute(f"{_BY_ID.format(ids=marks(some))} {current}", list(some))
        yield from map(job_of, cursor.fetchall())


def due(database: Database, edges: Sequence[int], queue: str | None) -> list[int]:
    return database.directly(lambda cursor: _due(cursor, edges, queue))


def _due(cursor: Cursor, edges: Sequence[int], queue: str | None) -> list[int]:
    """In the order of the index, so that whatever is known of the table that is what is read, and no further."""
    of, named = ("", []) if queue is None else ("queue = %s AND", [queue])
    spans = list(pairwise(edges))
    cursor.execute(
        "SELECT " + ", ".join([_SPAN.format(of=of)] * len(spans)),
        [value for span in spans for value in (*named, *span)],
    )
    return [int(count) for count in cursor.fetchone()]


def find(database: Database, query: Query) -> Page:
    walk = _walk(query)
    return database.directly(lambda cursor: _page(cursor, database, query, walk))


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The index a page goes along: what is fixed in it, what orders it, and what is looked up in each row."""

    table: str
    order: str
    fixed: dict[str, Any]
    rest: dict[str, Any]


def _walk(query: Query) -> Walk:
    """The index that serves this query best."""
    if query.goes_by_score and query.fault is not None:
        return _along_fault(query)
    if query.goes_by_score:
        return _along("asyncjobs_job", "position", query, "status", "queue")
    if query.owner is not None:
        return _along("asyncjobs_job", "created_at", query, "owner")
    if query.tag is not None:
        return _along("asyncjobs_tag", "created_at", query, "tag")
    return _along("asyncjobs_job", "created_at", query, "name")


def _along_fault(query: Query) -> Walk:
    """All that have a fault are dead. If that were said, PostgreSQL would look through all the dead for both."""
    walk = _along("asyncjobs_job", "position", query, "fault")
    rest = {name: value for name, value in walk.rest.items() if (name, value) != ("status", JobStatus.FAILED)}
    return replace(walk, rest=rest)


def _along(table: str, order: str, query: Query, *served: str) -> Walk:
    filters = {name: getattr(query, name) for name in ("queue", "name", "owner", "tag", "fault")}
    filters["status"] = None if query.status is None else int(query.status)
    given = {name: value for name, value in filters.items() if value is not None}
    fixed = {name: value for name, value in given.items() if name in served}
    rest = {name: value for name, value in given.items() if name not in served}
    return Walk(table=table, order=order, fixed=fixed, rest=rest)


def _page(cursor: Cursor, database: Database, query: Query, walk: Walk) -> Page:
    filtered = bool(walk.rest) or (walk.order == "position" and (query.created_from, query.created_to) != (None, None))
    window = WINDOW if filtered else query.limit + 1
    cursor.execute(*_entries(database, query, walk, window))
    entries = cursor.fetchall()
    hits = [(at, seq) for at, seq, matches in entries if matches]
    more = len(hits) > query.limit
    hits = hits[: query.limit]
    last = hits[-1] if more else entries[-1][:2] if len(entries) == window else None
    jobs = _by_seq(cursor, [seq for _, seq in hits])
    found = [(jobs[seq], _end(at, seq)) for at, seq in hits if seq in jobs and _still(jobs[seq], query)]
    return Page([job for job, _ in found], _end(*last) if last else "", [end for _, end in found])


def _end(at: int, seq: int) -> str:
    return PageEnd(at, str(seq)).text


def _still(job: Job, query: Query) -> bool:
    """Whether the job, read after the index, is what was asked for."""
    return query.status in (None, job.status) and query.queue in (None, job.queue) and query.fault in (None, job.fault)


def _by_seq(cursor: Cursor, seqs: list[int]) -> dict[int, Job]:
    if not seqs:
        return {}
    cursor.execute(_BY_SEQ.format(seqs=marks(seqs)), seqs)
    return {seq: job for job, seq in readable(cursor.fetchall())}


def _entries(database: Database, query: Query, walk: Walk, window: int) -> tuple[str, list[Any]]:
    """The SQL for the next `window` entries of the index, each with whether it matches, and its values."""
    hit, values = _hit(query, walk)
    conditions = [f"entry.{name} = %s" for name in walk.fixed]
    values += walk.fixed.values()
    if walk.order == "created_at":
        for bound, sign in ((query.created_from, ">="), (query.created_to, "<")):
            if bound is not None:
                conditions.append(f"entry.created_at {sign} %s")
                values.append(bound)
    after = PageEnd.read(query.after)
    if after is not None:
        condition, bounds = _beyond(database, query, walk, after)
        conditions.append(condition)
        values += bounds
    way = "ASC" if query.oldest_first else "DESC"
    join = " JOIN asyncjobs_job AS job ON job.seq = entry.seq" if walk.table == "asyncjobs_tag" and walk.rest else ""
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = (
        f"SELECT entry.{walk.order}, entry.seq, {hit} FROM {walk.table} AS entry{join} {where}"
        f" ORDER BY entry.{walk.order} {way}, entry.seq {way} LIMIT %s"
    )
    return sql, [*values, window]


def _hit(query: Query, walk: Walk) -> tuple[str, list[Any]]:
    """The SQL for whether an entry matches what the index does not serve."""
    row = "job" if walk.table == "asyncjobs_tag" else "entry"
    conditions = [f"{row}.{name} = %s" for name in walk.rest if name != "tag"]
    values = [value for name, value in walk.rest.items() if name != "tag"]
    if "tag" in walk.rest:
        tagged = "tag.tag = %s AND tag.created_at = entry.created_at AND tag.seq = entry.seq"
        conditions.append(f"EXISTS (SELECT 1 FROM asyncjobs_tag AS tag WHERE {tagged})")
        values.append(walk.rest["tag"])
    if walk.order == "position":
        for bound, sign in ((query.created_from, ">="), (query.created_to, "<")):
            if bound is not None:
                conditions.append(f"entry.created_at {sign} %s")
                values.append(bound)
    return f"CASE WHEN {' AND '.join(conditions) or '1 = 1'} THEN 1 ELSE 0 END", values


def seq_of(end: PageEnd) -> int:
    """The seq at which a page ended."""
    if not (end.job_id.isascii() and end.job_id.isdigit() and len(end.job_id) < 19):
        raise InvalidCursor(f"not a cursor of this store: {end.text[:80]!r}")
    return int(end.job_id)


def _beyond(database: Database, query: Query, walk: Walk, after: PageEnd) -> tuple[str, list[int]]:
    """The SQL for the entries after the end of the page before."""
    seq = seq_of(after)
    sign = ">" if query.oldest_first else "<"
    order = f"entry.{walk.order}"
    if database.is_mysql:  # it finds no range in a comparison of pairs
        return f"{order} {sign}= %s AND ({order} {sign} %s OR entry.seq {sign} %s)", [after.score, after.score, seq]
    return f"({order}, entry.seq) {sign} (%s, %s)", [after.score, seq]
