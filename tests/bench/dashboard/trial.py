"""One of the staff, who asks for pages in this process, and how long the answers take."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import redis
from django.contrib.auth.models import Permission, User
from django.db import connections
from django.http import HttpResponse
from django.test import Client, override_settings

from tests.bench.dashboard.visits import Ask, Visit, Walk

WARM_UP: Final = 3  # for as many requests that are measured, one before them is not


class Finding(NamedTuple):
    """How many milliseconds answers of one sort take, and what the last of them was."""

    name: str
    trips: int  # to databases
    bytes: int
    cpu: float  # of p50, what this process computed itself
    p50: float
    p95: float
    limit: float | None

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.p95 > self.limit


class Trips:
    """Counts what is sent to databases: statements of SQL, and commands or pipelines to Redis."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute: Callable[..., Any], *statement: Any) -> Any:
        self.count += 1
        return execute(*statement)

    def watch(self, client: redis.Redis) -> None:
        """Counts what is sent by the connections that this client opens from now on."""
        trips = self

        class Counted(redis.Connection):
            def send_packed_command(self, command: Any, check_health: bool = True) -> None:  # noqa: FBT001, FBT002
                trips.count += 1
                super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

        client.connection_pool.reset()
        client.connection_pool.connection_class = Counted


class Sort:
    """The requests of a visit, as far as they were made."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._walk: Walk = visit.walk()
        self._next: Ask = next(self._walk)
        self._spent: list[float] = []
        self._computed: list[float] = []
        self._trips = self._bytes = 0

    def step(self, client: Client, trips: Trips, *, is_measured: bool) -> None:
        path, form = self._next
        before, start, cpu = trips.count, perf_counter(), process_time()
        answer: HttpResponse = client.get(path) if form is None else client.post(path, form)  # type: ignore[assignment]
        spent, computed = perf_counter() - start, process_time() - cpu
        assert answer.status_code in (200, self._visit.status), (path, answer)
        if is_measured and answer.status_code == self._visit.status:
            self._spent.append(1000 * spent)
            self._computed.append(1000 * computed)
            self._trips, self._bytes = trips.count - before, len(answer.content)
        self._next = self._walk.send(answer)

    @property
    def was_answered(self) -> bool:
        """Whether it was answered at all as it was asked: a poll may have found news each time."""
        return bool(self._spent)

    @property
    def finding(self) -> Finding:
        cuts = quantiles(self._spent if len(self._spent) > 1 else self._spent * 2, n=20)
        name, limit = self._visit.name, self._visit.limit
        return Finding(name, self._trips, self._bytes, median(self._computed), cuts[9], cuts[18], limit)


class _Beside:
    """A router: everything the site keeps is in one database."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return self._alias

    db_for_write = db_for_read


@contextmanager
def staff(alias: str) -> Iterator[Client]:
    """A client with every permission of ours, on a site whose users and sessions are kept in this database."""
    with override_settings(DATABASE_ROUTERS=[_Beside(alias)]):
        user = User.objects.create(username="ann", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(content_type__app_label="asyncjobs"))
        client = Client(SERVER_NAME="localhost")
        client.force_login(user)
        yield client


def findings(alias: str, trips: Trips, visits: Iterable[Visit], turns: int) -> list[Finding]:
    """Of requests of all sorts in turn, because the machine's speed changes by the second."""
    sorts = [Sort(visit) for visit in visits]
    with staff(alias) as client, connections[alias].execute_wrapper(trips):
        for turn in range(-turns // WARM_UP, turns):
            for sort in sorts:
                sort.step(client, trips, is_measured=turn >= 0)
    return [sort.finding for sort in sorts if sort.was_answered]
