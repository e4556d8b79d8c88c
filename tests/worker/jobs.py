"""Handlers for tests of the worker. What they do is seen in a file: a line each, appended in one write."""

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from contextvars import ContextVar
from functools import partial
from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone, translation

from asyncjobs import Handler as Handler
from asyncjobs import job, job_context, retry, signals

_trace: ContextVar[str] = ContextVar("trace")
_kept: list[bytearray] = []

EFFECTS = "WORKER_TEST_EFFECTS"  # the environment variable that names the file


def effect(word: str) -> None:
    """Appends `job id, fence, attempt, pid, monotonic time, word` to the file of effects."""
    context = job_context()
    line = f"{context.job.id} {context.fence} {context.attempt} {os.getpid()} {time.monotonic():.4f} {word}\n"
    descriptor = os.open(os.environ[EFFECTS], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


@job
def quick(number: int = 0) -> int:
    effect("start")
    effect("end")
    return number


@job
def nap(seconds: float) -> int:
    """Sleeps, and answers the fence of the run whose result this is."""
    effect("start")
    time.sleep(seconds)
    effect("end")
    return job_context().fence


@job
async def async_nap(seconds: float) -> int:
    effect("start")
    await asyncio.sleep(seconds)
    effect("end")
    return job_context().fence


@job(max_retries=0)
def boom(message: str = "boom") -> None:
    effect("start")
    raise ValueError(message)


@job(max_retries=2, retry=retry.fixed(0.05))
def flaky(failures: int) -> str:
    effect("start")
    if job_context().job.retry_count < failures:
        raise ConnectionError("try again")
    return "done"


@job
def poison(kind: str) -> None:
    """Kills the process that runs it."""
    effect("start")
    match kind:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(0)
        case "segfault":
            ctypes.string_at(0)


@job
def hog(seconds: float) -> str:
    """Holds the GIL: a regular expression that backtracks for ever, in slices so that it ends."""
    effect("start")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        re.match(r"(a+)+$", "a" * 24 + "b")
    effect("end")
    return "done"


@job
def polite(seconds: float) -> str:
    """Looks again and again whether it is to end."""
    effect("start")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        job_context().check_cancelled()
        time.sleep(0.01)
    effect("end")
    return "done"


@job
def stubborn(seconds: float) -> str:
    """Lets nothing through, and looks at nothing."""
    effect("start")
    time.sleep(seconds)
    effect("end")
    return "done"


@job
def parent_of_another(seconds: float) -> None:
    """Starts a process and waits for it."""
    effect("start")
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])
    effect(f"started:{child.pid}")
    child.wait()


@job
def chatty(lines: int) -> None:
    context = job_context()
    for number in range(lines):
        context.log(f"line {number}")
        context.progress(number + 1, lines, "counting")
    effect("end")


@job
def answers(value: Any) -> Any:
    return value


@job
def unfit_result() -> Any:
    return {1, 2, 3}


@job(max_retries=0)
def quits() -> None:
    sys.exit(3)


@job(atomic=True, max_retries=0)
def makes_group(name: str, seconds: float = 0.0, then: str = "") -> str:
    """Writes a row, and ends in several ways."""
    Group.objects.create(name=f"{name}-{job_context().job.version}")
    effect("start")
    time.sleep(seconds)
    if then == "raise":
        raise ValueError("after all")
    return name


@job
def leaves_traces() -> None:
    """Changes what a request would change for itself alone."""
    translation.activate("de")
    timezone.activate("Asia/Tokyo")
    _trace.set("left behind")


@job
def finds_traces() -> list[Any]:
    return [translation.get_language(), timezone.get_current_timezone_name(), _trace.get("clean")]


@job
def queries() -> int:
    return Group.objects.count()


@job
async def async_queries() -> int:
    return await Group.objects.acount()


@job
def grows(megabytes: int) -> None:
    effect("start")
    _kept.append(bytearray(megabytes * 1024 * 1024))


@job
def snoozes(times: int) -> str:
    """Snoozes until the file of effects says it did so often."""
    effect("start")
    with open(os.environ[EFFECTS]) as effects:
        if sum(job_context().job.id in line for line in effects) <= times:
            job_context().snooze(0.05)
    return "done"


if os.environ.get("WORKER_TEST_SIGNALS"):

    def tell_of(name: str, sender: Any = None, **facts: Any) -> None:
        told = " ".join(f"{key}={value!r}" for key, value in sorted(facts.items()) if key != "signal")
        print(f"signal {name} {sender} {told}", flush=True)

    for told in ("worker_started", "worker_stopping", "worker_stopped", "child_started", "child_ended"):
        getattr(signals, told).connect(partial(tell_of, told), weak=False)
