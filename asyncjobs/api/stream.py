"""What happens to a job, as Server-Sent Events: from wherever a client left off."""

import json
import re
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final
from weakref import finalize

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from asyncjobs.api.bodies import Link, entry_body, job_body
from asyncjobs.api.problems import RETRY_SECONDS, Problem
from asyncjobs.api.versions import version_tag
from asyncjobs.api.waiting import Seats, leave_connections, pause_after, watcher_of
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import StoreError
from asyncjobs.stores.base import JOURNAL_LIMITS, Entry

EVENTS: Final = "text/event-stream"
LONGEST_S: Final = 600  # then the client comes again, and is asked again who it is
SILENCE_S: Final = 15  # after which a comment says that the line is open
LOG_S: Final = 1.0  # between two looks at the log of a job that does not change

seats: Final = Seats()

_PLACE: Final = re.compile(r"([\w-]{1,60})\.(\d{1,15})", re.ASCII)


class EventStream(StreamingHttpResponse):
    """Has a seat until it is closed, or is garbage: a client may go before there is anything to close."""

    def __init__(self, events: AsyncIterator[str], leave: Callable[[], None]) -> None:
        super().__init__(events, content_type=EVENTS)
        self["X-Accel-Buffering"] = "no"
        self._leave = finalize(self, leave)

    def close(self) -> None:
        self._leave()
        super().close()


class Stream:
    """The events of one job for one client."""

    def __init__(self, engine: Engine, job: Job, link: Link, *, last_event: str = "") -> None:
        self._engine = engine
        self._job: Job | None = job
        self._link = link
        place = _PLACE.fullmatch(last_event)
        self._version = place[1] if place else ""  # of the job that the client knows
        self._line = int(place[2]) if place else 0  # of the log, the last one that the client knows
        self._spoke = self._changed = self._looked = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether the client knows how the job ended."""
        return self._job is not None and self._job.is_terminal and self._version == version_tag(self._job)

    def response(self, user: str | None) -> HttpResponseBase:
        """204 tells a client that knows the end not to come again."""
        if self.is_over:
            return HttpResponse(status=204)
        seat = seats.take(user, self._engine.conf.api.most_streams)
        if seat is None:
            raise Problem("too-busy", "Too many jobs are followed here, or by you.", retry_after=RETRY_SECONDS)
        return EventStream(self._events(), partial(seats.free, seat))

    async def _events(self) -> AsyncIterator[str]:
        """Until the job has ended or is gone, or the store is."""
        await leave_connections()
        yield "retry: 2000\n\n"
        watcher = watcher_of(self._engine)
        end = time.monotonic() + LONGEST_S
        try:
            while self._job is not None and time.monotonic() < end:
                for event in await self._news(self._job):
                    yield event
                if self._job.is_terminal:
                    return
                self._job = await watcher.look(self._job.id, pause=pause_after(time.monotonic() - self._changed))
        except StoreError:
            return

    async def _news(self, job: Job) -> list[str]:
        """What the client does not know. The log comes first: after the end of a job there is nothing."""
        news = [self._line_event(line) for line in await self._lines(job)]
        version = version_tag(job)
        if version != self._version:
            is_note = self._version.partition("-")[0] == version.partition("-")[0]
            self._version = version
            body = job_body(job, self._link)
            news.append(self._event("progress", body["progress"]) if is_note else self._event("status", body))
        now = time.monotonic()
        if news:
            self._spoke = self._changed = now
        elif now - self._spoke > SILENCE_S:
            self._spoke = now
            news.append(":\n\n")
        return news

    async def _lines(self, job: Job) -> list[Entry]:
        """All new ones if the job has changed; else they are looked for from time to time."""
        if self._version == version_tag(job) and time.monotonic() - self._looked < LOG_S:
            return []
        self._looked = time.monotonic()
        return await sync_to_async(self._read, thread_sensitive=False)(job.id)

    def _read(self, job_id: str) -> list[Entry]:
        """In a thread of no request, whose connections nobody else closes."""
        try:
            return self._engine.store.journal(job_id, "log", after=self._line, limit=JOURNAL_LIMITS["log"])
        finally:
            close_old_connections()

    def _line_event(self, line: Entry) -> str:
        self._line = line.number
        return self._event("log", entry_body(line))

    def _event(self, kind: str, body: Any) -> str:
        return f"id: {self._version or 0}.{self._line}\nevent: {kind}\ndata: {json.dumps(body)}\n\n"
