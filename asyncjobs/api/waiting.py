"""Waiting for a job to change: in a thread under WSGI, on the event loop under ASGI, and never too many at a time.

Under ASGI, Django keeps a thread for each request until it ends. That one sleeps, and has no database connection then.
"""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections, connections
from django.urls import ResolverMatch, URLPattern
from rest_framework.response import Response

from asyncjobs.api.problems import Problem
from asyncjobs.domain.job import Job
from asyncjobs.engine import Engine
from asyncjobs.errors import StoreError
from asyncjobs.results import pauses

LOOK_S: Final = 0.2  # between two looks at all the jobs that clients of one event loop wait for
SLOWEST_S: Final = 1.0  # between two looks at a job that did not change for long
PATIENCE: Final = 0.1  # of the time since it changed, between two looks
SHARES: Final = 4  # into which seats are divided: a user has one of them at most

_PREFERENCE: Final = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?:[,;]|$)", re.I | re.A)

Satisfies = Callable[[Job], bool]


class Seats:
    """Who waits: not too many at a time, and no user on all seats."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[object, str | None] = {}

    def take(self, user: str | None, most: int) -> object | None:
        """A seat for this user; None when all are taken, or all that one user may have."""
        with self._lock:
            users = list(self._taken.values())
            if len(users) >= most or users.count(user) >= share_of(most):
                return None
            seat = object()
            self._taken[seat] = user
            return seat

    def free(self, seat: object | None) -> None:
        """May be repeated. Takes no lock: garbage is collected anywhere, also while this thread has it."""
        self._taken.pop(seat, None)

    @contextmanager
    def taken(self, user: str | None, most: int) -> Iterator[bool]:
        """Whether there was one, for as long as it is needed."""
        seat = self.take(user, most)
        try:
            yield seat is not None
        finally:
            self.free(seat)


def share_of(most: int) -> int:
    """How many of so many seats one user may have."""
    return max(1, most // SHARES)


_seats: Final = Seats()


def wait_of(request: Any, longest: int) -> float:
    """For how many seconds the client wants to wait, with `?wait=20` or `Prefer: wait=20`, and may.

    Where the process has one thread it may not: it would keep all others out.
    """
    text = request.query_params.get("wait")
    if text is None:
        preferred = _PREFERENCE.search(request.headers.get("Prefer", ""))
        text = preferred[1] if preferred else "0"
    if not re.fullmatch(r"\d{1,9}", text, re.A):
        raise Problem("malformed", "'wait' is a whole number of seconds.")
    return min(int(text), longest / 1000) if request.META.get("wsgi.multithread", True) else 0


def is_asynchronous(request: Any) -> bool:
    """Whether there is an event loop to wait on."""
    return isinstance(request._request, ASGIRequest)


def wait(engine: Engine, job: Job, satisfies: Satisfies, *, seconds: float, user: str | None) -> Job | None:
    """The job once it satisfies, or as it is in the end; None if it is gone. A thread waits, unless enough do."""
    with _seats.taken(user, engine.conf.api.most_waiting) as got:
        for pause in pauses(seconds if got else 0):
            [seen] = engine.store.get([job.id])
            if seen is None or satisfies(seen):
                return seen
            job = seen
            threading.Event().wait(pause)
    return job


class Watcher:
    """Looks at the jobs that the clients of one event loop wait for: at all of them with one read."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._asked: set[str] = set()
        self._look: asyncio.Task[dict[str, Job | None]] | None = None

    async def look(self, job_id: str, *, pause: float) -> Job | None:
        """The job as it is that many seconds later, LOOK_S at least."""
        await asyncio.sleep(pause - LOOK_S)
        self._asked.add(job_id)
        if self._look is None:
            self._look = asyncio.create_task(self._read_asked())
        jobs = await asyncio.shield(self._look)  # others wait for it, too
        return jobs[job_id]

    async def _read_asked(self) -> dict[str, Job | None]:
        await asyncio.sleep(LOOK_S)
        asked, self._asked, self._look = self._asked, set(), None
        return await sync_to_async(self._read, thread_sensitive=False)(list(asked))

    async def wait(self, job: Job, satisfies: Satisfies, *, seconds: float) -> Job | None:
        """As `wait` above, on the event loop."""
        seen: Job | None = job
        start = time.monotonic()
        while seen is not None and not satisfies(seen) and (waited := time.monotonic() - start) < seconds:
            seen = await self.look(job.id, pause=min(pause_after(waited), seconds - waited))
        return seen

    def _read(self, ids: Sequence[str]) -> dict[str, Job | None]:
        """In a thread of no request, whose connections nobody else closes."""
        try:
            return dict(zip(ids, self.engine.store.get_readable(ids), strict=True))
        finally:
            close_old_connections()


def pause_after(seconds: float) -> float:
    """How long to wait for the next look at a job that has not changed for so long: whole jobs are read each time."""
    return min(max(seconds * PATIENCE, LOOK_S), SLOWEST_S)


async def leave_connections() -> None:
    """Closes the connections of the request's own thread, which nobody else can use until the request ends."""
    await sync_to_async(_close_connections)()


def _close_connections() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


_watchers: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher]] = WeakKeyDictionary()


def watcher_of(engine: Engine) -> Watcher:
    """The one of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watchers or _watchers[loop].engine is not engine:
        _watchers[loop] = Watcher(engine)
    return _watchers[loop]


@dataclass(frozen=True, slots=True)
class Pending:
    """An answer that would be a better one if it came later."""

    engine: Engine
    job: Job
    user: str | None
    satisfies: Satisfies
    seconds: float
    respond: Callable[[Job | None], Response]

    async def finish(self, first: Response) -> Response:
        with _seats.taken(self.user, self.engine.conf.api.most_streams) as got:
            if not got:
                return first
            await leave_connections()
            try:
                job = await watcher_of(self.engine).wait(self.job, self.satisfies, seconds=self.seconds)
            except StoreError:
                job = None
        return await sync_to_async(self.respond)(job)


class WaitingPattern(URLPattern):
    """The pattern of a view whose answers may be `Pending`: on an event loop, it is that loop which waits."""

    def resolve(self, path: str) -> ResolverMatch | None:
        match = super().resolve(path)
        if match is not None and _has_event_loop():
            match.func = _finishing(match.func)
        return match


def _has_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _finishing(view: Callable[..., Response]) -> Callable[..., Any]:
    @wraps(view)
    async def finishing(*args: Any, **kwargs: Any) -> Response:
        response = await sync_to_async(view)(*args, **kwargs)
        pending: Pending | None = getattr(response, "pending", None)
        return response if pending is None else await pending.finish(response)

    return finishing
