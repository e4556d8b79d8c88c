"""Queues: what waits in each, and who takes it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs.dashboard.crews import Crew, crews, serving
from asyncjobs.dashboard.flow import RECENT, Forecast, forecasts
from asyncjobs.dashboard.frame import LIVE, Page
from asyncjobs.dashboard.marks import mark_of_all
from asyncjobs.dashboard.people import pausers
from asyncjobs.dashboard.views.queue_acts import counts_of, unstarted_in
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Query, QueueCounts
from asyncjobs.templatetags.asyncjobs import shown

SAMPLE: Final = 500  # jobs that tell which handlers use a queue
NEWEST: Final = 5
TILES: Final = (
    JobStatus.QUEUED,
    JobStatus.IN_PROGRESS,
    JobStatus.SCHEDULED,
    JobStatus.WAITING,
    JobStatus.FAILED,
)
COLUMNS: Final = (JobStatus.QUEUED, JobStatus.IN_PROGRESS, JobStatus.SCHEDULED, JobStatus.FAILED)


class Row(NamedTuple):
    """A queue and what is known of its future."""

    queue: QueueCounts
    cells: list[tuple[JobStatus, int]]
    forecast: Forecast
    serving: list[Crew]  # also those who take no jobs now
    paused_by: str  # "" if that is not known

    @property
    def listeners(self) -> list[Crew]:
        """Those who take jobs of it now."""
        return [crew for crew in self.serving if crew.takes_jobs]

    @property
    def is_quiet(self) -> bool:
        """Whether those who would take its jobs were told to take none."""
        return not self.listeners and any(crew.is_quiet for crew in self.serving)

    @property
    def is_deserted(self) -> bool:
        """Whether there is something to do, and nobody to do it, nor was that anybody's wish."""
        return bool(self.queue.backlog) and not self.listeners and not self.is_quiet


class Split(NamedTuple):
    """How many of some jobs a handler has, and how many of these failed for good."""

    name: str
    jobs: int
    failed: int
    percent: int


class Queues(Page):
    template_name = "asyncjobs/dashboard/queues.html"
    live_template = "asyncjobs/dashboard/_queues_live.html"
    tab = "queues"
    title = _("Queues")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        counts = self.engine.counts()
        return super().get_context_data(**kwargs) | {
            "rows": _rows(self.engine, counts, COLUMNS),
            "seen": mark_of_all(queue.queue for queue in counts),
        }


class OneQueue(Page):
    template_name = "asyncjobs/dashboard/queue.html"
    live_template = "asyncjobs/dashboard/_queue_live.html"
    tab = "queues"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        counts = counts_of(self.engine, kwargs["name"])
        [row] = _rows(self.engine, [counts], TILES)
        now = {"row": row, "queue": counts, "unstarted": unstarted_in(counts)}
        return (
            super().get_context_data(**kwargs) | now | ({} if LIVE in self.request.GET else self._still(counts.queue))
        )

    def _still(self, name: str) -> dict[str, Any]:
        """What a poll does not bring."""
        newest = self.engine.find(Query(queue=name, limit=SAMPLE)).jobs
        return {
            "title": gettext("Queue %(name)s") % {"name": shown(name)},
            "split": split(newest),
            "sample": len(newest),
            "failures": self.engine.find(Query(queue=name, status=JobStatus.FAILED, limit=NEWEST)).jobs,
        }


def rows_of(
    counts: Sequence[QueueCounts], statuses: Sequence[JobStatus], ahead: Mapping[str, Forecast], workers: Sequence[Crew]
) -> list[Row]:
    paused_by = pausers(counts)
    return [
        Row(
            queue,
            [(status, queue.by_status.get(status, 0)) for status in statuses],
            ahead[queue.queue],
            serving(workers, queue.queue),
            paused_by.get(queue.queue, ""),
        )
        for queue in counts
    ]


def _rows(engine: Engine, counts: Sequence[QueueCounts], statuses: Sequence[JobStatus]) -> list[Row]:
    store, now = engine.store, engine.store.now()
    ahead = forecasts(counts, store.series(RECENT + 1), now=now)
    return rows_of(counts, statuses, ahead, crews(store.workers(), now=now, lease=engine.conf.lease))


def split(jobs: list[Job]) -> list[Split]:
    """By handler, those with the most jobs first."""
    total = Counter(job.name for job in jobs)
    failed = Counter(job.name for job in jobs if job.status == JobStatus.FAILED)
    return [Split(name, count, failed[name], round(100 * count / len(jobs))) for name, count in total.most_common()]
