"""Charts as SVG: drawn by the server, without a script, a style or a library."""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

HEIGHT = 64
STEP = 10  # of one column, in units of the drawing
GAP = 2
CUT = 7  # the gap in a column that is cut, and what is above it


class Column(NamedTuple):
    """One column of a chart: bad below, where it can be compared, good on top of it, and what is said of it.

    Of one that is cut, there may be more than is drawn: it has a gap below its top. None may be higher.
    """

    good: int
    bad: int
    label: str
    is_cut: bool = False


def columns(values: Sequence[Column], *, title: str) -> SafeString:
    """Stacked columns, as high as the highest."""
    highest = max((value.good + value.bad for value in values), default=0) or 1
    drawn = format_html_join("", "{}", ((_column(at, value, highest),) for at, value in enumerate(values)))
    return format_html(
        '<svg class="aj-chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img"><title>{}</title>{}</svg>',
        max(len(values), 1) * STEP,
        HEIGHT,
        title,
        drawn,
    )


def bars(values: Sequence[int], *, title: str) -> SafeString:
    """Small columns of what went badly, as high as the highest. Words that each would have are in the title."""
    highest = max(values, default=0) or 1
    drawn = "".join(
        f"M{at * STEP} {HEIGHT}v-{_height(value, highest)}h{STEP - GAP}V{HEIGHT}z"
        for at, value in enumerate(values)
        if value
    )
    return format_html(
        '<svg class="aj-chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img"><title>{}</title>'
        '<path class="aj-bad" d="{}"/></svg>',
        max(len(values), 1) * STEP,
        HEIGHT,
        title,
        drawn,
    )


def _column(at: int, value: Column, highest: int) -> SafeString:
    good, bad = (_height(part, highest) for part in (value.good, value.bad))
    top = CUT if value.is_cut else 0
    whole = (("aj-back", HEIGHT, 0), ("aj-bad", bad, 0), ("aj-good", good - 2 * top, bad))
    stacked = (*whole, ("aj-good", top, bad + good - top))
    drawn = "".join(_rect(name, at, height, below) for name, height, below in stacked if height)
    return format_html("<g><title>{}</title>{}</g>", value.label, mark_safe(drawn))


def _rect(name: str, at: int, height: int, below: int) -> str:
    """One of hundreds on a page that is asked for again and again: there is nothing in it to escape."""
    width = STEP if name == "aj-back" else STEP - GAP
    return f'<rect class="{name}" x="{at * STEP}" y="{HEIGHT - below - height}" width="{width}" height="{height}"/>'


def _height(part: int, highest: int) -> int:
    """At least a hair, if there is anything."""
    return max(round(part * (HEIGHT - 4) / highest), 2) if part else 0
