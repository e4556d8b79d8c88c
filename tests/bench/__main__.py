"""`make bench`: measures the stores on servers of its own and prints what it found."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from asyncjobs.benchmark import Figure


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs per measurement (default: %(default)s)")
    parser.add_argument("--stores", default="valkey,postgres,sqlite", help="default: %(default)s")
    parser.add_argument("--stored", default="10000", help="sizes at which reads are measured (default: %(default)s)")
    parser.add_argument("--delayed", type=int, default=0, help="delayed jobs to drain beside (default: none)")
    parser.add_argument("--api", action="store_true", help="the HTTP API alone, with a request for every 20 jobs")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with ExitStack() as cleanup:
        for kind in options.stores.split(","):
            for section, figures in _sections(kind, options, cleanup):
                _print(kind, section, figures, as_json=options.json)


def _sections(kind: str, options: argparse.Namespace, cleanup: ExitStack) -> Iterator[tuple[str, Iterable["Figure"]]]:
    from tests.backends import BACKENDS
    from tests.bench import api, reads, running, throughput

    backend = BACKENDS[kind](cleanup)
    store = backend.open()
    if options.api:
        yield "api", api.figures(kind, backend, options.jobs // 20)
        return
    yield "throughput", throughput.figures(store, options.jobs)
    if options.delayed:
        yield "beside delayed jobs", [throughput.beside_delayed(store, options.jobs, options.delayed)]
    backend.clear()
    yield "worker", running.figures(kind, backend, jobs=options.jobs, delayed=options.delayed)
    backend.clear()
    for size in map(int, filter(None, options.stored.split(","))):
        reads.fill(store, size)
        yield f"reads, {size:,} jobs stored", reads.figures(store)


def _print(kind: str, section: str, figures: Iterable["Figure"], *, as_json: bool) -> None:
    if not as_json:
        print(f"\n{kind}: {section}")
    for figure in figures:
        name, value, unit, share = figure
        if as_json:
            print(json.dumps({"store": kind, "section": section} | figure._asdict()))
        else:
            beside = "" if share is None else f"  {share:.2f} ×"
            print(f"  {name:<44}{value:>12,.{0 if value > 100 else 2}f} {unit}{beside}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
