"""The table that a child shares with its supervisor."""

import os
from collections.abc import Callable

import pytest

from asyncjobs.domain.job import Job
from asyncjobs.ids import new_ids
from asyncjobs.worker.held import ENDED, Flag, Held, HeldTable, Order, monotonic_ms


@pytest.fixture
def table() -> HeldTable:
    return HeldTable(4)


def put(table: HeldTable, slot: int, version: int = 2) -> Job:
    job = Job(id=new_ids(1)[0], name="n", version=version)
    table.hold(slot, job, now=1_000)
    table.write("count", 1)  # that there are any: readers count for themselves
    return job


def in_child(work: Callable[[], None]) -> None:
    """Has another process do it, and waits."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_new_table_holds_nothing(table: HeldTable) -> None:
    assert list(table.held()) == []
    assert table.read("order") == Order.WORK


def test_numbers_of_the_header_do_not_get_in_each_others_way(table: HeldTable) -> None:
    names = ("order", "count", "claimed_at", "has_drained", "look_at")
    for number, name in enumerate(names):
        table.write(name, 2**40 + number)
    assert [table.read(name) for name in names] == [2**40 + number for number in range(5)]
    table.write("count", 0)
    assert list(table.held()) == []


def test_what_is_held_can_be_read(table: HeldTable) -> None:
    job = put(table, 2, version=7)
    assert list(table.held()) == [Held(2, job.id, 0, 7, 1_000, 0, 0)]


def test_a_job_is_waiting_then_running_then_done_and_still_held(table: HeldTable) -> None:
    put(table, 0)
    [held] = table.held()
    assert (held.is_running, held.has_ended) == (False, False)
    table.start(0, 1_500, 9_000)
    [held] = table.held()
    assert (held.is_running, held.has_ended, held.running_since, held.deadline) == (True, False, 1_500, 9_000)
    table.finish(0)
    [held] = table.held()
    assert (held.is_running, held.has_ended, held.running_since) == (False, True, ENDED)


def test_a_dropped_job_leaves_nothing_for_the_next_in_its_slot(table: HeldTable) -> None:
    put(table, 0)
    table.start(0, 1_500, 9_000)
    [held] = table.held()
    table.flag(held, Flag.CANCEL)
    table.drop(0)
    assert list(table.held()) == []
    next_ = put(table, 0, version=3)
    assert list(table.held()) == [Held(0, next_.id, 0, 3, 1_000, 0, 0)]


def test_every_slot_is_its_own(table: HeldTable) -> None:
    jobs = [put(table, slot, version=slot + 1) for slot in range(4)]
    table.write("count", 4)
    table.start(1, 5, 6)
    table.drop(2)
    assert [(held.slot, held.id, held.running_since) for held in table.held()] == [
        (0, jobs[0].id, 0),
        (1, jobs[1].id, 5),
        (3, jobs[3].id, 0),
    ]


def test_flags_add_up(table: HeldTable) -> None:
    put(table, 3)
    [held] = table.held()
    assert table.flag(held, Flag.CANCEL)
    assert table.flags(3) == Flag.CANCEL
    assert table.flag(held, Flag.LOST)
    assert table.flags(3) == Flag.CANCEL | Flag.LOST
    assert [table.flags(slot) for slot in range(3)] == [0, 0, 0]


def test_a_flag_reaches_only_the_job_that_was_meant(table: HeldTable) -> None:
    put(table, 0)
    [held] = table.held()
    table.drop(0)
    assert not table.flag(held, Flag.LOST)
    assert table.flags(0) == 0
    put(table, 0)
    assert not table.flag(held, Flag.LOST)
    assert table.flags(0) == 0


def test_a_flag_reaches_only_the_version_that_was_meant(table: HeldTable) -> None:
    job = put(table, 0)
    [held] = table.held()
    table.hold(0, job.replace(version=4), now=2_000)
    assert not table.flag(held, Flag.LOST)
    assert table.flags(0) == 0


def test_a_slot_that_was_half_written_is_read_and_no_more(table: HeldTable) -> None:
    """The writer may be stopped at any byte; then ids and versions fit nothing that the store knows."""
    put(table, 0)
    [held] = table.held()
    start = table._memory.find(held.id.encode())
    table._memory[start + 20 : start + 36] = b"\xff\0" * 8
    [torn] = table.held()
    assert torn.id != held.id
    assert not table.flag(held, Flag.LOST)
    assert table.flags(0) == 0


def test_two_processes_see_one_table(table: HeldTable) -> None:
    job = Job(id=new_ids(1)[0], name="n", version=2)

    def work() -> None:
        table.hold(1, job, now=1_000)
        table.write("count", 1)
        table.start(1, 2_000, 0)

    in_child(work)
    [held] = table.held()
    assert (held.slot, held.id, held.is_running) == (1, job.id, True)
    table.flag(held, Flag.CANCEL)
    table.write("order", Order.FINISH)

    def look() -> None:
        assert table.flags(1) == Flag.CANCEL
        assert table.read("order") == Order.FINISH

    in_child(look)


def test_two_processes_see_one_clock() -> None:
    table = HeldTable(1)
    before = monotonic_ms()
    in_child(lambda: table.write("claimed_at", monotonic_ms()))
    assert before <= table.read("claimed_at") <= monotonic_ms()
