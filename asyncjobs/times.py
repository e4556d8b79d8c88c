"""Durations and moments as people write them, in milliseconds."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from asyncjobs.errors import InvalidJob

Duration = float | timedelta

# What every store can keep: the years 1 to 9999. The longest duration, 1,000 years, ends before them.
_YEAR_1 = -62_135_596_800_000
_YEAR_10000 = 253_402_300_800_000
_LONGEST_SECONDS = 1_000 * 366 * 86_400


def duration_ms(duration: Duration) -> int:
    """A duration of zero or more, given in seconds or as a timedelta."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidJob(f"a duration is a number of seconds or a timedelta, not {duration!r:.80}")
    if not 0 <= seconds <= _LONGEST_SECONDS:  # NaN is neither
        raise InvalidJob("a duration is zero or more, and no more than a thousand years")
    return round(seconds * 1000)


def moment_ms(moment: datetime) -> int:
    """A point in time. A naive one is in the current time zone, and only accepted where USE_TZ is off."""
    if not isinstance(moment, datetime):
        raise InvalidJob(f"a moment is a datetime, not {moment!r:.80}")
    if timezone.is_naive(moment):
        if settings.USE_TZ:
            raise InvalidJob(f"the datetime {moment.isoformat()} has no time zone")
        moment = timezone.make_aware(moment)
    ms = round(moment.timestamp() * 1000)
    if not _YEAR_1 <= ms < _YEAR_10000:
        raise InvalidJob(f"the datetime {moment.isoformat()} is not within the years 1 to 9999 of UTC")
    return ms


def due_ms(when: datetime | Duration, *, now: int) -> int:
    """A point in time, given as one or as the duration until then."""
    return moment_ms(when) if isinstance(when, datetime) else now + duration_ms(when)
