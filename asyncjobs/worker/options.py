"""How a worker is to work, and which queues it serves."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count
from typing import Final

EVERY_QUEUE: Final = "*"
_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of `runjobworker`, checked. Durations are milliseconds, memory is bytes."""

    queues: tuple[str, ...] = (EVERY_QUEUE,)
    exclude: tuple[str, ...] = ()
    processes: int = 1
    threads: int = 1
    async_concurrency: int = 100
    burst: bool = False
    max_jobs: int | None = None
    max_memory: int | None = None
    lease: int = 30_000
    grace: int = 20_000
    kill_on_cancel: int | None = None
    is_housekeeping: bool = True  # rescues, and heals
    check_every: int | None = None
    name: str = ""

    @property
    def slots(self) -> int:
        """More than one child ever has in hand: what runs, what waits, and what is not settled yet."""
        return 2 * (self.threads + self.async_concurrency) + 1_000


class Queues:
    """The queues to serve, in their order. Those that one pattern stands for take turns at being first.

    A queue that is named has its place there, and not where a pattern fits it.
    """

    def __init__(self, patterns: Iterable[str], exclude: Iterable[str] = ()) -> None:
        self._patterns = tuple(dict.fromkeys(patterns))
        self._exclude = tuple(exclude)
        self._turn = count()
        self._groups: list[list[str]] = []
        self.learn(())

    @property
    def is_open(self) -> bool:
        """Whether queues nobody has named yet may belong to it."""
        return any(map(_is_wild, self._patterns))

    def learn(self, known: Iterable[str]) -> None:
        """These queues exist."""
        left = sorted(set(known).difference(self._patterns))
        self._groups = []
        for pattern in self._patterns:
            named = [name for name in left if fnmatchcase(name, pattern)] if _is_wild(pattern) else [pattern]
            left = [name for name in left if name not in named]
            self._groups.append([name for name in named if not self._is_excluded(name)])

    def names(self) -> list[str]:
        turn = next(self._turn)
        return [name for group in self._groups for name in _rotated(group, turn)]

    def _is_excluded(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._exclude)


def _is_wild(pattern: str) -> bool:
    return bool(_WILD.intersection(pattern))


def _rotated(group: list[str], turn: int) -> list[str]:
    start = turn % len(group) if group else 0
    return group[start:] + group[:start]
