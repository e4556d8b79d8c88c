"""What people type to find jobs: read whatever it is, and never an error."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncjobs.dashboard.search import LONGEST, MOST, Search, read_search, term_text
from asyncjobs.dashboard.terms import FIELDS, RETRYING, WORDS, Known
from asyncjobs.domain.job import Job, JobError, JobStatus
from tests.test_docs import table

NOW = int(datetime(2026, 11, 2, 12, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
ID = "0a1b2c3d-0000-4000-8000-000000000001"
NAMES = ("shop.jobs.send_mail", "shop.jobs.bill", "crm.jobs.bill")

JOB = Job(
    id=ID,
    name="shop.jobs.send_mail",
    queue="mail",
    status=JobStatus.SCHEDULED,
    owner="7",
    tags=("red", "with space"),
    worker="web-1:42",
    created_at=NOW - HOUR,
    attempt=3,
    retry_count=2,
    error=JobError(code="HANDLER_ERROR", message="the Service hung up", type="builtins.ConnectionError"),
)


def read(text: str, **chosen: str) -> Search:
    return read_search(text, Known(NOW, NAMES), chosen)


def query(text: str) -> dict[str, Any]:
    """What of the search a store is asked for."""
    made = read(text).query
    fields = ("status", "queue", "name", "owner", "tag", "fault", "created_from", "created_to")
    return {name: value for name in fields if (value := getattr(made, name)) is not None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "send",
        "SEND jobs.",
        "name:shop.jobs.send_mail",
        "name:send_mail",
        "queue:mail",
        'queue:"mail"',
        "QUEUE:mail",
        "status:scheduled",
        "status:retrying",
        "status:Scheduled",
        "tag:red",
        'tag:"with space"',
        'tag:"with space',
        "owner:7",
        "error:service",
        "error:connectionerror",
        "error:handler_error",
        'error:"hung up"',
        "worker:web-1",
        f"id:{ID}",
        f"id:{ID.upper()}",
        "id:0a1b",
        ID,
        ID.replace("-", ""),
        "created:<2h",
        "created:2h",
        "created:>30m",
        "created:>=2026-11-01",
        "created:2026-11-02",
        "created:<2026-11-03",
        "created:<=2026-11-02",
        "created:>2026-11-01",
        "created:>2026-11-02T10:59:00",
        "created:<2026-11-02T12:00:00+00:00",
        "attempt:3",
        "attempt:=3",
        "attempt:>=3",
        "attempt:<4",
        "retries:>0",
        "-queue:slow",
        "-status:failed",
        "-bill",
        '-"bill it"',
        "-created:>2h",
        "-fault:0a1b2c3d4e5f6789",
        "queue:mail send attempt:>1 -tag:blue",
    ],
)
def test_what_fits_is_found(text: str) -> None:
    search = read(text)
    assert search.unclear == ()
    assert search.fits(JOB)


@pytest.mark.parametrize(
    "text",
    [
        "bill",
        "name:shop.jobs.send",
        "queue:mai",
        "status:failed",
        "tag:re",
        "owner:8",
        "error:timeout",
        "worker:web-2",
        "fault:0a1b2c3d4e5f6789",
        "id:ffff",
        "created:>2h",
        "created:<30m",
        "created:>2026-11-02",
        "created:<2026-11-02",
        "attempt:>3",
        "attempt:2",
        "retries:0",
        "-queue:mail",
        "-send",
        f"-{ID}",
        "queue:mail queue:slow",
        "status:retrying status:failed",
    ],
)
def test_what_does_not_fit_is_not(text: str) -> None:
    search = read(text)
    assert search.unclear == ()
    assert not search.fits(JOB)


def test_a_store_is_asked_for_what_it_can_look_up() -> None:
    assert query("queue:mail status:failed name:x owner:7 tag:red tag:blue created:<2h created:>1h bill attempt:3") == {
        "queue": "mail",
        "status": JobStatus.FAILED,
        "name": "x",
        "owner": "7",
        "tag": "red",
        "created_from": NOW - 2 * HOUR,
        "created_to": NOW - HOUR,
    }
    assert query("fault:0a1b2c3d4e5f6789") == {"status": JobStatus.FAILED, "fault": "0a1b2c3d4e5f6789"}
    assert query("-queue:mail -status:failed -created:<2h -fault:0a error:x") == {}
    assert query("status:retrying") == {"status": JobStatus.SCHEDULED}


def test_the_narrower_of_two_times_is_looked_up() -> None:
    assert query("created:<2h created:<1h created:<3h") == {"created_from": NOW - HOUR}
    assert query("created:>2h created:>1h") == {"created_to": NOW - 2 * HOUR}


def test_the_end_of_a_name_will_do_if_one_handler_is_called_so() -> None:
    assert query("name:send_mail") == {"name": "shop.jobs.send_mail"}
    assert query("name:bill") == {"name": "bill"}
    assert query("name:elsewhere.job") == {"name": "elsewhere.job"}


def test_an_id_is_looked_up_by_itself() -> None:
    assert read(f"{ID} queue:mail").job_ids == [ID]
    assert read("id:0a1b").job_ids == read(f"-{ID}").job_ids == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("color:red", "color"),
        ("http://example.org", "http"),
        ("status:done", "done"),
        ("attempt:many", "many"),
        ("attempt:>", ">"),
        ("attempt:9999999999", "9999999999"),
        ("attempt:٣", "٣"),
        ("created:yesterday", "yesterday"),
        ("created:2026-13-01", "2026-13-01"),
        ("created:9999-12-31", "9999-12-31"),
        ("created:0001-01-01T00:00:00+14:00", "0001"),
        ("created:999999d", "999999d"),
        ("id:xyz", "xyz"),
        ("name:", "name:"),
        ('name:""', "name"),
        ('""', '""'),
        ('"', '"'),
        ("-queue:", "queue:"),
    ],
)
def test_what_is_not_understood_is_said_and_left_out(text: str, said: str) -> None:
    search = read(f"send {text}")
    assert [term.text for term in search.terms] == ["send"]
    [unclear] = search.unclear
    assert said in unclear


def test_what_was_chosen_counts_like_what_was_typed() -> None:
    search = read("send", queue="mail", status="scheduled", name="")
    assert [(term.param, term.text) for term in search.terms] == [
        ("queue", "queue:mail"),
        ("status", "status:scheduled"),
        ("q", "send"),
    ]
    assert search.fits(JOB)
    assert read("", status="done").unclear


def test_each_term_can_be_taken_out_of_the_text() -> None:
    search = read('send  -tag:"a b" "-x" error:"open', queue="mail")
    assert [search.text_without(term) for term in search.terms] == [
        'send -tag:"a b" "-x" error:"open"',
        '-tag:"a b" "-x" error:"open"',
        'send "-x" error:"open"',
        'send -tag:"a b" error:"open"',
        'send -tag:"a b" "-x"',
    ]


def test_a_long_search_is_cut_and_that_is_said() -> None:
    assert read("x " * LONGEST).unclear
    assert len(read("x " * LONGEST).terms) == MOST
    assert len(read("a:b " * LONGEST).unclear) <= MOST
    assert read("x" * LONGEST).unclear == ()


@pytest.mark.parametrize(
    "value", ["a\x85b", "a\x00", "a\ud800", "x" * (LONGEST + 1)], ids=["control", "NUL", "surrogate", "long"]
)
def test_what_was_chosen_is_never_read_as_something_else(value: str) -> None:
    search = read("", queue=value)
    assert (search.terms, len(search.unclear)) == ((), 1)


@pytest.mark.parametrize("text", ["queue:a\x85b", 'queue:"a\tb"', "\x00"], ids=ascii)
def test_characters_that_are_read_as_spaces_are_told(text: str) -> None:
    assert "control characters" in read(text).unclear[-1]


def test_the_store_counts_the_jobs_of_one_queue_and_one_status() -> None:
    counted = ["", "queue:a", "status:failed", "status:failed queue:a"]
    assert all(read(text).is_counted for text in counted)
    uncounted = ["queue:a queue:b", "status:failed status:queued", "-queue:a", "status:retrying", "tag:red", "send"]
    assert not any(read(text).is_counted for text in uncounted)
    assert not read("queue:b", queue="a").is_counted


def test_the_store_counts_the_jobs_of_one_fault() -> None:
    assert {read(text).one_fault for text in ("fault:1a", "status:failed fault:1a")} == {"1a"}
    others = ["", "fault:1a fault:2b", "fault:1a status:queued", "-fault:1a", "fault:1a -queue:a", "fault:1a send"]
    assert {read(text).one_fault for text in others} == {None}


@pytest.mark.parametrize("value", ["mail", "with space", "a:b", "-x"])
def test_a_term_reads_as_it_is_written(value: str) -> None:
    [term] = read(term_text("queue", value)).terms
    assert term.meaning.looked_up == {"queue": value}


def test_every_field_and_status_is_documented() -> None:
    rows = table("how-to/find-jobs.md", "condition")[1:]
    assert [row[0] for row in rows] == [f"{name}:" for name in FIELDS]
    statuses = next(row[1] for row in rows if row[0] == "status:")
    assert all(word in statuses for word in (*WORDS, RETRYING))


PIECES = st.sampled_from([*FIELDS, *WORDS, ":", '"', "-", ">", "<=", "2h", " ", "2026-11-01", "\x00", "\ud800", "\n"])


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_nothing_that_is_typed_is_an_error(text: str) -> None:
    search = read(text, queue=text, status=text, name=text)
    search.fits(JOB)
    assert search.query.limit
    again = read(search.text_without())
    typed = [term for term in search.terms if term.param == "q"]
    assert [(term.field, term.text, term.is_negated) for term in again.terms][: len(typed)] == [
        (term.field, term.text, term.is_negated) for term in typed
    ]


FACTS: dict[str, Callable[[Job], Any]] = {"attempt": lambda job: job.attempt, "retries": lambda job: job.retry_count}


@pytest.mark.parametrize("field", FACTS)
@pytest.mark.parametrize(("sign", "fitting"), [("<", [0]), ("<=", [0, 1]), (">", [2]), (">=", [1, 2]), ("=", [1])])
def test_numbers_are_compared(field: str, sign: str, fitting: list[int]) -> None:
    search = read(f"{field}:{sign}1")
    jobs = [JOB.replace(attempt=number, retry_count=number) for number in range(3)]
    assert [FACTS[field](job) for job in jobs if search.fits(job)] == fitting
