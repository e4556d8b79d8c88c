"""Marks: what stands for a text, or for some, where the text itself does not fit."""

from collections.abc import Iterable
from hashlib import blake2b


def mark(text: str) -> str:
    """A few hexadecimal digits, always the same ones for a text: fit for an id in a page."""
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def mark_of_all(texts: Iterable[str]) -> str:
    """One mark for all of them, whatever their order."""
    return mark("\n".join(sorted(texts)))
