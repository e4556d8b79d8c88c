"""A clock that stands still until it is told to move."""


class Clock:
    """Milliseconds since 1970; calling it tells the time."""

    def __init__(self, now: int = 1_760_000_000_000) -> None:
        self._now = now

    def __call__(self) -> int:
        return self._now

    def advance(self, ms: int) -> int:
        """Moves on, or back, and tells the time."""
        self._now += ms
        return self._now
