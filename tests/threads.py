"""Threads for tests: they start together, close what they opened, and hand on what went wrong."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connections

T = TypeVar("T")
PATIENCE = 120  # seconds


def in_threads(*functions: Callable[[], T]) -> list[T]:
    """What each function answers, all of them having run at the same time."""
    together = Barrier(len(functions))

    def run(function: Callable[[], T]) -> T:
        together.wait(PATIENCE)
        try:
            return function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(functions)) as pool:
        futures = [pool.submit(run, function) for function in functions]
        return [future.result(PATIENCE) for future in futures]
