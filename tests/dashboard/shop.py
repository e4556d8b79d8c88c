"""An hour in the life of a shop's jobs, as pictures and tests of the dashboard need it: the same one every time."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any, Final, NamedTuple

from asyncjobs import Handler
from asyncjobs.actions import action_entry
from asyncjobs.arguments.binding import Call
from asyncjobs.conf import get_conf
from asyncjobs.current import exchange_engine
from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.starting import carried_out
from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobError, Progress
from asyncjobs.engine import Engine
from asyncjobs.ids import new_ids
from asyncjobs.outcome import attempt_entry
from asyncjobs.stores.base import MAX_BATCH, Change, Entry, Pause, Store
from tests.clock import Clock
from tests.dashboard import jobs

MINUTE: Final = 60_000
LEASE: Final = 60 * MINUTE  # nobody takes these jobs away from workers that are none
OUTAGE: Final = range(34, 43)  # minutes in which the bank did not answer
DAY: Final = 24 * 60 * MINUTE
LONG: Final = "a_rather_long_name_that_somebody_chose_because_it_says_exactly_what_the_function_does"
HOSTILE: Final = (
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}{% now 'Y' %}",
    "txt.\N{RIGHT-TO-LEFT OVERRIDE}fdp.exe",
    "red \x1b[31malert\x1b[0m \x07",
    "\"'><svg/onload=alert(1)>",
    "two\nlines/and a?query=%2F&more#less",
)

GATEWAY = JobError(
    code="HANDLER_ERROR",
    type="builtins.ConnectionError",
    message="the bank's gateway did not answer within 10 s",
    traceback="""Traceback (most recent call last):
  File "/srv/shop/payments/jobs.py", line 41, in capture
    receipt = bank.capture(order.payment_id, amount)
  File "/srv/shop/payments/bank.py", line 88, in capture
    return self._post("captures", payment=payment_id, amount=str(amount))
  File "/srv/shop/.venv/lib/python3.12/site-packages/httpx/_client.py", line 914, in send
    response = self._send_handling_auth(
  File "/srv/shop/.venv/lib/python3.12/site-packages/httpx/_transports/default.py", line 118, in handle_request
    raise mapped_exc(message) from exc
ConnectionError: the bank's gateway did not answer within 10 s
""",
)
NO_RATE = JobError(
    code="HANDLER_ERROR",
    type="builtins.KeyError",
    message="'vat_rate'",
    traceback="""Traceback (most recent call last):
  File "/srv/shop/invoices/jobs.py", line 17, in render
    vat = line["vat_rate"] * line["net"]
          ~~~~^^^^^^^^^^^^
KeyError: 'vat_rate'
""",
)


SLOW = JobError(code="HANDLER_ERROR", type="builtins.TimeoutError", message="search-2 did not answer in 5 s")
REFUSED = JobError(code="HANDLER_ERROR", type="smtplib.SMTPDataError", message="550 no such user: 'ada@exmaple.org'")


class Past(NamedTuple):
    """Jobs that failed for good on the days before: how many, of the last one first."""

    handler: Handler[..., Any]
    argument: Any
    error: JobError
    days: tuple[int, ...]


PAST: Final = (
    Past(jobs.index_product, 4_711, SLOW, (3, 41, 260, 112, 9)),
    Past(jobs.send_receipt, 71_004, REFUSED, (4,) * 6),
    Past(jobs.build_monthly, "2026-01", transitions.WORKER_DIED, (0, 0, 2)),
)


class Flow(NamedTuple):
    """Jobs of a kind that come every minute."""

    handler: Handler[..., Any]
    many: int
    arguments: Callable[[Random], tuple[Any, ...]]
    error: JobError | None = None


FLOWS: Final = (
    Flow(jobs.send_receipt, 9, lambda chance: (chance.randint(10_000, 99_999), "ada@example.org")),
    Flow(jobs.capture, 5, lambda chance: (chance.randint(10_000, 99_999), "149.00"), GATEWAY),
    Flow(jobs.index_product, 22, lambda chance: (chance.randint(1, 9_999),)),
    Flow(jobs.render, 3, lambda chance: (chance.randint(10_000, 99_999),), NO_RATE),
)


class Shop:
    """Fills a store whose clock can be set."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._chance = Random(7)

    def live_an_hour(self) -> None:
        """What ended in the last hour, and what there is to do now."""
        for past in PAST:
            self._remember(past)
        self._clock.advance(-60 * MINUTE)
        for minute in range(60):
            for flow in FLOWS:
                self._run(flow, minute)
            self._clock.advance(MINUTE)
        self._leave_work()
        self._throw_away()
        self._employ()

    def operate(self) -> None:
        """Somebody retries what the bank's outage has left, and takes some of it back."""
        now, who = self._clock.advance(-30_000), "1"
        retry = Order.of_search("error:gateway", {}, deed="retry", frozen=now, by=who)
        retried = carried_out(self._engine, retry.but(reason="the bank answers again"))
        self._clock.advance(11_000)
        self._settle([self._completed(job) for job in self._claim("payments", 7)])
        carried_out(self._engine, Order(deed="retry", frozen=self._clock(), by=who, undoes=retried.id))
        self._clock.advance(19_000)

    def die(self, many: int, error: JobError = GATEWAY) -> None:
        """So many payments that failed for good."""
        call = jobs.capture.call(71_004, "149.00")
        for start in range(0, many, MAX_BATCH):
            self._bury(jobs.capture, [call] * min(MAX_BATCH, many - start), error, then=self._clock())

    def call_names(self) -> None:
        """Jobs, queues, tags, workers, errors and reasons with names that are long, or lie."""
        for name in (f"shop.{LONG}.{LONG}", *HOSTILE):
            self._call(name, name[:100])
        self._engine.store.pause(Pause(queue=f"shop.{LONG}"[:100], since=self._clock(), reason=HOSTILE[0]))

    def _call(self, name: str, short: str) -> None:
        """A job that failed, one that runs, one that is tried again later and one that waits, all of this name."""
        now = self._clock()
        error = JobError(code=short, type=name, message=f"{name} in {LONG}", traceback=f"{name}\n{name}")
        payload = json.dumps({"args": [name], "kwargs": {name: name}})
        *_, thrown = self.add(5, name=name, queue=short, tags=(name[:60], "vip"), owner=short, payload=payload)
        self._engine.delete(thrown.id, note=self._deleted(by=name, reason=f"{name} {LONG}"))
        failed, running, retrying = self._claim(short, 3)
        said = Entry("log", now, name), action_entry(name, by=name, now=now, reason=name)
        self._settle([self._failed(failed, error), self._failed(retrying, error, delay=15 * MINUTE)])
        self._settle([Change(job, job, said) for job in self._engine.store.get([failed.id, running.id]) if job])
        self._report(running, Progress(done=1, total=3, message=name[:200]))
        order = Order(deed="retry", frozen=now, by=name, reason=name, typed=name, ids=(thrown.id,))
        carried_out(self._engine, order)
        facts = {"name": short, "host": short, "version": short, "queues": [short], "exclude": [f"not {short}"]}
        self._beat(short, **facts)
        self._beat(f"{short}, too", **facts, state=short)
        self._beat(f"{short}, once", **facts, state="ended")

    def fill(self, many: int) -> None:
        """So many jobs, most of them finished: enough that no page can hold them."""
        for start in range(0, many, MAX_BATCH):
            self.add(min(MAX_BATCH, many - start), name="shop.search.index_product", queue="search")
            while start % 10_000 < 9_000 and (held := self._claim("search", MAX_BATCH)):
                self._settle([self._completed(job) for job in held])

    def _remember(self, past: Past) -> None:
        """Jobs that were dead before the hour began."""
        call = past.handler.call(past.argument)
        for day, many in enumerate(past.days):
            self._bury(past.handler, [call] * many, past.error, then=self._clock() - 2 * 60 * MINUTE - day * DAY)

    def _bury(self, handler: Handler[..., Any], calls: Sequence[Call[Any]], error: JobError, *, then: int) -> None:
        """Adds jobs that were run once, and failed for good at that time."""
        begun = then - 900
        made = [job.replace(created_at=begun) for job in handler.jobs_of(calls)]
        started = [transitions.start(job, worker="web-1-1", until=then, now=begun) for job in made]
        self._engine.store.add([transitions.fail(job, error, delay=None, now=then) for job in started])

    def _run(self, flow: Flow, minute: int) -> None:
        """What comes in a minute, and ends in it."""
        wave = 1 + 0.4 * (minute % 20) / 20
        many = max(round(flow.many * wave * self._chance.uniform(0.7, 1.3)), 1)
        calls = [flow.handler.call(*flow.arguments(self._chance)) for _ in range(many)]
        self._submit(flow.handler.using(max_retries=0), *calls)
        held = self._claim(flow.handler.options.queue, many)
        took = self._chance.randint(40, 4_000)
        self._clock.advance(took)
        self._settle([self._ended(job, flow, minute) for job in held])
        self._clock.advance(-took)

    def _ended(self, job: Job, flow: Flow, minute: int) -> Change:
        is_out = flow.error is GATEWAY and minute in OUTAGE and self._chance.random() < 0.8
        is_wrong = flow.error is NO_RATE and minute > 50 and self._chance.random() < 0.5
        return self._failed(job, flow.error) if flow.error and (is_out or is_wrong) else self._completed(job)

    def _completed(self, job: Job) -> Change:
        return Change(job, transitions.complete(job, "null", now=self._clock()))

    def _failed(self, job: Job, error: JobError, *, delay: int | None = None) -> Change:
        now = self._clock()
        return Change(job, transitions.fail(job, error, delay=delay, now=now), (attempt_entry(job, error, now=now),))

    def _leave_work(self) -> None:
        """Ready, running, delayed, retrying, canceled."""
        self._clock.advance(-4 * MINUTE)
        self._insist()
        self._submit(jobs.send_newsletter, *(jobs.send_newsletter.call(f"2026-{week:02}") for week in range(1, 41)))
        self._submit(jobs.render, *map(jobs.render.call, range(20_000, 20_012)))
        months = [jobs.build_monthly.call(f"2026-{month:02}") for month in range(1, 6)]
        reports = self._submit(jobs.build_monthly.using(tags=["monthly"]), *months)
        retrying = self._submit(jobs.capture, *(jobs.capture.call(order, "49.00") for order in range(30_000, 30_006)))
        self._settle([self._failed(job, GATEWAY, delay=15 * MINUTE) for job in self._claim("payments", len(retrying))])
        self._clock.advance(3 * MINUTE)
        for done, job in enumerate(self._claim("reports", 2), 1):
            pages = tuple(Entry("log", self._clock() + 900 * page, f"page {page} of 24") for page in range(1, done * 7))
            self._report(job, Progress(done=done * 7, total=24, message=f"page {done * 7}"), *pages)
        self._claim("mail", 3)
        self._engine.cancel(reports[-1].id, reason="nobody reads it")
        for hours in range(1, 24, 2):
            later = jobs.send_receipt.using(delay=timedelta(hours=hours))
            self._submit(later, later.call(40_000 + hours, "grace@example.org"))
        self._engine.pause("invoices", reason="the VAT rates are wrong: ask Ada before you resume", by="1")
        self._clock.advance(MINUTE)

    def _throw_away(self) -> None:
        """What somebody submitted twice, and what nobody wanted."""
        self._clock.advance(-11 * MINUTE)
        for job in self._submit(jobs.send_newsletter, *[jobs.send_newsletter.call("2026-01")] * 2):
            self._engine.delete(job.id, note=self._deleted(by="1", reason="submitted twice by the import"))
        self._clock.advance(7 * MINUTE)
        [unwanted] = self._submit(jobs.render, jobs.render.call(19_999))
        self._engine.cancel(unwanted.id)
        self._engine.delete(unwanted.id, note=self._deleted(by="1"))
        self._clock.advance(4 * MINUTE)

    def _deleted(self, **said: Any) -> Entry:
        return action_entry("delete", now=self._clock(), **said)

    def _insist(self) -> None:
        """A job that is tried three times, and fails for good in the end."""
        self._submit(jobs.capture.using(max_retries=2, tags=["vip"]), jobs.capture.call(58_101, "149.00"))
        for delay in (20_000, 40_000, None):
            [job] = self._claim("payments", 1)
            self._clock.advance(10_000)
            said = Entry("log", self._clock() - 9_000, f"asking for 149.00, attempt {job.attempt}")
            change = self._failed(job, GATEWAY, delay=delay)
            self._settle([change._replace(entries=(said, *change.entries))])
            self._clock.advance(delay or -90_000)

    def _employ(self) -> None:
        """Two workers that are heard of, and one that is not any more."""
        self._clock.advance(-7 * MINUTE)
        self._beat("batch-2-1", name="batch-2", host="batch-2", queues=["reports", "invoices"], pid=812)
        self._clock.advance(7 * MINUTE)
        for number in (1, 2):
            worker = f"web-1-{number}"
            held = [job.id for job in self._engine.store.held(worker)]
            busy = {"jobs": held, "running": len(held), "pid": 4_711 + number}
            self._beat(
                worker,
                name="web-1",
                host="web-1",
                queues=["mail", "payments", "search", "reports", "asyncjobs"],
                **busy,
            )

    def _beat(self, worker: str, **about: Any) -> None:
        usual = {
            "pid": 1,
            "jobs": [],
            "running": 0,
            "memory": 118_000_000,
            "claimed_ago": 120,
            "state": "working",
            "supervisor": 4_711,
            "since": self._clock() / 1000 - 9_000,
            "version": "2026.11.3",
            "threads": 8,
            "async_concurrency": 100,
        }
        self._engine.store.beat(worker, {}, lease=LEASE, about=json.dumps({**usual, **about}))

    def _submit(self, handler: Handler[..., Any], *calls: Call[Any]) -> list[Job]:
        return self._engine.submit_many(handler.jobs_of(calls), on_commit=False)

    def add(self, many: int, **fields: Any) -> list[Job]:
        now = self._clock()
        made = [Job(id=job_id, created_at=now, updated_at=now, **fields) for job_id in new_ids(many)]
        return self._engine.store.add(made)

    def _claim(self, queue: str, many: int) -> list[Job]:
        return self._engine.store.claim([queue], worker="web-1-1", limit=many, lease=LEASE)

    def _report(self, job: Job, progress: Progress, *said: Entry) -> None:
        self._settle([Change(job, transitions.report(job, progress, now=self._clock()), said)])

    def _settle(self, changes: Sequence[Change]) -> None:
        assert all(self._engine.store.swap(changes))


@contextmanager
def shop(store: Store, clock: Clock) -> Iterator[Shop]:
    """The shop whose jobs this store keeps, by this clock."""
    engine = Engine(store, get_conf())
    before = exchange_engine(engine)
    try:
        yield Shop(engine, clock)
    finally:
        exchange_engine(before)
