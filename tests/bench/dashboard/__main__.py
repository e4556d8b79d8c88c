"""`make bench-dashboard`: how long the pages of the dashboard take with a million jobs, on servers of its own."""

import argparse
import os
import sys
import time
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from tests.backends import Backend, OrmBackend
    from tests.bench.dashboard.stock import Stock
    from tests.bench.dashboard.trial import Finding


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-dashboard", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="jobs stored (default: %(default)s)")
    parser.add_argument("--stores", default="valkey,postgres", help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=60, help="requests of each sort (default: %(default)s)")
    parser.add_argument("--only", default="", help="the pages with this in their name alone")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--strict", action="store_true", help="fail when something is slower or larger than it may be")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with ExitStack() as cleanup:
        cleanup.enter_context(_production())
        outcomes = [_measure(kind, options, cleanup) for kind in options.stores.split(",")]
        outcomes.append(_weigh(options))
    if options.strict and not all(outcomes):
        sys.exit("something is slower or larger than it may be")


def _production() -> AbstractContextManager[Any]:
    from django.test import override_settings

    return override_settings(DEBUG=False)


def _measure(kind: str, options: argparse.Namespace, cleanup: ExitStack) -> bool:
    """The retry comes last: there are no dead jobs after it."""
    from asyncjobs.current import get_engine
    from tests.bench.dashboard import bulk, tables

    found = _findings(kind, options, cleanup)
    tables.of_findings(kind, found, as_json=options.json)
    done = bulk.retry_of_all_dead(get_engine())
    tables.of_bulk(kind, done, as_json=options.json)
    return not (done.is_over or any(finding.is_over for finding in found))


def _weigh(options: argparse.Namespace) -> bool:
    from tests.bench.dashboard import assets, tables

    found = assets.assets()
    tables.of_assets(found, as_json=options.json)
    return found[-1].bytes <= assets.LIMIT


def _findings(kind: str, options: argparse.Namespace, cleanup: ExitStack) -> list["Finding"]:
    from asyncjobs.conf import get_conf
    from asyncjobs.current import exchange_engine
    from asyncjobs.engine import Engine
    from tests.backends import BACKENDS, OrmBackend, RedisBackend
    from tests.bench.dashboard.trial import Trips, findings
    from tests.bench.dashboard.visits import visits

    backend = BACKENDS[kind](cleanup)
    users = backend if isinstance(backend, OrmBackend) else BACKENDS["sqlite"](cleanup)
    assert isinstance(users, OrmBackend)
    stock = _fill(backend, options.jobs)
    if isinstance(backend, OrmBackend):
        _analyze(backend)
    trips = Trips()
    if isinstance(backend, RedisBackend):
        trips.watch(backend.client)
    store = backend.open()
    exchange_engine(Engine(store, get_conf()))
    wanted = [visit for visit in visits(store, stock) if options.only in visit.name]
    return findings(users.alias, trips, wanted, options.turns)


def _fill(backend: "Backend", jobs: int) -> "Stock":
    from tests.bench.dashboard.stock import Stock
    from tests.clock import Clock

    start, clock = time.monotonic(), Clock(backend.open().now())
    stock = Stock(backend.open(clock=clock), clock)
    stock.fill(jobs)
    print(f"{jobs:,} jobs stored in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return stock


def _analyze(backend: "OrmBackend") -> None:
    """What autovacuum does within a minute or so of such a load."""
    from django.db import connections

    with connections[backend.alias].cursor() as cursor:
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    main()
