"""The way to the database: transactions that join the caller's, repeats where they are safe, errors of ours."""

import random
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from asyncjobs.errors import StoreError, StoreUnavailable

T = TypeVar("T")
Cursor = Any  # Django's wrapper round the driver's cursor
Work = Callable[[Cursor], T]

REPEATS: Final = (0.01, 0.05, 0.2)  # seconds, at most, before each

_MYSQL_REPEATABLE: Final = {1020, 1205, 1213}  # changed since last read, lock wait timeout, deadlock
_POSTGRES_REPEATABLE: Final = {"40001", "40P01", "55P03"}  # serialization failure, deadlock, lock not available
_MISSING: Final = re.compile(  # a table or a column, as SQLite, PostgreSQL, MariaDB and MySQL say it
    r"no such (table|column)|no column named|^(relation|column) .* does not exist|Table .* doesn't exist|Unknown column"
)


class Database:
    """One alias of DATABASES. Connections are Django's: one a thread."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return connections[self.alias]

    @property
    def vendor(self) -> str:
        return self.connection.vendor

    @property
    def is_postgres(self) -> bool:
        return self.vendor == "postgresql"

    @property
    def is_mysql(self) -> bool:
        return self.vendor == "mysql"

    @property
    def is_sqlite(self) -> bool:
        return self.vendor == "sqlite"

    @property
    def is_in_transaction(self) -> bool:
        """Whether the caller has opened one."""
        return self.connection.in_atomic_block

    @property
    def locked(self) -> str:
        """Ends a SELECT whose rows are to be changed. SQLite has one lock, and `atomically` holds it."""
        return "" if self.is_sqlite else "FOR UPDATE"

    @property
    def unlocked_only(self) -> str:
        """The same, passing over rows that somebody else is about to change."""
        return "" if self.is_sqlite else "FOR UPDATE SKIP LOCKED"

    @property
    def current(self) -> str:
        """Ends a SELECT that is to see what others have committed by now.

        MariaDB's default isolation would show the caller's snapshot.
        """
        return "LOCK IN SHARE MODE" if self.is_mysql else ""

    def atomically(self, work: Work[T]) -> T:
        """What `work` answers, done in one transaction: a savepoint inside the caller's, if there is one."""
        return self._repeated(partial(self._in_transaction, work))

    def directly(self, work: Work[T]) -> T:
        """What `work` answers. Each of its statements is a transaction of its own, unless the caller has one."""
        return self._repeated(partial(self._as_it_comes, work))

    def put(self, cursor: Cursor, table: str, row: Mapping[str, Any], *, key: str) -> None:
        """Stores this row in the place of the one with the same key, if there is one."""
        clash = "ON DUPLICATE KEY UPDATE" if self.is_mysql else f"ON CONFLICT ({key}) DO UPDATE SET"
        new = "VALUES({0})" if self.is_mysql else "excluded.{0}"
        sets = ", ".join(f"{name} = {new.format(name)}" for name in row if name != key)
        sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks(row)}) {clash} {sets}"
        cursor.execute(sql, list(row.values()))

    def _in_transaction(self, work: Work[T]) -> T:
        with transaction.atomic(using=self.alias), self.connection.cursor() as cursor:
            if self.is_sqlite:
                # A transaction that begins with a read cannot wait for the write lock: it would fail at once.
                cursor.execute("DELETE FROM asyncjobs_clock WHERE 0")
            return work(cursor)

    def _as_it_comes(self, work: Work[T]) -> T:
        if self.is_in_transaction:
            with transaction.atomic(using=self.alias), self.connection.cursor() as cursor:
                return work(cursor)
        with self.connection.cursor() as cursor:
            return work(cursor)

    def _repeated(self, attempt: Callable[[], T]) -> T:
        for pause in REPEATS:
            try:
                return self._with_our_errors(attempt)
            except StoreError as error:
                if self.is_in_transaction or not _may_repeat(error.__cause__):
                    raise
            time.sleep(pause * random.random())
        return self._with_our_errors(attempt)

    def _with_our_errors(self, attempt: Callable[[], T]) -> T:
        try:
            return attempt()
        except (OperationalError, InterfaceError) as error:
            self._leave_broken_connection()
            raise StoreUnavailable(f"the database cannot be used: {self._said(error)}") from error
        except (DatabaseError, UnicodeError) as error:
            raise StoreError(f"the database refused: {self._said(error)}") from error

    def _said(self, error: Exception) -> str:
        """In its words; of a table or a column that is missing, what makes it."""
        where = "" if self.alias == DEFAULT_DB_ALIAS else f" --database={self.alias}"
        return f'"manage.py migrate{where}" is to be run: {error}' if _MISSING.search(str(error)) else str(error)

    def _leave_broken_connection(self) -> None:
        """The next call opens another one."""
        connection = self.connection
        if not self.is_in_transaction and connection.connection is not None and not connection.is_usable():
            connection.close()


def _may_repeat(error: BaseException | None) -> bool:
    """Whether the database undid the work because of others, and it may succeed now."""
    driver = error.__cause__ if error is not None else None
    if getattr(driver, "sqlstate", None) in _POSTGRES_REPEATABLE:
        return True
    arguments = getattr(driver, "args", ()) or (None,)
    return arguments[0] in _MYSQL_REPEATABLE or "database is locked" in str(arguments[0])


def marks(values: Any) -> str:
    """As many placeholders as there are values."""
    return ", ".join(["%s"] * len(values))
