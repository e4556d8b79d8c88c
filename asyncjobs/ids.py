"""Job ids: random GUIDs."""

import os
from uuid import UUID

from asyncjobs.errors import InvalidJobId

_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
_LENGTH = 32


def new_ids(count: int) -> list[str]:
    """This many version 4 GUIDs, from one call for random bytes."""
    digits = os.urandom(count * _LENGTH // 2).hex()
    return [_guid(digits[start : start + _LENGTH]) for start in range(0, len(digits), _LENGTH)]


def _guid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}"


def job_id_of(text: str | UUID) -> str:
    """The id as it is stored, whatever way this GUID is written."""
    try:
        return str(text if isinstance(text, UUID) else UUID(text))
    except (ValueError, AttributeError, TypeError):
        raise InvalidJobId(f"not a job id: {text!r:.80}") from None
