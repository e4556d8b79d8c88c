"""Jobs in the Django database: PostgreSQL, MariaDB, MySQL or SQLite."""

from asyncjobs.stores.orm.store import OrmStore

__all__ = ["OrmStore"]
