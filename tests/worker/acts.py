"""Handlers for children that run in the test's own process: a test sees in memory what they do, and lets them go on."""

import asyncio
import threading
import time

from asyncjobs import job, job_context, retry

PATIENCE = 20.0


class Gate:
    """Where a run waits until the test opens it."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.is_open = threading.Event()

    def await_begin(self) -> None:
        assert self.begun.acquire(timeout=PATIENCE), "no run came to the gate"


class Gates(dict[str, Gate]):
    """Made when first asked for; of two threads that ask at once, both get the same."""

    def __missing__(self, name: str) -> Gate:
        return self.setdefault(name, Gate())


gates = Gates()
ran: list[str] = []  # the words of runs, in the order they began


@job
def says(word: str) -> str:
    ran.append(word)
    return word


@job
async def says_async(word: str) -> str:
    ran.append(word)
    return word


@job
async def quits_beside(word: str) -> str:
    """Starts a task that wants the process to end."""

    async def quits() -> None:
        raise SystemExit(word)

    asyncio.get_running_loop().create_task(quits())
    return word


@job
def stops(gate: str) -> str:
    """Stands at the gate, and ends early if it is to end."""
    ran.append(gate)
    gates[gate].begun.release()
    while not gates[gate].is_open.wait(0.002):
        job_context().check_cancelled()
    return gate


@job
async def stops_async(gate: str) -> str:
    ran.append(gate)
    gates[gate].begun.release()
    while not gates[gate].is_open.is_set():
        await asyncio.sleep(0.002)
    return gate


@job(max_retries=1, retry=retry.fixed(0))
def fails(word: str) -> None:
    ran.append(word)
    raise ValueError(word)


@job(max_retries=0)
def breaks() -> None:
    raise ValueError("broken")


@job
def snoozes() -> None:
    job_context().snooze(60)


@job
def reports(line: str) -> str:
    context = job_context()
    context.log(line)
    context.progress(1, 2, line)
    return line


@job
def naps(seconds: float) -> None:
    time.sleep(seconds)


@job
def deaf(gate: str) -> None:
    """Stands at the gate, whatever happens."""
    gates[gate].begun.release()
    gates[gate].is_open.wait(PATIENCE)
