"""Where a page ends: the last entry's sort key and id, as opaque text that survives a URL."""

from typing import NamedTuple, Self

from asyncjobs.errors import AsyncJobsError


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
        score, separator, job_id = text.partition("~")
        if not separator or not score.lstrip("-").isdigit() or len(score) > 16:
            raise InvalidCursor(f"not a cursor: {text[:80]!r}")
        return cls(int(score), job_id)
