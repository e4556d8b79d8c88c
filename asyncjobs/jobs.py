"""The jobs of this package: those of `manage.py benchjobs`, and the delivery of webhooks."""

import asyncio
import time
from typing import Final

from asyncjobs.api.webhooks.delivering import deliver as deliver
from asyncjobs.registry import job

BENCH_QUEUE: Final = "asyncjobs-bench"


@job(name="asyncjobs.bench.noop", queue=BENCH_QUEUE)
def noop(number: int) -> None:
    """Nothing: what is left is what it costs to run a job."""


@job(name="asyncjobs.bench.sleep", queue=BENCH_QUEUE)
def sleep(milliseconds: int) -> None:
    """Waits, as for another service."""
    time.sleep(milliseconds / 1000)


@job(name="asyncjobs.bench.asleep", queue=BENCH_QUEUE)
async def asleep(milliseconds: int) -> None:
    """Waits without holding a thread."""
    await asyncio.sleep(milliseconds / 1000)


@job(name="asyncjobs.bench.moment", queue=BENCH_QUEUE)
def moment() -> float:
    """When it was run, by the clock of this machine."""
    return time.time()
