"""Jobs of which there is to be one at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from asyncjobs import rules
from asyncjobs.arguments.binding import Binding, Call
from asyncjobs.arguments.encoding import canonical
from asyncjobs.domain.job import UniqueWhile
from asyncjobs.errors import InvalidJob
from asyncjobs.times import Duration, duration_ms

OnConflict = Literal["return", "raise", "replace"]

_LONGEST_PREFIX = rules.MAX_NAME - 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """Which jobs of a handler are twins, for how long a job keeps twins away, and what becomes of the second one.

    `key` is a format string over the arguments (`"{user_id}"`), a function of them, or None for all of them. A key
    belongs to its handler: the same key of another one is no twin. With `ttl`, the job holds its key for that long
    after submission, whatever becomes of it.
    """

    key: str | Callable[..., str] | None = None
    while_: Literal["pending", "running"] = "running"
    ttl: Duration | None = None
    on_conflict: OnConflict = "return"

    def __post_init__(self) -> None:
        if self.while_ not in ("pending", "running"):
            raise InvalidJob(f"unique while_ is 'pending' or 'running', not {self.while_!r:.80}")
        if self.on_conflict not in ("return", "raise", "replace"):
            raise InvalidJob(f"unique on_conflict is 'return', 'raise' or 'replace', not {self.on_conflict!r:.80}")
        if self.ttl is not None and not duration_ms(self.ttl):
            raise InvalidJob("unique ttl is longer than zero")

    @property
    def scope(self) -> UniqueWhile:
        return self.while_ if self.ttl is None else "ttl"

    def until(self, now: int) -> int | None:
        """The end of a key's time to live."""
        return None if self.ttl is None else now + duration_ms(self.ttl)

    def key_of(self, name: str, call: Call[Any], binding: Binding) -> str:
        """The key of this call of the handler `name`."""
        if self.key is None:
            return f"{name[:_LONGEST_PREFIX]}:{_digest(name, call, binding)}"
        key = self._formatted(call, binding) if isinstance(self.key, str) else self._made(call)
        return rules.unique_key(f"{name}:{key}")

    def _formatted(self, call: Call[Any], binding: Binding) -> str:
        try:
            return str(self.key).format(*call.args, **binding.complete(call))
        except (LookupError, AttributeError, ValueError, TypeError) as error:
            raise InvalidJob(f"the unique key {self.key!r:.80} does not fit the arguments: {error!r:.80}") from None

    def _made(self, call: Call[Any]) -> str:
        assert callable(self.key)
        key = self.key(*call.args, **call.kwargs)
        if not isinstance(key, str):
            raise InvalidJob(f"a unique key is text, and not {key!r:.80}")
        return key


def unique_of(given: Unique | str | bool | None) -> Unique | None:  # noqa: FBT001 - the option as users write it
    """`True`: unique by all arguments; a text: unique by this format string."""
    if given is None or isinstance(given, Unique):
        return given
    if isinstance(given, str):
        return Unique(key=given)
    return Unique() if given else None


def _digest(name: str, call: Call[Any], binding: Binding) -> str:
    """Of the arguments as the function sees them: `f(1, b=2)` and `f(1, 2)` are twins."""
    text = canonical([name, dict(binding.bound(call))])
    return blake2b(text.encode(), digest_size=16).hexdigest()
