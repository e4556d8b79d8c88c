"""What a child holds, in memory it shares with the supervisor.

The child writes, so that the supervisor can extend leases, see timeouts and name the guilty without asking a child that
may be stuck in a handler, or dead. What the supervisor reads may be half-written: nothing comes of it, because a lease
is extended only for the id and version that the store knows, and a flag is set only where both still stand.
"""

import mmap
import time
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from struct import Struct
from typing import Final, NamedTuple

from asyncjobs.domain.job import Job

_NUMBER: Final = Struct("Q")
_SLOT: Final = Struct("36sBxxxQQQQ")  # of Held, all but the slot's number
_FLAGS: Final = 36
_RUNNING_SINCE: Final = 56
_DEADLINE: Final = 64
_HEADER: Final = ("order", "count", "claimed_at", "has_drained", "look_at", "is_quiet")
ENDED: Final = 1
_FIRST: Final = len(_HEADER) * _NUMBER.size


class Order(IntEnum):
    """What the supervisor wants of a child; the larger, the more urgent."""

    WORK = 0
    FINISH = 1  # claim no more, and end when all that runs is done
    LEAVE = 2  # give back what is left, now


class Flag(IntFlag):
    """What the supervisor has learned of a job that is held."""

    CANCEL = 1  # somebody asked to cancel it
    LOST = 2  # somebody else has it by now


class Held(NamedTuple):
    """A job in a child's hands. Times are those of `monotonic_ms`.

    `running_since` is 0 before the run and ENDED after it; `deadline` is 0 where there is none.
    """

    slot: int
    id: str
    flags: int
    version: int
    held_since: int
    running_since: int
    deadline: int

    @property
    def is_running(self) -> bool:
        return self.running_since > ENDED

    @property
    def has_ended(self) -> bool:
        """Whether the handler is done with it, and the store does not know yet."""
        return self.running_since == ENDED


def monotonic_ms() -> int:
    """The clock that all processes of a machine share, and nobody sets."""
    return time.monotonic_ns() // 1_000_000


class HeldTable:
    """As many slots as a child may hold jobs. To be made before the fork."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._memory = mmap.mmap(-1, _FIRST + slots * _SLOT.size)

    def read(self, name: str) -> int:
        """A number of the header: `order`, `look_at` and `is_quiet` are the supervisor's, the others the child's."""
        number: int = _NUMBER.unpack_from(self._memory, _HEADER.index(name) * _NUMBER.size)[0]
        return number

    def write(self, name: str, number: int) -> None:
        _NUMBER.pack_into(self._memory, _HEADER.index(name) * _NUMBER.size, number)

    def hold(self, slot: int, job: Job, now: int) -> None:
        """Notes a job that was claimed."""
        _SLOT.pack_into(self._memory, _FIRST + slot * _SLOT.size, job.id.encode(), 0, job.version, now, 0, 0)

    def start(self, slot: int, now: int, deadline: int) -> None:
        """Notes that the job's handler is about to run. Past the deadline, the supervisor kills this process."""
        at = _FIRST + slot * _SLOT.size
        _NUMBER.pack_into(self._memory, at + _DEADLINE, deadline)
        _NUMBER.pack_into(self._memory, at + _RUNNING_SINCE, now)

    def finish(self, slot: int) -> None:
        """Notes that the handler is done; the job is still held."""
        _NUMBER.pack_into(self._memory, _FIRST + slot * _SLOT.size + _RUNNING_SINCE, ENDED)

    def drop(self, slot: int) -> None:
        """Notes that the job is out of this child's hands."""
        at = _FIRST + slot * _SLOT.size
        self._memory[at : at + _SLOT.size] = _EMPTY

    def flags(self, slot: int) -> int:
        return self._memory[_FIRST + slot * _SLOT.size + _FLAGS]

    def flag(self, held: Held, flag: Flag) -> bool:
        """Tells the child of a job it held when the table was read; False when it holds it no more."""
        at = _FIRST + held.slot * _SLOT.size
        job_id, flags, version, *_ = _SLOT.unpack_from(self._memory, at)
        if (job_id.rstrip(b"\0"), version) != (held.id.encode(), held.version):
            return False
        self._memory[at + _FLAGS] = flags | flag
        return True

    def held(self) -> Iterator[Held]:
        """All jobs held at this moment."""
        if not self.read("count"):
            return
        for slot in range(self.slots):
            at = _FIRST + slot * _SLOT.size
            if self._memory[at]:
                job_id, *numbers = _SLOT.unpack_from(self._memory, at)
                yield Held(slot, job_id.rstrip(b"\0").decode(errors="replace"), *numbers)


_EMPTY: Final = bytes(_SLOT.size)
