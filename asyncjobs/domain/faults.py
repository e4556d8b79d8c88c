"""Faults: what failures have in common. The handler, the kind of error, and the message without what changes in it."""

import re
from hashlib import blake2b
from typing import Final

from asyncjobs.domain.job import JobError

LOOKED_AT: Final = 1_000  # characters of a message
LONGEST: Final = 300  # characters of what is kept of it
DIGEST: Final = 8  # bytes; twice as many hexadecimal digits

# Every part is bounded, or ends at the first character that cannot belong to it: no message takes long.
_CHANGING: Final = re.compile(
    r"""(?ix)
      "[^"]*" | “[^”]*” | `[^`]*` | (?<!\w)'[^']*'(?!\w)                  # quoted; the apostrophe of "can't" is none
    | (?<![\w.+-]) [\w.+-]{1,64} @ [\w.-]{1,255}                             # an address of mail
    | \b (?:[0-9a-f]{1,4} ::?){2,7} [0-9a-f]{0,4} \b                         # of a network, or a time of day
    | \b (?:0x)? (?=[a-f-]{0,36}[0-9]) [0-9a-f]{6,64} (?:-[0-9a-f]{4,12}){0,4} \b   # hexadecimal, or a UUID
    | 0x[0-9a-f]{1,64} \b
    | [0-9]+ (?:[.,:/T+-][0-9]+)* Z?                                         # a number, a date, a time, an address
    """
)


def fault_of(name: str, error: JobError) -> str:
    """The fault of a job of this handler that failed so: the same sixteen digits for those that failed alike."""
    parts = (name, error.type or error.code, normalised(error.message))
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=DIGEST).hexdigest()


def normalised(message: str) -> str:
    """The message with … for what differs from failure to failure: quoted text, ids, addresses, times, numbers."""
    return " ".join(_CHANGING.sub("…", message[:LOOKED_AT]).split())[:LONGEST]
