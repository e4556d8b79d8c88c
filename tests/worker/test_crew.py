"""How many jobs a crew of threads and coroutines wants, and which of them run."""

import operator
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from asyncjobs.conf import Conf
from asyncjobs.domain.job import Job
from asyncjobs.ids import new_ids
from asyncjobs.registry import Handler
from asyncjobs.stores.memory import MemoryStore
from asyncjobs.worker.context import JobContext
from asyncjobs.worker.crew import Crew
from asyncjobs.worker.options import WorkerOptions
from asyncjobs.worker.runner import Run, Runner
from tests.worker import acts
from tests.worker.hands import end_loop
from tests.workers import until

THREADS, COROUTINES = 2, 3


class Deck:
    """A crew, and the runs that have ended."""

    def __init__(self, **options: Any) -> None:
        self.ended: list[Run] = []
        self.store = MemoryStore()
        runner = Runner(self.store, Conf(), now=self.store.now, new_context=lambda run: JobContext(run.job))
        chosen = WorkerOptions(threads=THREADS, async_concurrency=COROUTINES, **options)
        self.crew = Crew(chosen, runner, self.ended.append)

    def put(self, handler: Handler, gate: str, *, crashes: int = 0) -> Run:
        """Has the handler stand at this gate."""
        payload = f'{{"args":["{gate}"],"kwargs":{{}}}}'
        self.store.add([Job(id=new_ids(1)[0], name=handler.name, payload=payload, crashes=crashes)])
        [job] = self.store.claim(["default"], worker="w", limit=1, lease=1_000)
        run = Run(job, handler)
        self.crew.put([run])
        return run

    def collect(self) -> None:
        """What the child's main thread does with runs that have ended."""
        for run in self.ended:
            self.crew.ended(run)


@pytest.fixture
def deck() -> Iterator[Deck]:
    acts.gates.clear()
    acts.ran.clear()
    deck = Deck()
    yield deck
    for gate in acts.gates.values():
        gate.is_open.set()
    end_loop(deck.crew._loop)


def busy(deck: Deck, handler: Handler, places: int) -> None:
    for _ in range(places):
        deck.put(handler, "busy")
    for _ in range(places):
        acts.gates["busy"].await_begin()


def test_a_crew_without_work_wants_some(deck: Deck) -> None:
    assert deck.crew.wanted() >= THREADS


def test_a_crew_that_is_busy_throughout_wants_nothing(deck: Deck) -> None:
    busy(deck, acts.stops, THREADS)
    busy(deck, acts.stops_async, COROUTINES)
    assert deck.crew.wanted() == 0
    assert len(deck.crew.running()) == THREADS + COROUTINES


@pytest.mark.parametrize(("handler", "places"), [(acts.stops, THREADS), (acts.stops_async, COROUTINES)])
def test_one_busy_half_does_not_keep_the_other_from_working(deck: Deck, handler: Handler, places: int) -> None:
    busy(deck, handler, places)
    assert deck.crew.wanted() == 1


@pytest.mark.parametrize("handler", [acts.says, acts.says_async])
def test_where_a_kind_is_rare_it_is_not_looked_for_again_and_again(deck: Deck, handler: Handler) -> None:
    for _ in range(100):
        run = deck.put(handler, "word")
        until(partial(operator.contains, deck.ended, run))
    long, places = (acts.stops_async, COROUTINES) if handler.is_async else (acts.stops, THREADS)
    busy(deck, long, places)
    until(lambda: not deck.crew._pools[handler.is_async].wanted())
    assert [deck.crew.wanted() for _ in range(3)] == [1, 0, 0]


def test_while_a_suspect_runs_nothing_else_is_wanted(deck: Deck) -> None:
    deck.put(acts.stops, "suspect", crashes=1)
    acts.gates["suspect"].await_begin()
    assert deck.crew.wanted() == 0


def test_a_suspect_waits_until_nothing_runs_and_others_give_way(deck: Deck) -> None:
    busy(deck, acts.stops, THREADS)
    waiting = deck.put(acts.says, "behind")
    suspect = deck.put(acts.says, "suspect", crashes=1)
    deck.crew.start_suspect()
    assert deck.crew.is_waiting()
    assert deck.crew.take_back_stuck() == [waiting]
    assert deck.crew.take_back_stuck_suspects() == []
    acts.gates["busy"].is_open.set()
    until(lambda: len(deck.ended) == THREADS)
    deck.crew.start_suspect()
    assert deck.crew.running() == []
    deck.collect()
    deck.crew.start_suspect()
    until(lambda: suspect in deck.ended)
    assert acts.ran[-1] == "suspect"


def test_suspects_run_one_after_the_other(deck: Deck) -> None:
    for _ in range(2):
        deck.put(acts.stops, "suspect", crashes=1)
    acts.gates["suspect"].await_begin()
    deck.crew.start_suspect()
    assert len(deck.crew.running()) == 1
    [other] = deck.crew.take_back()
    assert other not in deck.crew.running()


def test_what_has_not_begun_can_be_taken_back(deck: Deck) -> None:
    busy(deck, acts.stops, THREADS)
    waiting = [deck.put(acts.says, "waiting") for _ in range(3)]
    suspect = deck.put(acts.says, "suspect", crashes=1)
    assert set(deck.crew.take_back()) == {*waiting, suspect}
    assert not deck.crew.is_waiting()


@pytest.mark.parametrize("handler", [acts.stops, acts.stops_async], ids=["thread", "coroutine"])
def test_a_run_can_be_ended_from_outside(deck: Deck, handler: Handler) -> None:
    run = deck.put(handler, "long")
    acts.gates["long"].await_begin()
    deck.crew.interrupt(run, "left")
    until(lambda: run in deck.ended)
    assert run.change is not None
    assert run.change.new.attempt == 0


def test_who_leaves_the_loop_does_not_stop_it(deck: Deck) -> None:
    deck.put(acts.quits_beside, "any")
    until(lambda: deck.ended)
    later = deck.put(acts.says_async, "later")
    until(lambda: later in deck.ended)
    assert acts.ran[-1] == "later"


def test_a_burst_takes_nothing_that_others_could_run_at_once() -> None:
    acts.gates.clear()
    deck = Deck(burst=True)
    busy(deck, acts.stops, THREADS)
    assert [deck.crew.wanted() for _ in range(3)] == [0, 0, 0]
    acts.gates["busy"].is_open.set()
    end_loop(deck.crew._loop)
