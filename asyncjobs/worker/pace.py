"""How many jobs to take ahead of those that run."""

from typing import Final

AHEAD_SECONDS: Final = 0.05  # what is taken ahead is to wait no longer than this
MOST_AHEAD: Final = 200
SHORTEST_SECONDS: Final = 1e-6
_SLOWER: Final = 0.5  # a slow run is believed at once,
_FASTER: Final = 0.05  # fast ones only when there are many: a job behind a slow one waits


class Pace:
    """Learns how long a run typically takes. Nothing is taken ahead until runs are known to be short."""

    def __init__(self) -> None:
        self._typical = AHEAD_SECONDS

    def ran(self, seconds: float) -> None:
        change = seconds - self._typical
        self._typical += change * (_SLOWER if change > 0 else _FASTER)

    def ahead(self, places: int) -> int:
        """How many more jobs than places to have in hand."""
        in_time = int(places * AHEAD_SECONDS / max(self._typical, SHORTEST_SECONDS))
        return max(0, min(MOST_AHEAD, in_time - places))
