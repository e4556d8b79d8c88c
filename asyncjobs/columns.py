"""Columns and indexes that mean the same on every database."""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class ExactText:
    """Text compared byte by byte, and holding any character, whatever the database's own collation and charset.

    MariaDB and MySQL would otherwise take "a", "A" and "a " for one text.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        kind: str | None = super().db_type(connection)  # type: ignore[misc] # a mixin for fields
        return kind and kind + _exactly(connection)


class ExactCharField(ExactText, models.CharField):  # type: ignore[type-arg] # has none at run time
    pass


class ExactTextField(ExactText, models.TextField):  # type: ignore[type-arg]
    pass


def _exactly(connection: BaseDatabaseWrapper) -> str:
    if connection.vendor == "postgresql":
        return ' COLLATE "C"'
    if connection.vendor == "mysql":
        nopad = "utf8mb4_nopad_bin" if getattr(connection, "mysql_is_mariadb", False) else "utf8mb4_0900_bin"
        return f" CHARACTER SET utf8mb4 COLLATE {nopad}"
    return ""


class PartialIndex(models.Index):
    """An index of the rows in `only`, and of all rows where the database has no such index."""

    def __init__(self, *, only: models.Q, **options: Any) -> None:
        super().__init__(**options)
        self.only = only

    def create_sql(self, model: Any, schema_editor: BaseDatabaseSchemaEditor, using: str = "", **kwargs: Any) -> Any:
        partial = schema_editor.connection.features.supports_partial_indexes
        index = models.Index(fields=self.fields, name=self.name, condition=self.only if partial else None)
        return index.create_sql(model, schema_editor, using=using, **kwargs)

    def deconstruct(self) -> Any:
        path, arguments, options = super().deconstruct()
        return path, arguments, {**options, "only": self.only}


class PartialUnique(PartialIndex):
    """The same, unique. NULLs are no twins of each other anywhere."""

    def create_sql(self, model: Any, schema_editor: BaseDatabaseSchemaEditor, using: str = "", **kwargs: Any) -> Any:
        statement = super().create_sql(model, schema_editor, using, **kwargs)
        statement.template = statement.template.replace("CREATE INDEX", "CREATE UNIQUE INDEX")
        return statement
