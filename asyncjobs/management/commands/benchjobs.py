"""`manage.py benchjobs`: how fast this site's own store takes jobs, and workers run them."""

import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

from django.core.management.base import BaseCommand, CommandError

from asyncjobs.benchmark import Benchmark, Figure, Report
from asyncjobs.current import get_engine
from asyncjobs.errors import AsyncJobsError
from asyncjobs.jobs import BENCH_QUEUE
from asyncjobs.management.printing import as_json, safe, table
from asyncjobs.stores.memory import MemoryStore

FAILED: Final = 1
USAGE: Final = 2
STOPPED: Final = 130
_BAR: Final = 30
_MOST_SLOW: Final = 2_000  # jobs that wait: a few seconds


class Command(BaseCommand):
    help = (
        f"Measures how fast jobs are submitted and run on this site's store, in the queue {BENCH_QUEUE}, with workers"
        " of its own. Exit codes: 0 measured, 1 not, 2 wrong usage, 130 stopped by a signal."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON document on one line")
        parser.add_argument("--jobs", type=_number(10), default=10_000, metavar="N", help="jobs for a figure (10000)")
        parser.add_argument(
            "--processes", type=_numbers, default=[1, 2], metavar="N,N", help="sizes of the workers that drain (1,2)"
        )
        parser.add_argument(
            "--samples", type=_number(1), default=100, metavar="N", help="jobs for the pick-up latency (100)"
        )

    def handle(self, **options: Any) -> None:
        if isinstance(get_engine().store, MemoryStore):
            raise CommandError("Jobs in memory cannot be seen from another process: set STORE.", returncode=USAGE)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            figures = self._measure(**options)
        except AsyncJobsError as error:
            raise CommandError(safe(str(error)), returncode=FAILED) from error
        except KeyboardInterrupt:
            self.stderr.write("\nStopped. The jobs of the benchmark are removed.")
            sys.exit(STOPPED)
        self._print(figures, jobs=options["jobs"], is_document=options["json"])

    def _measure(self, *, jobs: int, processes: list[int], samples: int, **options: Any) -> list[Figure]:
        shows = not options["json"] and sys.stderr.isatty()
        with Benchmark(report=_bar(sys.stderr) if shows else _silent) as benchmark:
            for name in benchmark.rivals():
                self.stderr.write(safe(f"Worker {name} serves every queue, and takes part."), self.style.WARNING)
            figures = list(_figures(benchmark, jobs, processes, samples))
        if shows:
            sys.stderr.write("\r\033[K")
        return figures

    def _print(self, figures: list[Figure], *, jobs: int, is_document: bool) -> None:
        store = str(get_engine().store)
        if is_document:
            document = {"store": store, "jobs": jobs, "figures": [figure._asdict() for figure in figures]}
            self.stdout.write(as_json(document))
            return
        self.stdout.write(safe(f"{jobs} jobs on {store}"))
        for line in table([_row(figure) for figure in figures]):
            self.stdout.write(line)


def _figures(benchmark: Benchmark, jobs: int, processes: list[int], samples: int) -> Iterator[Figure]:
    yield benchmark.submit_single(max(1, jobs // 10))
    yield from benchmark.submit_many(jobs)
    for number in processes:
        yield benchmark.drain(f"drain, {_children(number)}", jobs, f"--processes={number}")
    yield from benchmark.drain_slow(min(jobs, _MOST_SLOW))
    yield from benchmark.latency(samples)


def _children(number: int) -> str:
    return {1: "one child", 2: "two children"}.get(number, f"{number} children")


def _row(figure: Figure) -> tuple[str, ...]:
    value = f"{figure.value:,.{0 if figure.value >= 100 else 2}f}"
    share = "" if figure.share is None else f"{figure.share:.0%} of the ideal"
    return figure.name, f"{value:>10}", figure.unit, share


def _bar(stream: TextIO) -> Report:
    def show(name: str, done: float) -> None:
        stream.write(f"\r\033[K{name:<32}[{'#' * round(done * _BAR):<{_BAR}}] {done:.0%}")
        stream.flush()

    return show


def _silent(name: str, done: float) -> None:
    """Shows nothing."""


def _number(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) >= least):
            raise ArgumentTypeError(f"{text!a:.40} is no number from {least}")
        return int(text)

    return number


def _numbers(text: str) -> list[int]:
    return [_number(1)(part) for part in text.split(",")]
