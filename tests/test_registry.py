"""Handlers: declared once, found by name, called plainly, submitted with their own arguments."""

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from asyncjobs import Engine, JobStatus, RetryPolicy, Unique, job, retry
from asyncjobs.errors import DuplicateHandler, InvalidArguments, InvalidJob, PayloadTooLarge, UnknownHandler
from asyncjobs.registry import DEFAULT_RETRY, handlers, lookup
from asyncjobs.stores.base import Query
from asyncjobs.testing import memory_jobs, submitted


@job
def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b


@job
async def double(a: int) -> int:
    return 2 * a


@job(
    name="tests.everything",
    queue="mail",
    priority=50,
    max_retries=5,
    retry=retry.fixed(3),
    timeout=timedelta(seconds=90),
    unique="{a}",
    tags=["x", "y", "x"],
    aliases=["tests.once", "tests.before"],
)
def everything(a: int) -> None: ...


@pytest.fixture
def engine() -> Iterator[Engine]:
    with memory_jobs() as engine:
        yield engine


def test_a_handler_is_the_function_it_was() -> None:
    assert add(1) == 3
    assert add(1, b=1) == 2
    assert asyncio.run(double(4)) == 8
    assert add.__doc__ == "Adds."
    assert (add.is_async, double.is_async) == (False, True)


def test_a_handler_is_named_after_its_function() -> None:
    assert add.name == "tests.test_registry.add"
    assert lookup("tests.test_registry.add") is add
    assert repr(add) == "<Handler tests.test_registry.add>"


def test_a_renamed_handler_is_found_by_its_old_names() -> None:
    assert lookup("tests.everything") is lookup("tests.once") is lookup("tests.before") is everything
    assert handlers().count(everything) == 1


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(UnknownHandler, match=r"'tests.everythin'; did you mean 'tests.everything'"):
        lookup("tests.everythin")
    with pytest.raises(UnknownHandler, match=r"'qqqqqq'$"):
        lookup("qqqqqq")


@pytest.mark.parametrize("names", [{"name": "tests.everything"}, {"name": "z", "aliases": ["tests.once"]}])
def test_a_name_is_given_once(names: dict[str, Any]) -> None:
    with pytest.raises(DuplicateHandler, match=r"tests.test_registry.everything is already"):
        job(**names)(lambda: None)
    with pytest.raises(UnknownHandler):
        lookup("z")


def test_a_module_may_be_imported_again() -> None:
    import project.jobs

    importlib.reload(project.jobs)
    assert lookup("project.jobs.greet") is project.jobs.greet


def test_the_jobs_modules_of_apps_are_found() -> None:
    code = "import django; django.setup(); from asyncjobs.registry import lookup; lookup('project.jobs.greet')"
    environment = {"DJANGO_SETTINGS_MODULE": "project.settings", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


def test_the_package_can_be_imported_before_django_is_set_up() -> None:
    code = "import asyncjobs; dir(asyncjobs)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_every_public_name_is_there() -> None:
    import asyncjobs

    assert all(getattr(asyncjobs, name) is not None for name in asyncjobs.__all__)
    assert set(asyncjobs.__all__) <= set(dir(asyncjobs))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(asyncjobs, "non" + "sense")


def test_submitting_stores_a_job(engine: Engine) -> None:
    stored = add.submit(1, b=5)
    assert engine.get(stored.id) == stored
    assert (stored.name, stored.queue, stored.status) == (add.name, "default", JobStatus.QUEUED)
    assert stored.payload == '{"args":[1],"kwargs":{"b":5}}'
    assert stored.created_at == stored.updated_at > 0
    assert (stored.retry, stored.timeout_ms, stored.tags) == (None, None, ())


def test_options_of_the_handler_become_the_jobs(engine: Engine) -> None:
    stored = everything.submit(1)
    assert (stored.queue, stored.priority, stored.max_retries) == ("mail", 50, 5)
    assert (stored.timeout_ms, stored.tags) == (90_000, ("x", "y"))
    assert (stored.unique_key, stored.unique_while) == ("tests.everything:1", "running")


def test_the_policy_stays_with_the_handler(engine: Engine) -> None:
    assert (everything.retry, add.retry) == (retry.fixed(3), DEFAULT_RETRY)
    assert everything.submit(1).retry is None


def test_using_changes_options_for_one_submission(engine: Engine) -> None:
    policy = RetryPolicy(kind="none", delays=())
    stored = everything.using(
        queue="slow", priority=-1, max_retries=0, retry=policy, timeout=None, unique=None, tags=(), owner="ada"
    ).submit(1)
    assert (stored.queue, stored.priority, stored.max_retries, stored.retry) == ("slow", -1, 0, policy)
    assert (stored.timeout_ms, stored.unique_key, stored.tags, stored.owner) == (None, None, (), "ada")
    assert everything.submit(1).queue == "mail"


def test_a_soft_timeout_is_shorter_than_the_hard_one(engine: Engine) -> None:
    stored = everything.using(soft_timeout=timedelta(seconds=89)).submit(1)
    assert (stored.timeout_ms, stored.soft_timeout_ms) == (90_000, 89_000)
    assert add.using(soft_timeout=10**6).submit(1).soft_timeout_ms == 10**9
    for timeout, soft_timeout in ((5, 5), (5, 6)):
        with pytest.raises(InvalidJob, match="a soft timeout is shorter"):
            add.using(timeout=timeout, soft_timeout=soft_timeout)
    with pytest.raises(InvalidJob, match="a soft timeout is shorter"):
        everything.using(soft_timeout=90)


def test_using_can_be_used_again(engine: Engine) -> None:
    slow = add.using(queue="slow").using(priority=7)
    assert {(job.queue, job.priority) for job in (slow.submit(1), slow.submit(2))} == {("slow", 7)}


def test_a_delay_makes_a_scheduled_job(engine: Engine) -> None:
    for stored in (add.submit_in(60, 1), add.submit_in(timedelta(minutes=1), 1), add.using(delay=60).submit(1)):
        assert (stored.status, stored.due_at) == (JobStatus.SCHEDULED, stored.created_at + 60_000)


def test_a_time_makes_a_scheduled_job(engine: Engine) -> None:
    moment = datetime(2199, 1, 1, tzinfo=UTC)
    for stored in (add.submit_at(moment, 1), add.using(run_at=moment).submit(1)):
        assert (stored.status, stored.due_at) == (JobStatus.SCHEDULED, 7_226_582_400_000)


def test_a_time_that_is_over_means_now(engine: Engine) -> None:
    for stored in (add.submit_at(datetime(2020, 1, 1, tzinfo=UTC), 1), add.submit_in(0, 1)):
        assert (stored.status, stored.due_at) == (JobStatus.QUEUED, None)


def test_a_naive_time_is_refused_where_time_zones_are_used(engine: Engine) -> None:
    with pytest.raises(InvalidJob, match="has no time zone"):
        add.submit_at(datetime(2199, 1, 1), 1)
    with override_settings(USE_TZ=False, TIME_ZONE="UTC"):
        assert add.submit_at(datetime(2199, 1, 1), 1).due_at == 7_226_582_400_000


def test_many_are_submitted_in_the_order_given(engine: Engine) -> None:
    jobs = add.submit_many(add.call(number, b=1) for number in range(2_500))
    assert len({job.id for job in jobs}) == 2_500
    assert [job.payload for job in jobs[:2]] == ['{"args":[0],"kwargs":{"b":1}}', '{"args":[1],"kwargs":{"b":1}}']
    assert engine.counts()[0].by_status == {JobStatus.QUEUED: 2_500}
    assert add.submit_many([]) == []


def test_one_bad_call_of_many_stores_none(engine: Engine) -> None:
    bad: Any = {1, 2}
    with pytest.raises(InvalidArguments, match=r"tests.test_registry.add: argument b is a set"):
        add.submit_many([*(add.call(number) for number in range(2_000)), add.call(1, bad)])
    assert submitted() == []


def test_async_fronts_do_the_same(engine: Engine) -> None:
    async def submit() -> list[JobStatus]:
        moment = datetime(2199, 1, 1, tzinfo=UTC)
        jobs = [await double.asubmit(1), await double.asubmit_in(5, 1), await double.asubmit_at(moment, a=1)]
        jobs += await double.asubmit_many([double.call(1)])
        return [job.status for job in jobs]

    queued, scheduled = JobStatus.QUEUED, JobStatus.SCHEDULED
    assert asyncio.run(submit()) == [queued, scheduled, scheduled, queued]


def test_arguments_are_checked_at_submission(engine: Engine) -> None:
    untyped: Any = add
    wrong: list[tuple[tuple[int, ...], dict[str, int]]] = [((), {}), ((1, 2, 3), {}), ((1,), {"c": 1})]
    for args, kwargs in wrong:
        with pytest.raises(InvalidArguments, match=r"tests.test_registry.add: "):
            untyped.submit(*args, **kwargs)
    assert submitted() == []


@override_settings(ASYNCJOBS={"STORE": "memory", "MAX_PAYLOAD": 100})
def test_a_large_payload_is_refused() -> None:
    with memory_jobs() as engine:
        with pytest.raises(PayloadTooLarge):
            double.submit("x" * 100)  # type: ignore[arg-type]
        assert engine.find(Query()).jobs == []


@pytest.mark.parametrize(
    "option",
    [{"queue": name} for name in ("", "a b", "a:b", "a{b}", "a*", "q" * 65, "a/b", "a\n", 7, None)]
    + [{"priority": value} for value in (-101, 101, 1.5, True, "1")]
    + [{"max_retries": value} for value in (-1, 1_001, 0.5, None)]
    + [{"timeout": value} for value in (0, -1, float("nan"), float("inf"), 10**9, "1", True, timedelta(0))]
    + [{"soft_timeout": value} for value in (0, 10**9, "1")]
    + [{"tags": value} for value in ("abc", [""], ["x" * 65], [1], [str(n) for n in range(21)], ["a\0"], ["\ud800"])]
    + [{"retry": 5}, {"unique": Unique(key="x" * 200)}]
    + [{"delay": value} for value in (-1, float("inf"), 1e300, "1", datetime(2026, 1, 1, tzinfo=UTC))]
    + [{"run_at": 5}, {"run_at": datetime(2199, 1, 1)}]
    + [{"owner": value} for value in ("", "x" * 201, "a\x1b", 5)]
    + [{"delay": 1, "run_at": datetime(2199, 1, 1, tzinfo=UTC)}],
    ids=lambda option: ascii(option)[:60],
)
def test_bad_options_are_refused(engine: Engine, option: dict[str, Any]) -> None:
    with pytest.raises(InvalidJob):
        add.using(**option).submit(1)
    assert submitted() == []


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\u202eb", 5], ids=ascii)
def test_bad_names_are_refused(name: Any) -> None:
    with pytest.raises(InvalidJob):
        job(name=name)(lambda: None)
    with pytest.raises(InvalidJob):
        job(name="fine", aliases=[name])


def test_queue_names_may_hold_every_letter(engine: Engine) -> None:
    assert add.using(queue="Größe-1.2_3@a+b").submit(1).queue == "Größe-1.2_3@a+b"


def test_an_unknown_option_is_a_mistake_of_the_caller() -> None:
    untyped: Any = add
    with pytest.raises(TypeError, match="unknown option 'prio'; there are queue, priority"):
        untyped.using(prio=1)
    of_handlers: Any = job
    with pytest.raises(TypeError, match="there are name, aliases, atomic, api, serializer, can_submit, queue"):
        of_handlers(serialiser=int)


TYPED = """
from datetime import datetime
from asyncjobs import Handler, Job, job

@job(queue="mail")
def resize(photo: int, *, width: int = 0) -> str:
    return ""

@job
async def fetch(url: str) -> bytes:
    return b""

async def use() -> None:
    a: str = resize(1, width=2)
    b: Job = resize.submit(1, width=2)
    c: list[Job] = resize.submit_many(resize.call(n) for n in range(3))
    d: Job = await resize.using(queue="x", delay=5).asubmit(1)
    e: bytes = await fetch("x")
    f: Job = resize.submit_in(5, 1, width=1)
    g: Job = resize.submit_at(datetime.now(), 1)
"""
WRONG = (
    'resize.submit("x")',
    "resize.submit()",
    "resize.submit(1, height=2)",
    'resize.submit_in(5, "x")',
    "resize.submit_in(1)",
    'resize.call("x")',
    'resize.submit_many([fetch.call("x")])',
    'resize.using(queu="x")',
    "resize.using(priority='high')",
    "job(queue=5)",
)


@pytest.mark.slow
def test_editors_know_the_arguments(tmp_path: Path) -> None:
    source = tmp_path / "typed.py"
    source.write_text(TYPED + "\n".join(WRONG))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(source)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parent.parent)
    first = TYPED.count("\n") + 1
    flagged = {int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line}
    assert flagged == set(range(first, first + len(WRONG))), found.stdout
