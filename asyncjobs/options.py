"""How a handler's jobs are to be run: its own options, and those of one submission."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, Self, TypedDict

from asyncjobs import rules
from asyncjobs.domain.retry import RetryPolicy
from asyncjobs.errors import InvalidJob
from asyncjobs.times import Duration, duration_ms, moment_ms
from asyncjobs.unique import Unique, unique_of

_MAX_TIMEOUT_MS = 2**31 - 1  # 24 days


class HandlerOptions(TypedDict, total=False):
    """What `@job` takes beside the name."""

    queue: str
    priority: int
    max_retries: int
    retry: RetryPolicy | None
    timeout: Duration | None
    soft_timeout: Duration | None
    unique: Unique | str | bool | None
    tags: Iterable[str]


class SubmitOptions(HandlerOptions, total=False):
    """What `.using` takes."""

    delay: Duration | None
    run_at: datetime | None
    owner: str | None


class Due(NamedTuple):
    """When a job is to run: so many milliseconds after submission, or at a time."""

    ms: int
    after_submission: bool

    def at(self, now: int) -> int:
        return now + self.ms if self.after_submission else self.ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Checked options."""

    queue: str = "default"
    priority: int = 0
    max_retries: int = 3
    retry: RetryPolicy | None = None
    timeout_ms: int | None = None
    soft_timeout_ms: int | None = None
    unique: Unique | None = None
    tags: tuple[str, ...] = ()
    due: Due | None = None
    owner: str | None = None

    def but(self, given: Mapping[str, Any], *, beside: Iterable[str] = ()) -> Self:
        """These options, changed by those a user gave; an error also names those that can stand `beside` them."""
        if "delay" in given and "run_at" in given:
            raise InvalidJob("a job has a delay or a time to run at, not both")
        try:
            rules_of_given = [(*_RULES[name], value) for name, value in given.items()]
        except KeyError as unknown:
            raise TypeError(f"unknown option {unknown}; there are {', '.join((*beside, *_RULES))}") from None
        options = replace(self, **{field: rule(value) for field, rule, value in rules_of_given})
        _require_soft_before_hard(options)
        return options


def _retry(policy: RetryPolicy | None) -> RetryPolicy | None:
    if policy is not None and not isinstance(policy, RetryPolicy):
        raise InvalidJob(f"retry is a policy such as retry.exponential(), not {policy!r:.80}")
    return policy


def _timeout(timeout: Duration | None) -> int | None:
    if timeout is None:
        return None
    ms = duration_ms(timeout)
    if not 0 < ms <= _MAX_TIMEOUT_MS:
        raise InvalidJob(f"a timeout is longer than zero and shorter than 25 days, not {timeout!r:.80}")
    return ms


def _require_soft_before_hard(options: Options) -> None:
    hard, soft = options.timeout_ms, options.soft_timeout_ms
    if hard is not None and soft is not None and soft >= hard:
        raise InvalidJob(f"a soft timeout is shorter than the timeout: {soft} ms is not below {hard} ms")


def _delay(delay: Duration | None) -> Due | None:
    if delay is None:
        return None
    return Due(duration_ms(delay), after_submission=True)


def _run_at(moment: datetime | None) -> Due | None:
    return None if moment is None else Due(moment_ms(moment), after_submission=False)


_RULES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "queue": ("queue", rules.queue_name),
    "priority": ("priority", rules.priority),
    "max_retries": ("max_retries", rules.max_retries),
    "retry": ("retry", _retry),
    "timeout": ("timeout_ms", _timeout),
    "soft_timeout": ("soft_timeout_ms", _timeout),
    "unique": ("unique", unique_of),
    "tags": ("tags", rules.tags),
    "delay": ("due", _delay),
    "run_at": ("due", _run_at),
    "owner": ("owner", rules.owner),
}
