"""The settings of the dashboard: `ASYNCJOBS["DASHBOARD"]`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from asyncjobs.reading import SECOND_MS, BadSetting, known, queue, span

LONGEST_HOLD: Final = 600 * SECOND_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardConf:
    """The settings as they hold. The defaults here are the defaults."""

    queue: str = "asyncjobs"  # of operations
    hold: int = 10 * SECOND_MS  # how long what is to run waits, so that it can be undone


def dashboard(value: object) -> DashboardConf:
    options = known(value, _READERS, "DASHBOARD")
    return DashboardConf(**{name.lower(): _READERS[name](given) for name, given in options.items()})


def _hold(value: Any) -> int:
    hint = "Give 0 seconds to 10 minutes."
    hold = span(value, hint=hint)
    if hold is None or hold > LONGEST_HOLD:
        raise BadSetting(f"{value!r:.80} is no time to hold jobs for", hint=hint)
    return hold


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {"QUEUE": queue, "HOLD": _hold}
