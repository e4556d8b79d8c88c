"""The clock by which leases run out, guarded against a server that was away or whose clock jumped."""

from dataclasses import dataclass

CLOCK_JITTER_MS = 1_000  # a clock set back by less is smoothed by the lease itself


@dataclass(frozen=True, slots=True)
class LeaseClock:
    """`last`: when it was looked at; `offset`: added to the clock since it was set back; `grace`: no rescue before."""

    last: int
    offset: int = 0
    grace: int = 0

    @property
    def time(self) -> int:
        """Now, as leases count it."""
        return self.last + self.offset

    @property
    def in_grace(self) -> bool:
        return self.time < self.grace


def tick(clock: LeaseClock, now: int, lease: int) -> LeaseClock:
    """The clock at `now`. After more than half a lease unseen, rescue idles one lease: the living beat first."""
    back = clock.last - now
    offset = clock.offset + back if back > CLOCK_JITTER_MS else clock.offset
    grace = now + offset + lease if now - clock.last > lease / 2 else clock.grace
    return LeaseClock(last=now, offset=offset, grace=grace)
