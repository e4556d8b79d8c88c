"""How long to wait before a failed job runs again, and whether it does."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

Kind = Literal["none", "fixed", "linear", "exponential", "delays"]
ErrorClass = type[BaseException] | str

HOUR_MS = 3_600_000
_LARGEST_EXPONENT = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Delays as a value. It is stored with the job, so it holds names of exception classes, never classes."""

    kind: Kind = "exponential"
    delays: tuple[int, ...] = (1_000,)  # milliseconds; only "delays" has more than one
    cap: int = HOUR_MS
    jitter: bool = True
    only: tuple[str, ...] = ()  # retry these exception classes alone; () means all
    never: tuple[str, ...] = ()  # fail at once on these

    def allows(self, error: type[BaseException]) -> bool:
        """Whether a run that raised `error` may be tried again."""
        names = _names_of(error)
        return not names.intersection(self.never) and (not self.only or bool(names.intersection(self.only)))

    def delay(self, retry_count: int, chance: float) -> int | None:
        """Milliseconds before retry number `retry_count + 1`, or None for never.

        `chance`, in [0, 1), is the caller's random number: full jitter spreads the delay over all of it.
        """
        if self.kind == "none":
            return None
        delay = min(self._full_delay(retry_count), self.cap)
        return int(delay * chance) if self.jitter else delay

    def _full_delay(self, retry_count: int) -> int:
        first = self.delays[0]
        match self.kind:
            case "linear":
                return first * (retry_count + 1)
            case "exponential":
                return first << min(retry_count, _LARGEST_EXPONENT)
            case "delays":
                return self.delays[min(retry_count, len(self.delays) - 1)]
            case _:
                return first

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
        return cls(**values)


def none() -> RetryPolicy:
    """Never retry."""
    return RetryPolicy(kind="none", delays=())


def fixed(seconds: float, **options: Any) -> RetryPolicy:
    """The same delay before every retry."""
    return _policy("fixed", (seconds,), jitter=options.pop("jitter", False), **options)


def linear(seconds: float, **options: Any) -> RetryPolicy:
    """`seconds`, then twice, three times `seconds` …"""
    return _policy("linear", (seconds,), **options)


def exponential(seconds: float = 1, **options: Any) -> RetryPolicy:
    """`seconds`, then doubled with every retry."""
    return _policy("exponential", (seconds,), **options)


def delays(*seconds: float, **options: Any) -> RetryPolicy:
    """These delays in turn; the last one repeats."""
    return _policy("delays", seconds, jitter=options.pop("jitter", False), **options)


def _policy(
    kind: Kind,
    seconds: tuple[float, ...],
    *,
    cap: float = 3_600,
    jitter: bool = True,
    only: tuple[ErrorClass, ...] = (),
    never: tuple[ErrorClass, ...] = (),
) -> RetryPolicy:
    if not seconds or min(seconds) < 0 or cap < 0:
        raise ValueError("a retry policy needs delays and a cap of zero seconds or more")
    return RetryPolicy(
        kind=kind,
        delays=tuple(round(second * 1000) for second in seconds),
        cap=round(cap * 1000),
        jitter=jitter,
        only=tuple(map(_name_of, only)),
        never=tuple(map(_name_of, never)),
    )


def _name_of(error: ErrorClass) -> str:
    return error if isinstance(error, str) else f"{error.__module__}.{error.__qualname__}"


def _names_of(error: type[BaseException]) -> set[str]:
    return {_name_of(ancestor) for ancestor in error.__mro__}
