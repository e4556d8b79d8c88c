"""Sample jobs of every kind."""

import asyncio
import random
import time
from datetime import timedelta

from asyncjobs import job, retry


@job
def greet(name: str) -> str:
    """A quick one."""
    return f"Hello {name}!"


@job(queue="reports", priority=-20, timeout=timedelta(minutes=2))
def write_report(pages: int) -> int:
    """A slow one: a second a page."""
    for _ in range(pages):
        time.sleep(1)
    return pages


@job(max_retries=5, retry=retry.exponential(2, never=(ValueError,)))
def call_flaky_service(customer: int) -> int:
    """One that mostly fails, and mostly succeeds in the end."""
    if customer < 0:
        raise ValueError("there is no such customer")
    if random.random() < 0.6:
        raise ConnectionError("the service hung up")
    return customer


@job(max_retries=0)
def divide(dividend: int, divisor: int) -> float:
    """One that fails for good, given a zero."""
    return dividend / divisor


@job(queue="mail", priority=40)
async def send_mail(to: str, subject: str) -> str:
    """An async one."""
    await asyncio.sleep(0.2)
    return f"{subject!r} went to {to}"


def submit_samples() -> int:
    """Submits some of each, and answers how many."""
    jobs = [
        *greet.submit_many(greet.call(name) for name in ("Ada", "Grace", "Barbara", "Radia")),
        write_report.submit(5),
        write_report.using(tags=["monthly"]).submit_in(timedelta(hours=1), 20),
        *(call_flaky_service.submit(customer) for customer in (7, 8, -1)),
        divide.submit(1, 0),
        send_mail.submit("ada@example.org", "Welcome"),
        send_mail.submit_in(30, "grace@example.org", "How was it?"),
    ]
    return len(jobs)
