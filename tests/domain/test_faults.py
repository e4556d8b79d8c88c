"""Which failures are alike."""

import time

import pytest

from asyncjobs.domain.faults import LONGEST, fault_of, normalised
from asyncjobs.domain.job import JobError


def error(message: str, **fields: str) -> JobError:
    return JobError(**{"code": "HANDLER_ERROR", "type": "builtins.ValueError"} | fields, message=message)


@pytest.mark.parametrize(
    ("message", "alike"),
    [
        ("order 1042 was paid 3 times", "order … was paid … times"),
        ("job 6f1c2b8e-4d0a-4b57-9a63-0c8f6d1e2a34 is gone", "job … is gone"),
        ("<Order object at 0x7f3a5c01d0>", "<Order object at …>"),
        ("commit 9fceb02d0ae5 is unknown", "commit … is unknown"),
        ("no such user: ada@example.com", "no such user: …"),
        ("connect to 10.0.0.7:5432 and fe80::1:2 failed", "connect to … and … failed"),
        ("late since 2026-01-31T12:00:00.123+00:00", "late since …"),
        ("late since 12:00:01", "late since …"),
        ("KeyError: 'größe'", "KeyError: …"),
        ('no "size" in “this”', "no … in …"),
        ("can't open the users' file of 'ada'", "can't open the users' file of …"),
        ("HTTP 503 from https://example.com/orders/17", "HTTP … from https://example.com/orders/…"),
        ("two\n  lines\tlong", "two lines long"),
        ("a decade of facades", "a decade of facades"),
        ("std::bad_alloc", "std::bad_alloc"),
        ("", ""),
    ],
)
def test_what_changes_from_failure_to_failure_is_left_out(message: str, alike: str) -> None:
    assert normalised(message) == alike
    assert normalised(alike) == alike


def test_a_long_message_is_cut() -> None:
    assert len(normalised("word " * 100_000)) == LONGEST


@pytest.mark.parametrize(
    "part", ['"', "'", "“", "a", "1", "1-", "a@", "a-", "abcdef-", "a:", "0x", "a.b+", " '", "é\n"]
)
def test_no_message_takes_long(part: str) -> None:
    before = time.process_time()
    normalised(part * 1_000_000)
    assert time.process_time() - before < 0.1


def test_failures_alike_have_the_same_fault() -> None:
    assert fault_of("shop.pay", error("order 1 is gone")) == fault_of("shop.pay", error("order 2 is gone", code="X"))


@pytest.mark.parametrize(
    "other",
    [
        ("shop.pay2", error("order 1 is gone")),
        ("shop.pay", error("order 1 is late")),
        ("shop.pay", error("order 1 is gone", type="builtins.KeyError")),
        ("shop.pay", error("order 1 is gone", type="", code="GONE")),
    ],
)
def test_another_handler_kind_or_message_is_another_fault(other: tuple[str, JobError]) -> None:
    assert fault_of("shop.pay", error("order 1 is gone")) != fault_of(*other)


def test_a_fault_is_sixteen_digits_and_stays_what_it_is() -> None:
    """Stores keep it: another release must not find other groups."""
    assert fault_of("shop.pay", error("order 1 is gone")) == "c71c200196770a9a"
    assert len(fault_of("shop.pay\ud800", error("\udfff"))) == 16
