"""`manage.py runjobworker`: runs jobs until it is told to stop."""

import logging
import os
import socket
import sys
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import get_resolver

from asyncjobs import logs, rules
from asyncjobs.conf import STORES, Conf, get_conf
from asyncjobs.current import get_engine
from asyncjobs.embedded import embedded_valkey
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError, InvalidJob
from asyncjobs.registry import handlers, is_internal
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.version import own_version
from asyncjobs.worker.liveness import complaints
from asyncjobs.worker.options import EVERY_QUEUE, WorkerOptions
from asyncjobs.worker.reload import Sources
from asyncjobs.worker.supervisor import Supervisor

NOT_ALIVE: Final = 1
USAGE: Final = 2
_LOOPBACK: Final = "127.0.0.1"  # where the server of --dev-redis listens
_THIS_MACHINE: Final = frozenset({_LOOPBACK, "localhost"})
_NAMED: Final = 8  # handlers named in the banner
_NO_HANDLERS: Final = 'none: nothing will run. They are found in the module "jobs" of each of INSTALLED_APPS'
_PATTERN_CHARACTERS: Final = str.maketrans("", "", "*?[]!")


class Command(BaseCommand):
    help = (
        "Runs jobs until it is told to stop. SIGTERM or Ctrl-C lets what runs finish, a second one hands it back."
        " Exit codes: 0 ended as asked, 1 --check found no live worker, 2 wrong usage."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_queues(parser)
        _add_sizes(parser)
        _add_ends(parser)
        _add_surroundings(parser)

    def handle(self, **options: Any) -> None:
        if options["check"]:
            return self._check(options["name"])
        logs.set_up(as_json=options["json_logs"])
        _import_views()
        chosen = _worker_options(options)
        with _engine(dev_redis=options["dev_redis"]) as engine:
            if isinstance(engine.store, MemoryStore):
                raise CommandError("Jobs in memory cannot be seen from another process: set STORE.", returncode=USAGE)
            self._greet(engine, chosen, as_log=options["json_logs"])
            is_watching = settings.DEBUG if options["reload"] is None else options["reload"]
            sources = Sources() if is_watching and not chosen.burst else None
            supervisor = Supervisor(
                engine, chosen, version=own_version(), is_stale=sources.have_changed if sources else None
            )
            must_reload = supervisor.run()
        if must_reload:
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])

    def _check(self, name: str | None) -> None:
        try:
            found = complaints(get_engine(), name=name)
        except AsyncJobsError as error:
            found = [str(error)]
        for complaint in found:
            self.stderr.write(complaint, self.style.ERROR)
        if found:
            sys.exit(NOT_ALIVE)
        self.stdout.write("Alive.")

    def _greet(self, engine: Engine, options: WorkerOptions, *, as_log: bool) -> None:
        lines = list(_banner(engine, options))
        if as_log:
            logging.getLogger("asyncjobs.worker").info("; ".join(lines))
            return
        for line in lines:
            self.stdout.write(line)


def _import_views() -> None:
    """Some may be asynchronous endpoints, whose jobs are run here. A check has imported them before, if it was run."""
    if getattr(settings, "ROOT_URLCONF", None):
        get_resolver().url_patterns  # noqa: B018 - looking is what imports


def _banner(engine: Engine, options: WorkerOptions) -> Iterator[str]:
    names = [handler.name for handler in handlers() if not is_internal(handler)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    without = f", but {', '.join(options.exclude)}" if options.exclude else ""
    yield f"asyncjobs {own_version()} · {options.name}"
    yield f"  store     {engine.store}"
    yield f"  queues    {', '.join(options.queues)}{without}"
    yield f"  handlers  {', '.join(names[:_NAMED]) or _NO_HANDLERS}{more}"
    yield f"  children  {options.processes}, each {options.threads} threads and {options.async_concurrency} coroutines"
    yield f"  lease     {options.lease / 1000:g} s; grace {options.grace / 1000:g} s"


@contextmanager
def _engine(*, dev_redis: bool) -> Iterator[Engine]:
    """The engine of the settings; for `dev_redis`, with a server if nothing listens where they look for one."""
    with ExitStack() as stack:
        if dev_redis:
            _provide_server(stack, _port_of(get_conf()))
        yield get_engine()


def _provide_server(stack: ExitStack, port: int) -> None:
    try:
        if not _is_taken(port):
            stack.enter_context(embedded_valkey(_home_of_server(port), port=port))
        get_engine().store.now()
    except AsyncJobsError as error:
        raise CommandError(f"No server for --dev-redis on port {port}: {error.message}") from error


def _home_of_server(port: int) -> Path:
    """Where its jobs are kept, so that they are there again when the worker has started again with new code."""
    home = Path(tempfile.gettempdir()) / f"asyncjobs-dev-{os.getuid()}-{port}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.stat().st_uid != os.getuid():
        raise CommandError(f"{home} belongs to somebody else.")
    return home


def _is_taken(port: int) -> bool:
    """Whether anything listens there: another worker's server, perhaps."""
    with socket.socket() as probe:
        return probe.connect_ex((_LOOPBACK, port)) == 0


def _port_of(conf: Conf) -> int:
    """Where the settings look for the server: on this machine, or it is none to be started."""
    at = urlsplit(str(conf.options.get("URL", "")))
    if conf.store != STORES["redis"] or at.scheme != "redis" or at.hostname not in _THIS_MACHINE or at.password:
        raise CommandError(
            'For --dev-redis, set ASYNCJOBS = {"STORE": "redis", "OPTIONS": {"URL": "redis://127.0.0.1:6379/0"}}.',
            returncode=USAGE,
        )
    return at.port or 6379


def _worker_options(options: dict[str, Any]) -> WorkerOptions:
    conf = get_conf()
    return WorkerOptions(
        queues=options["queues"],
        exclude=options["exclude"],
        processes=options["processes"],
        threads=options["threads"],
        async_concurrency=options["async_concurrency"],
        burst=options["burst"],
        max_jobs=options["max_jobs"],
        max_memory=options["max_memory"],
        lease=options["lease"] or conf.lease,
        grace=options["grace"],
        kill_on_cancel=options["kill_on_cancel"],
        is_housekeeping=options["scheduler"],
        check_every=conf.check_every,
        name=options["name"] or f"{socket.gethostname()}-{os.getpid()}",
    )


def _add_queues(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("which jobs")
    group.add_argument(
        "--queues",
        type=_patterns,
        default=(EVERY_QUEUE,),
        metavar="Q,Q",
        help="queues in order of urgency; * and ? stand for names; all by default",
    )
    group.add_argument("--exclude", type=_patterns, default=(), metavar="Q,Q", help="but not these")


def _add_sizes(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("how many at once")
    group.add_argument(
        "--processes", type=_count, default=os.cpu_count() or 1, metavar="N", help="children; one a core by default"
    )
    group.add_argument("--threads", type=_count, default=1, metavar="N", help="for sync handlers, in each child (1)")
    group.add_argument(
        "--async-concurrency", type=_count, default=100, metavar="N", help="async handlers at once, in each child (100)"
    )


def _add_ends(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("when to end")
    group.add_argument("--burst", action="store_true", help="end when nothing is ready any more")
    group.add_argument("--max-jobs", type=_count, metavar="N", help="replace a child after so many jobs")
    group.add_argument("--max-memory", type=_megabytes, metavar="MB", help="replace a child that takes more")
    group.add_argument(
        "--grace", type=_seconds, default=20_000, metavar="S", help="what runs may take at the end, in seconds (20)"
    )
    group.add_argument(
        "--kill-on-cancel", type=_seconds, metavar="S", help="kill the child of a canceled job that runs on for so long"
    )
    group.add_argument("--lease", type=_lease, metavar="S", help="how long a silent worker keeps its jobs (LEASE)")


def _add_surroundings(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("surroundings")
    group.add_argument("--name", type=_name, help="what to call this worker; host and process id by default")
    group.add_argument("--reload", action=BooleanOptionalAction, help="start again when code changes; on under DEBUG")
    group.add_argument(
        "--no-scheduler", dest="scheduler", action="store_false", help="leave rescue and repair to other workers"
    )
    group.add_argument("--json-logs", action="store_true", help="one JSON object a line on standard error")
    group.add_argument("--check", action="store_true", help="only say whether the workers of this machine take jobs")
    group.add_argument(
        "--dev-redis",
        action="store_true",
        help="start a Valkey server where the settings look for one, unless one is there",
    )


def _patterns(text: str) -> tuple[str, ...]:
    patterns = tuple(part for part in (part.strip() for part in text.split(",")) if part)
    for pattern in patterns:
        _refuse_bad(pattern)
    if not patterns:
        raise ArgumentTypeError("name at least one queue")
    return patterns


def _refuse_bad(pattern: str) -> None:
    name = pattern.translate(_PATTERN_CHARACTERS)
    try:
        rules.queue_name(name or "all")
    except InvalidJob as error:
        raise ArgumentTypeError(error.message) from None


def _name(text: str) -> str:
    try:
        return rules.reason(text) or _no("name")
    except InvalidJob as error:
        raise ArgumentTypeError(error.message) from None


def _no(what: str) -> Any:
    raise ArgumentTypeError(f"the {what} is empty")


def _number(least: float, most: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ArgumentTypeError(f"{text!a:.40} is no number from {least:g} to {most:g}")
        return value

    return number


def _count(text: str) -> int:
    value = _number(1, 1_000_000)(text)
    if value != int(value):
        raise ArgumentTypeError(f"{text!a:.40} is no whole number")
    return int(value)


def _seconds(text: str) -> int:
    return round(_number(0, 86_400)(text) * 1000)


def _lease(text: str) -> int:
    return round(_number(1, 86_400)(text) * 1000)


def _megabytes(text: str) -> int:
    return round(_number(1, 1_000_000)(text) * 1024 * 1024)
