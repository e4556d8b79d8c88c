"""Unique keys: a job holds its own while no other row has it in `unique_held`."""

from collections.abc import Iterable

from django.db import IntegrityError, transaction

from asyncjobs.domain.job import Job
from asyncjobs.stores.orm.database import Cursor, Database, marks


def let_go_of_expired(cursor: Cursor, keys: Iterable[str], *, now: int) -> None:
    """Frees those of these unique keys whose time is over."""
    keys = list(keys)
    if keys:
        cursor.execute(
            f"UPDATE asyncjobs_job SET unique_held = NULL WHERE unique_held IN ({marks(keys)})"
            " AND unique_while = 'ttl' AND unique_until <= %s",
            [*keys, now],
        )


def take(cursor: Cursor, database: Database, jobs: Iterable[Job], *, now: int) -> None:
    """Has these stored jobs hold their unique keys again, each that is free."""
    for job in jobs:
        let_go_of_expired(cursor, [job.unique_key or ""], now=now)
        try:
            with transaction.atomic(using=database.alias):
                cursor.execute("UPDATE asyncjobs_job SET unique_held = unique_key WHERE id = %s", [job.id])
        except IntegrityError:
            continue
