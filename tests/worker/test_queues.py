"""Which queues a worker asks for, and in which order."""

from collections import Counter

import pytest

from asyncjobs.worker.options import Queues


def names(*patterns: str, known: str = "", exclude: tuple[str, ...] = ()) -> list[str]:
    queues = Queues(patterns, exclude)
    queues.learn(known.split())
    return queues.names()


def test_named_queues_are_served_in_the_order_given() -> None:
    assert names("b", "a", "c", known="a b c d") == ["b", "a", "c"]


def test_a_named_queue_is_served_before_it_is_known() -> None:
    assert names("new") == ["new"]


def test_a_pattern_stands_for_the_known_queues_that_match() -> None:
    assert names("mail.*", known="mail.in mail.out sms mail") == ["mail.in", "mail.out"]
    assert names("m?il", known="mail maail mil moil") == ["mail", "moil"]
    assert names("[ab]1", known="a1 b1 c1") == ["a1", "b1"]
    assert names("[!ab]1", known="a1 b1 c1") == ["c1"]


def test_a_pattern_respects_upper_and_lower_case() -> None:
    assert names("Mail*", known="mail1 Mail2") == ["Mail2"]


def test_a_pattern_that_matches_nothing_is_no_queue() -> None:
    assert names("mail.*", "sms", known="other") == ["sms"]


def test_a_queue_belongs_to_the_first_pattern_that_fits() -> None:
    assert names("urgent", "*", known="a urgent z") == ["urgent", "a", "z"]
    assert names("a*", "*", known="b a2 a1") == ["a1", "a2", "b"]


def test_a_name_given_twice_is_served_once() -> None:
    assert names("a", "b", "a", known="a b") == ["a", "b"]


def test_a_queue_that_is_named_has_its_place_there_and_not_where_a_pattern_fits() -> None:
    assert names("*", "slow", known="a slow z") == ["a", "z", "slow"]
    assert names("a*", "b", "a1", known="a1 a2") == ["a2", "b", "a1"]


def test_excluded_queues_are_not_served_even_when_named() -> None:
    assert names("*", known="a b c", exclude=("b",)) == ["a", "c"]
    assert names("a", "b", exclude=("b*",)) == ["a"]
    assert names("*", known="a b", exclude=("*",)) == []


def test_the_queues_of_one_pattern_take_turns_at_being_first() -> None:
    queues = Queues(("urgent", "m*"))
    queues.learn(["m1", "m2", "m3"])
    turns = [queues.names() for _ in range(6)]
    assert {turn[0] for turn in turns} == {"urgent"}
    assert Counter(turn[1] for turn in turns) == {"m1": 2, "m2": 2, "m3": 2}
    assert {tuple(sorted(turn)) for turn in turns} == {("m1", "m2", "m3", "urgent")}


def test_named_queues_take_no_turns() -> None:
    queues = Queues(("b", "a"))
    assert [queues.names() for _ in range(3)] == [["b", "a"]] * 3


def test_a_queue_that_appears_later_is_served_from_then_on() -> None:
    queues = Queues(("*",))
    assert queues.names() == []
    queues.learn(["a"])
    assert queues.names() == ["a"]
    queues.learn(["a", "b"])
    assert sorted(queues.names()) == ["a", "b"]


@pytest.mark.parametrize(
    ("patterns", "is_open"), [(("a", "b"), False), (("a", "b*"), True), (("?",), True), (("[ab]",), True)]
)
def test_only_patterns_leave_the_list_open(patterns: tuple[str, ...], *, is_open: bool) -> None:
    assert Queues(patterns).is_open is is_open
