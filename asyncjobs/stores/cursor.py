"""Where a page ends: the last entry's sort key and id, as opaque text that survives a URL."""

import re
from typing import Final, NamedTuple, Self

from asyncjobs.errors import AsyncJobsError

_FORM: Final = re.compile(r"(-?[0-9]{1,15})~([^\x00-\x1f\x7f\ud800-\udfff]{1,300})")


class InvalidCursor(AsyncJobsError):
    """The cursor was not made by this store."""

    code = "INVALID_CURSOR"


class Cursor(NamedTuple):
    """The last entry of a page. Entries are ordered by (score, id)."""

    score: int
    job_id: str

    @property
    def entry(self) -> tuple[int, str]:
        return self.score, self.job_id

    @property
    def text(self) -> str:
        return f"{self.score}~{self.job_id}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The cursor in this text; None for the first page."""
        if not text:
            return None
        parts = _FORM.fullmatch(text)
        if parts is None:
            raise InvalidCursor(f"not a cursor: {text[:80]!r}")
        return cls(int(parts[1]), parts[2])
