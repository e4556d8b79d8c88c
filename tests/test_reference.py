"""The reference pages are complete, and say what the code says."""

import re
from argparse import SUPPRESS, _SubParsersAction
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from pkgutil import walk_packages
from types import ModuleType

import pytest
from django.core.management.base import BaseCommand
from django.dispatch import Signal

import asyncjobs
from asyncjobs import checks, conf, outcome, reading, signals
from asyncjobs.api import problems
from asyncjobs.conf import READERS, Conf
from asyncjobs.conf_dashboard import DashboardConf
from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobStatus
from asyncjobs.errors import AsyncJobsError
from asyncjobs.management.commands import benchjobs, demo, runjobworker
from asyncjobs.management.commands.jobs import Command
from asyncjobs.options import HandlerOptions, Options, SubmitOptions
from asyncjobs.reading import DAY_MS
from asyncjobs.stores.redis import RedisStore
from asyncjobs.worker.context import JobContext
from tests.test_docs import DOCS, table
from tests.worker.test_benchjobs import FIGURES

OWN_OPTIONS = {"name", "aliases", "atomic", "api", "serializer", "can_submit"}
EVERYWHERE = {"--help", "--json"}


def every_error(of: type[AsyncJobsError] = AsyncJobsError) -> Iterator[type[AsyncJobsError]]:
    """With all subclasses, in whatever module of the package they are."""
    for module in walk_packages(asyncjobs.__path__, "asyncjobs."):
        import_module(module.name)
    yield of
    for subclass in of.__subclasses__():
        if subclass.__module__.startswith("asyncjobs."):
            yield from every_error(subclass)


def help_of_verbs() -> dict[str, str]:
    """What `manage.py jobs VERB --help` says."""
    parser = Command().create_parser("manage.py", "jobs")
    (verbs,) = (action for action in parser._actions if isinstance(action, _SubParsersAction))
    return {name: verb.format_help() for name, verb in verbs.choices.items()}


def options_of(command: BaseCommand) -> set[str]:
    """Those that `--help` shows."""
    parser = command.create_parser("manage.py", "command")
    return {option for action in parser._actions if action.help != SUPPRESS for option in action.option_strings}


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def first_column(page: str, head: str) -> list[str]:
    return [row[0] for row in table(page, head)[1:]]


def test_every_error_is_documented_under_its_code() -> None:
    said = {row[0]: row[1] for row in table("reference/errors.md", "code")[1:]}
    assert said == {error.code: error.__name__ for error in every_error()}


def test_every_problem_of_the_api_is_documented_with_its_status() -> None:
    said = {row[0]: int(row[1]) for row in table("reference/http-api.md", "problem")[1:]}
    assert said == {code: kind.status for code, kind in problems.KINDS.items()}


def test_every_code_is_given_once() -> None:
    codes = [error.code for error in every_error()]
    assert len(codes) == len(set(codes))


def test_the_codes_that_only_jobs_have_are_documented() -> None:
    written = set(re.findall(r'code="([A-Z_]+)"', getsource(transitions)))
    assert set(first_column("reference/errors.md", "stored code")) == {outcome.HANDLER_ERROR, *written}


def test_every_setting_is_documented_with_its_default() -> None:
    said = {row[0]: row[1] for row in table("reference/settings.md", "setting")[1:]}
    days = ", ".join(str((age or 0) // DAY_MS) for age in Conf().retention.values())
    assert said == {
        "STORE": '"orm"',
        "OPTIONS": str(Conf().options),
        "DATABASE": f'"{Conf().database}"',
        "QUEUES": str(Conf().queues),
        "RETENTION": f"{days} days",
        "TRASH": f"{Conf().trash // 3_600_000} hours",
        "MAX_PAYLOAD": str(Conf().max_payload),
        "MAX_RESULT": str(Conf().max_result),
        "LEASE": f"{Conf().lease // 1000} seconds",
        "CHECK_EVERY": f"{(Conf().check_every or 0) // 60_000} minutes",
        "API": "{}",
        "DASHBOARD": "{}",
    }
    assert said.keys() == READERS.keys()
    assert conf.STORES["orm"] == Conf().store


def test_every_option_of_the_dashboard_is_documented_with_its_default() -> None:
    said = {row[0]: row[1] for row in table("reference/settings.md", "option of the dashboard")[1:]}
    assert said == {"QUEUE": f'"{DashboardConf().queue}"', "HOLD": f"{DashboardConf().hold // 1000} seconds"}


def test_every_option_of_the_api_is_documented_with_its_default() -> None:
    api = Conf().api
    assert {row[0]: row[1].replace("`", "") for row in table("reference/settings.md", "option of the API")[1:]} == {
        "AUTHENTICATION": str(api.authentication),
        "HEADERS": ", ".join(api.headers),
        "MAX_BODY": str(api.max_body),
        "LONGEST_WAIT": f"{api.longest_wait // 1000} seconds",
        "MOST_WAITING": str(api.most_waiting),
        "MOST_STREAMS": str(api.most_streams),
        "IDEMPOTENCY": f"{api.idempotency // 3_600_000} hours",
        "WEBHOOKS": "{}",
    }
    assert {row[0]: row[1] for row in table("reference/settings.md", "option of webhooks")[1:]} == {
        "HOSTS": str(api.webhooks.hosts),
        "SECRETS": str(api.webhooks.secrets),
        "QUEUE": f'"{api.webhooks.queue}"',
        "TIMEOUT": f"{api.webhooks.timeout // 1000} seconds",
    }


def test_every_option_of_the_redis_store_is_documented() -> None:
    assert set(first_column("reference/settings.md", "option")) == RedisStore.OPTIONS


def test_every_system_check_is_documented() -> None:
    codes = re.findall(r'"(?:asyncjobs\.)?([EW]\d{3})"', getsource(checks) + getsource(conf) + getsource(reading))
    assert first_column("reference/settings.md", "id") == sorted({f"asyncjobs.{code}" for code in codes})


def test_every_option_of_a_handler_is_documented_with_its_default() -> None:
    rows = table("how-to/handlers.md", "option")[1:]
    assert {row[0] for row in rows} == HandlerOptions.__annotations__.keys() | OWN_OPTIONS
    said = {row[0]: row[1] for row in rows}
    defaults = Options()
    assert said["queue"] == f'"{defaults.queue}"'
    assert (said["priority"], said["max_retries"]) == (str(defaults.priority), str(defaults.max_retries))


def test_every_option_of_a_submission_is_documented() -> None:
    own = SubmitOptions.__annotations__.keys() - HandlerOptions.__annotations__.keys()
    assert set(first_column("how-to/submission.md", "option")) == own


def test_every_verb_is_documented() -> None:
    assert first_column("reference/commands.md", "verb") == list(help_of_verbs())


@pytest.mark.parametrize(("verb", "takes"), [row[:2] for row in table("reference/commands.md", "verb")[1:]])
def test_every_option_of_a_verb_is_documented(verb: str, takes: str) -> None:
    filters = set(first_column("reference/commands.md", "option"))
    said = options_in(takes) | (filters if "filters" in takes else set())
    assert said == options_in(help_of_verbs()[verb]) - EVERYWHERE


def test_every_status_is_named_as_the_filter_takes_it() -> None:
    [row] = (row for row in table("reference/commands.md", "option") if row[0] == "--status")
    assert row[1] == f"in this status: {', '.join(status.name.lower() for status in JobStatus)}"


def test_every_document_is_described() -> None:
    described = ", ".join(first_column("reference/commands.md", "document of")).split(", ")
    assert set(described) == help_of_verbs().keys()


def test_every_retry_policy_is_documented() -> None:
    from asyncjobs import retry

    made = {re.sub(r"^retry\.|\(.*$", "", name) for name in first_column("how-to/handlers.md", "policy")}
    public = {name for name, value in vars(retry).items() if getattr(value, "__module__", "") == retry.__name__}
    assert made == {name for name in public if not name.startswith("_")} - {"RetryPolicy"}


def test_every_figure_of_the_benchmark_is_documented() -> None:
    assert first_column("reference/commands.md", "figure") == FIGURES


@pytest.mark.parametrize("command", [benchjobs, demo, runjobworker])
def test_every_option_of_a_command_is_documented(command: ModuleType) -> None:
    name = command.__name__.rpartition(".")[2]
    section = (DOCS / "reference/commands.md").read_text().partition(f"## `manage.py {name}`")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `(--[a-z-]+)` \|", section, re.MULTILINE))
    assert documented == options_of(command.Command()) - options_of(BaseCommand())


def test_every_signal_is_documented() -> None:
    assert first_column("reference/signals.md", "signal") == [
        name for name, value in vars(signals).items() if isinstance(value, Signal)
    ]


def test_the_context_of_a_run_is_documented() -> None:
    said = set(re.findall(r"(\w+)(?:\(|,|$)", ", ".join(first_column("how-to/handlers.md", "of the context"))))
    own = {name for name in vars(JobContext) if not name.startswith("_")} | {"job"}
    assert own - said == {"is_canceled", "noted_on", "reason", "take_lines"}  # for the worker
