"""`manage.py jobs`: what operators do to jobs and queues."""

import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from asyncjobs.bulk import Tally
from asyncjobs.current import get_engine
from asyncjobs.engine import Engine
from asyncjobs.errors import AsyncJobsError, InvalidJob, InvalidJobId, InvalidQuery
from asyncjobs.management import journals, printing, selecting
from asyncjobs.management.printing import safe
from asyncjobs.stores.base import Page, Query
from asyncjobs.stores.cursor import InvalidCursor

FAILED: Final = 1
USAGE: Final = 2
_MOST_LOOKS: Final = 20  # at a store that has no index for the filters, for one page


class Command(BaseCommand):
    help = "Shows and changes jobs and queues. Exit codes: 0 done, 1 not (all) done or found wrong, 2 wrong usage."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, (explanation, *additions) in _VERBS.items():
            verb = verbs.add_parser(name, help=explanation, description=explanation)
            for add in (*additions, _add_common):
                add(verb)

    def handle(self, *, verb: str, **options: Any) -> None:
        self.engine: Engine = get_engine()
        self.options = options
        try:
            getattr(self, f"_{verb}")()
        except (InvalidJob, InvalidJobId, InvalidQuery, InvalidCursor) as error:
            raise CommandError(safe(str(error)), returncode=USAGE) from error
        except AsyncJobsError as error:
            raise CommandError(safe(str(error)), returncode=FAILED) from error

    def _list(self) -> None:
        paging = {name: self.options[name] for name in ("limit", "after", "oldest_first")}
        page = _full_page(self.engine, replace(self._query(), **paging))
        lines = printing.job_table(page.jobs, self.engine.store.now()) if page.jobs else ["No jobs."]
        self._print({"jobs": [printing.job_document(job) for job in page.jobs], "next": page.next}, lines)
        self._tell_of_more(page.next)

    def _tell_of_more(self, cursor: str) -> None:
        if cursor and not self.options["json"]:
            self.stderr.write(f"There are more: --after {cursor}", self.style.NOTICE)

    def _show(self) -> None:
        job = self.engine.get(self.options["id"])
        store, now = self.engine.store, self.engine.store.now()
        attempts, log = journals.kept(store, job.id, "attempt"), journals.kept(store, job.id, "log")
        journal = {
            "attempts": [journals.attempt_document(entry) for entry in attempts],
            "log": [journals.log_document(entry) for entry in log],
        }
        lines = printing.job_lines(job, now) + journals.journal_lines(attempts, log, now)
        self._print(printing.job_document(job) | journal, lines)

    def _counts(self) -> None:
        queue = self.options["queue"]
        queues = [counts for counts in self.engine.counts() if queue in (None, counts.queue)]
        lines = printing.queue_table(queues, self.engine.store.now()) if queues else ["No queues."]
        self._print({"queues": [printing.queue_document(counts) for counts in queues]}, lines)

    def _cancel(self) -> None:
        reason = self.options["reason"]
        many = partial(self.engine.cancel_all, reason=reason)
        self._act("cancel", partial(self.engine.cancel, reason=reason), many, is_destructive=True)

    def _retry(self) -> None:
        self._act("retry", self.engine.retry, self.engine.retry_all, is_destructive=False)

    def _delete(self) -> None:
        self._act("delete", self.engine.delete, self.engine.delete_all, is_destructive=True)

    def _restore(self) -> None:
        ids = self.options["ids"]
        errors = [error for job_id in ids if (error := _error_of(self.engine.restore, job_id))]
        self._report("restore", Tally(len(ids) - len(errors), 0), errors)

    def _trash(self) -> None:
        page = self.engine.trash(after=self.options["after"], limit=self.options["limit"])
        lines = printing.trash_table(page.resting, self.engine.store.now()) if page.resting else ["The trash is empty."]
        document = {"jobs": [printing.resting_document(resting) for resting in page.resting], "next": page.next}
        self._print(document, lines)
        self._tell_of_more(page.next)

    def _purge(self) -> None:
        queue = self.options["queue"]
        self._confirm(f"This removes every job of queue {queue} that has not started, for good.")
        self._report("purge", Tally(self.engine.purge(queue), 0), [])

    def _pause(self) -> None:
        queue, reason, until = (self.options[name] for name in ("queue", "reason", "until"))
        is_known = any(counts.queue == queue for counts in self.engine.counts())
        pause = self.engine.pause(queue, reason=reason, until=until)
        end = printing.iso(pause.until)
        self._print({"queue": queue, "until": end}, [f"Paused {queue}{f' until {end}' if end else ''}."])
        if not is_known:
            self.stderr.write(f"No queue has been called {queue} before.", self.style.NOTICE)

    def _resume(self) -> None:
        queue = self.options["queue"]
        resumed = self.engine.resume(queue)
        self._print({"queue": queue, "resumed": resumed}, [f"Resumed {queue}." if resumed else "It was not paused."])
        if not resumed:
            sys.exit(FAILED)

    def _check(self) -> None:
        findings = self.engine.check(fix=self.options["fix"])
        lines = [printing.finding_line(finding) for finding in findings] or ["All jobs and indexes agree."]
        self._print({"findings": findings}, lines)
        if not all(finding.fixed for finding in findings):
            sys.exit(FAILED)

    def _act(
        self, verb: str, one: Callable[[str], object], many: Callable[..., Tally], *, is_destructive: bool
    ) -> None:
        """Does it to the jobs named by id, or to all that match."""
        ids = self.options["ids"]
        if bool(ids) == (selecting.has_filters(self.options) or self.options["all"]):
            raise CommandError(f"Say which jobs to {verb}: by their ids, by filters, or --all.", returncode=USAGE)
        if ids:
            errors = [error for job_id in ids if (error := _error_of(one, job_id))]
            self._report(verb, Tally(len(ids) - len(errors), 0), errors)
            return
        if is_destructive:
            self._confirm(f"This will {verb} every job that matches.")
        self._report(verb, many(self._query(), limit=self.options["limit"]), [])

    def _confirm(self, consequence: str) -> None:
        if self.options["yes"]:
            return
        if not sys.stdin.isatty():
            raise CommandError(f"{safe(consequence)} Confirm with --yes.", returncode=USAGE)
        self.stderr.write(f"{safe(consequence)} Go on? [y/N] ", ending="")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was done.", returncode=FAILED)

    def _report(self, verb: str, tally: Tally, errors: list[AsyncJobsError]) -> None:
        jobs = "1 job" if tally.done == 1 else f"{tally.done} jobs"
        skipped = f"; {tally.skipped} had moved on" if tally.skipped else ""
        failures = [{"id": error.job_id, "code": error.code, "message": error.message} for error in errors]
        document = {"verb": verb, "done": tally.done, "skipped": tally.skipped, "errors": failures}
        self._print(document, [f"{verb}: {jobs}{skipped}"])
        for error in errors:
            self.stderr.write(safe(str(error)), self.style.ERROR)
        if errors or (verb != "purge" and not tally.done):
            sys.exit(FAILED)

    def _query(self) -> Query:
        return selecting.query_of(self.options, now=self.engine.store.now())

    def _print(self, document: object, lines: list[str]) -> None:
        for line in [printing.as_json(document)] if self.options["json"] else lines:
            self.stdout.write(line)


def _full_page(engine: Engine, query: Query) -> Page:
    """As many jobs as asked for, if so many are found in a few looks."""
    page = engine.find(query)
    jobs = page.jobs
    for _ in range(_MOST_LOOKS):
        if not page.next or len(jobs) >= query.limit:
            break
        page = engine.find(replace(query, after=page.next, limit=query.limit - len(jobs)))
        jobs = [*jobs, *page.jobs]
    return Page(jobs, page.next)


def _error_of(act: Callable[[str], object], job_id: str) -> AsyncJobsError | None:
    try:
        act(job_id)
    except AsyncJobsError as error:
        error.job_id = error.job_id or job_id
        return error
    return None


def _add_common(parser: ArgumentParser) -> None:
    """Django's own options work behind the verb too; there they must not bring their defaults."""
    parser.add_argument("--json", action="store_true", help="one JSON document on one line")
    for option in ("--settings", "--pythonpath"):
        parser.add_argument(option, default=SUPPRESS, help=SUPPRESS)
    for option in ("--traceback", "--no-color", "--force-color", "--skip-checks"):
        parser.add_argument(option, action="store_true", default=SUPPRESS, help=SUPPRESS)
    parser.add_argument("-v", "--verbosity", type=int, default=SUPPRESS, help=SUPPRESS)


def _add_page(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=selecting.page_size, default=50, metavar="N", help="at most so many (50)")
    parser.add_argument("--after", default="", metavar="CURSOR", help="go on where the page before ended")


def _add_order(parser: ArgumentParser) -> None:
    parser.add_argument("--oldest-first", action="store_true", help="from the other end")


def _add_selection(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="ids of jobs, instead of filters")
    selecting.add_filters(parser)
    parser.add_argument("--all", action="store_true", help="every job there is")
    parser.add_argument("--limit", type=selecting.most, metavar="N", help="at most so many")


def _add_ids(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="ids of jobs")


def _add_id(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of the job")


def _add_queue(parser: ArgumentParser) -> None:
    parser.add_argument("queue", metavar="QUEUE", help="the name of the queue")


def _add_queue_filter(parser: ArgumentParser) -> None:
    parser.add_argument("--queue", help="this queue alone")


def _add_reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", default="", help="why, for whoever looks at it later")


def _add_until(parser: ArgumentParser) -> None:
    parser.add_argument("--until", type=selecting.moment, metavar="TIME", help="an ISO 8601 time, or how long: 15m, 2h")


def _add_yes(parser: ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_fix(parser: ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="heal what is found")


_VERBS: Final[dict[str, tuple[Any, ...]]] = {
    "list": ("Lists jobs, newest first.", selecting.add_filters, _add_page, _add_order),
    "show": ("Shows all of one job.", _add_id),
    "counts": ("Counts the jobs of each queue by status.", _add_queue_filter),
    "cancel": ("Cancels jobs; running ones are asked to stop.", _add_selection, _add_reason, _add_yes),
    "retry": ("Queues jobs again: failed ones, or those with the --status given.", _add_selection),
    "delete": ("Removes jobs that are not running; they rest in the trash first.", _add_selection, _add_yes),
    "restore": ("Puts jobs back from the trash.", _add_ids),
    "trash": ("Lists the trash, what was deleted last first.", _add_page),
    "purge": ("Removes the jobs of a queue that have not started, for good.", _add_queue, _add_yes),
    "pause": ("Stops workers from taking jobs of a queue.", _add_queue, _add_reason, _add_until),
    "resume": ("Ends the pause of a queue.", _add_queue),
    "check": ("Compares every job with every index.", _add_fix),
}
