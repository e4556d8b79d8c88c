"""Handlers that the site offers to clients. What a test decides, it says by the length of a file."""

import time
from pathlib import Path
from typing import Any

from django.dispatch import receiver

from asyncjobs import job, job_context, signals

PATIENCE = 30.0


def wait_for(gate: str, length: int = 1) -> None:
    """Until the file is that long."""
    end = time.monotonic() + PATIENCE
    file = Path(gate)
    while not (file.exists() and file.stat().st_size >= length):
        if time.monotonic() > end:
            raise TimeoutError(f"{gate} is not {length} bytes long")
        time.sleep(0.005)


@job(name="live.add", api=True)
def add(a: int, b: int = 0) -> int:
    return a + b


@job(name="live.address", api=True)
def address(url: str) -> str:
    return url


@job(name="live.fail", api=True, max_retries=0)
def fail(message: str) -> None:
    raise ValueError(message)


@job(name="live.walk", api=True, max_retries=0)
def walk(gate: str, steps: int) -> int:
    """Takes a step when it may, and says so."""
    for step in range(1, steps + 1):
        wait_for(gate, step)
        job_context().log(f"step {step}")
        job_context().progress(step, steps)
    return steps


@job(name="shop.jobs.build_report", api=True, max_retries=0)
def build_report(month: str, *, detailed: bool = False) -> dict[str, Any]:
    """That of the documentation."""
    job_context().log(f"reading {month}")
    return {"month": month, "pages": 12 if detailed else 3}


def is_let_in(request: Any) -> bool:
    """Keeps the request from being answered, and its job from being stored, until it may."""
    arrive(request.data["kwargs"]["gate"])
    return True


@job(name="live.let_in", api=True, can_submit=is_let_in)
def let_in(gate: str) -> str:
    return gate


@job(name="live.stored", api=True)
def stored(gate: str) -> str:
    return gate


@receiver(signals.job_submitted)
def hold(job: Any, **facts: Any) -> None:
    """Keeps the request from being answered, when its job is stored, until it may."""
    if job.name == stored.name:
        arrive(stored.call_of(job).kwargs["gate"])


def arrive(gate: str) -> None:
    """Says that it is here, and waits until it may go on."""
    Path(f"{gate}-reached").touch()
    wait_for(gate)
