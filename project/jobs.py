"""Sample jobs of every kind, and who submits them."""

import asyncio
import random
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from asyncjobs import JobStatus, Query, get_engine, job, job_context, retry

PAUSE_SECONDS: Final = 1.0  # between jobs, while the demo runs
NAMES: Final = ("Ada", "Grace", "Barbara", "Radia", "Edith", "Frances")


@job(api=True)
def greet(name: str) -> str:
    """A quick one."""
    return f"Hello {name}!"


@job(api=True, queue="reports", priority=-20, timeout=timedelta(minutes=2))
def write_report(pages: int) -> int:
    """A slow one: half a second a page. Whoever cancels it ends it at the next page."""
    context = job_context()
    context.log(f"a report of {pages} pages")
    for page in range(1, pages + 1):
        time.sleep(0.5)
        context.progress(page, pages, f"page {page}")
    context.log("done")
    return pages


@job(max_retries=5, retry=retry.exponential(2, never=(ValueError,)))
def call_flaky_service(customer: int) -> int:
    """One that mostly fails, and mostly succeeds in the end."""
    if customer < 0:
        raise ValueError("there is no such customer")
    if random.random() < 0.6:
        raise ConnectionError("the service hung up")
    return customer


@job(api=True, max_retries=0)
def divide(dividend: int, divisor: int) -> float:
    """One that fails for good, given a zero."""
    return dividend / divisor


@job(queue="mail", priority=40)
async def send_mail(to: str, subject: str) -> str:
    """An async one."""
    await asyncio.sleep(0.2)
    return f"{subject!r} went to {to}"


@job(queue="mail")
def await_reply(since: float, patience: float) -> str:
    """One that looks, and comes back later when there is nothing yet. Looking costs no attempt."""
    if time.time() < since + patience:
        job_context().log("no reply yet")
        job_context().snooze(2)
    return "they like it"


def submit_samples() -> int:
    """Submits some of each, and answers how many."""
    jobs = [
        *greet.submit_many(greet.call(name) for name in NAMES[:4]),
        write_report.submit(5),
        write_report.using(tags=["monthly"]).submit_in(timedelta(hours=1), 20),
        *(call_flaky_service.submit(customer) for customer in (7, 8, -1)),
        divide.submit(1, 0),
        send_mail.submit("ada@example.org", "Welcome"),
        send_mail.submit_in(30, "grace@example.org", "How was it?"),
        await_reply.submit(time.time(), 3),
    ]
    return len(jobs)


def submit_next(turn: int) -> float:
    """Submits one more, another kind every time, and answers in how many seconds to come again."""
    KINDS[turn % len(KINDS)]()
    return PAUSE_SECONDS


def cancel_a_report() -> None:
    """Somebody changes their mind."""
    running = get_engine().find(Query(status=JobStatus.IN_PROGRESS, queue="reports", limit=1)).jobs
    for report in running:
        get_engine().cancel(report.id, reason="nobody reads it")


def _someone() -> str:
    return random.choice(NAMES)


KINDS: Final[tuple[Callable[[], object], ...]] = (
    lambda: greet.submit(_someone()),
    lambda: write_report.submit(random.randint(4, 16)),
    lambda: send_mail.submit(f"{_someone().lower()}@example.org", "News"),
    lambda: call_flaky_service.submit(random.randint(1, 99)),
    lambda: greet.using(tags=["vip"]).submit(_someone()),
    lambda: send_mail.submit_in(10, f"{_someone().lower()}@example.org", "How was it?"),
    lambda: write_report.submit(20),
    lambda: await_reply.submit(time.time(), 5),
    lambda: divide.submit(random.randint(1, 9), random.randint(0, 2)),
    cancel_a_report,
)
