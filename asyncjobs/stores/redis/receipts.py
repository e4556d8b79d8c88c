"""Between a `Receipt`, the arguments of the script `add`, and its answer."""

from collections.abc import Sequence
from typing import Final

from asyncjobs.stores.base import Receipt

FIELDS: Final = ("Fingerprint", "Until", "Twins", "Text")


def arguments(receipt: Receipt | None) -> list[str | int]:
    if receipt is None:
        return [""]
    twins = " ".join(f"{position} {job_id}" for position, job_id in receipt.twins)
    return [receipt.key, receipt.fingerprint, receipt.until, twins, receipt.text]


def read(key: str, answer: Sequence[bytes]) -> Receipt:
    fingerprint, until, twins, text = (part.decode() for part in answer)
    parts = twins.split()
    pairs = zip(map(int, parts[::2]), parts[1::2], strict=True)
    return Receipt(key, fingerprint, text, int(until), tuple(pairs))
