"""Reading jobs: by id, and page by page along an index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asyncjobs.domain.job import Job
from asyncjobs.stores.base import Page, Query
from asyncjobs.stores.cursor import Cursor as PageEnd
from asyncjobs.stores.cursor import InvalidCursor
from asyncjobs.stores.orm.database import Cursor, Database, marks
from asyncjobs.stores.orm.rows import JOB_COLUMNS, job_of

WINDOW: Final = 1_000  # entries looked through for filters that the index does not serve
CHUNK: Final = 1_000  # ids in one statement

_BY_ID = f"SELECT {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE id IN ({{ids}})"
_BY_SEQ = f"SELECT job.seq, {JOB_COLUMNS} FROM asyncjobs_job AS job WHERE seq IN ({{seqs}})"


def get(database: Database, ids: Sequence[str]) -> list[Job | None]:
    jobs = database.directly(lambda cursor: {job.id: job for job in _by_id(cursor, ids)})
    return [jobs.get(job_id) for job_id in ids]


def _by_id(cursor: Cursor, ids: Sequence[str]) -> Iterator[Job]:
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        cursor.execute(_BY_ID.format(ids=marks(some)), list(some))
        yield from map(job_of, cursor.fetchall())


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
    if query.status is not None:
        return _along("asyncjobs_job", "position", query, {"status": int(query.status)}, ("queue",))
    if query.tag is not None:
        return _along("asyncjobs_tag", "created_at", query, {}, ("tag",))
    served = next((name for name in ("owner", "name") if getattr(query, name) is not None), None)
    return _along("asyncjobs_job", "created_at", query, {}, (served,) if served else ())


def _along(table: str, order: str, query: Query, fixed: dict[str, Any], served: Sequence[str]) -> Walk:
    filters = {name: getattr(query, name) for name in ("queue", "name", "owner", "tag")}
    given = {name: value for name, value in filters.items() if value is not None}
    fixed = fixed | {name: value for name, value in given.items() if name in served}
    return Walk(
        table=table, order=order, fixed=fixed, rest={name: value for name, value in given.items() if name not in fixed}
    )


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
    return Page([job for job in jobs if _still(job, query)], PageEnd(last[0], str(last[1])).text if last else "")


def _still(job: Job, query: Query) -> bool:
    """Whether the job, read after the index, is what was asked for."""
    return query.status in (None, job.status) and query.queue in (None, job.queue)


def _by_seq(cursor: Cursor, seqs: list[int]) -> list[Job]:
    if not seqs:
        return []
    cursor.execute(_BY_SEQ.format(seqs=marks(seqs)), seqs)
    rows = {row[0]: row[1:] for row in cursor.fetchall()}
    return [job_of(rows[seq]) for seq in seqs if seq in rows]


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


def _beyond(database: Database, query: Query, walk: Walk, after: PageEnd) -> tuple[str, list[int]]:
    """The SQL for the entries after the end of the page before."""
    if not (after.job_id.isascii() and after.job_id.isdigit() and len(after.job_id) < 19):
        raise InvalidCursor(f"not a cursor of this store: {query.after[:80]!r}")
    seq = int(after.job_id)
    sign = ">" if query.oldest_first else "<"
    order = f"entry.{walk.order}"
    if database.is_mysql:  # it finds no range in a comparison of pairs
        return f"{order} {sign}= %s AND ({order} {sign} %s OR entry.seq {sign} %s)", [after.score, after.score, seq]
    return f"({order}, entry.seq) {sign} (%s, %s)", [after.score, seq]
