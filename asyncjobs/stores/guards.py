"""What every store asks of what it is given. Each guard raises `InvalidJob` or `InvalidQuery`."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from asyncjobs.errors import InvalidJob, InvalidQuery
from asyncjobs.stores.base import (
    LARGEST_TIME,
    MAX_EDGES,
    MAX_ENTRY,
    MAX_FAULTS,
    MAX_PAGE,
    UNFIT,
    Change,
    Entry,
    Receipt,
)

_DIGEST: Final = re.compile(r"[0-9a-f]{1,64}")


def require_short_entries(changes: Sequence[Change]) -> None:
    """Raises `InvalidJob` when a change has an entry that is too large."""
    for change in changes:
        for entry in change.entries:
            _require_short(entry, change.new.id)


def require_short_note(note: Entry | None) -> None:
    """Raises `InvalidJob` when the note is an entry that is too large."""
    if note is not None:
        _require_short(note, None)


def _require_short(entry: Entry, job_id: str | None) -> None:
    size = len(entry.text.encode(errors="surrogatepass"))
    if size > MAX_ENTRY:
        raise InvalidJob(f"an entry has at most {MAX_ENTRY} bytes, not {size}", job_id=job_id)


def require_size(limit: int) -> None:
    """Raises `InvalidQuery` when no page has so many entries."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidQuery(f"a page has 1 to {MAX_PAGE} entries, not {limit!r:.40}")


def require_page(*, after: int, limit: int) -> None:
    """Raises `InvalidQuery` when no page of a journal can be asked for so."""
    require_size(limit)
    if not 0 <= after <= LARGEST_TIME:
        raise InvalidQuery(f"no entry has the number {after!r:.40}")


def require_spans(edges: Sequence[int], queue: str | None) -> None:
    """Raises `InvalidQuery` when it cannot be asked how many jobs of the queue fall due between these times."""
    if not 2 <= len(edges) <= MAX_EDGES:
        raise InvalidQuery(f"spans have 2 to {MAX_EDGES} edges, not {len(edges)}")
    if any(abs(edge) > LARGEST_TIME for edge in edges) or any(start > end for start, end in pairwise(edges)):
        raise InvalidQuery("the edges of spans are times that ascend")
    if queue is not None and UNFIT.search(queue):
        raise InvalidQuery("a queue's name contains a NUL character or a lone surrogate")


def require_faults(limit: int) -> None:
    """Raises `InvalidQuery` when so many faults cannot be asked for."""
    if not 1 <= limit <= MAX_FAULTS:
        raise InvalidQuery(f"an answer has 1 to {MAX_FAULTS} faults, not {limit!r:.40}")


def require_receipt(receipt: Receipt | None) -> None:
    """Raises `InvalidJob` when the receipt has a key or a fingerprint that is none."""
    if receipt is not None and not (_DIGEST.fullmatch(receipt.key) and _DIGEST.fullmatch(receipt.fingerprint)):
        raise InvalidJob("the key and the fingerprint of a receipt are digests of up to 64 hexadecimal digits")
