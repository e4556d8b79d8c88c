"""Every store against the model; and the model's machine against stores known to be wrong."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from asyncjobs.errors import AsyncJobsError
from asyncjobs.stores.base import Store
from tests.backends import Backend, Effort
from tests.clock import Clock
from tests.stores import mutants
from tests.stores.whole_machine import WholeMachine

SHORT = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=200, stateful_step_count=40)
UNTIL_FOUND = settings(
    max_examples=2_000,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def machine_for(opener: Callable[[Clock], Store]) -> type[WholeMachine]:
    return type("Machine", (WholeMachine,), {"open": staticmethod(opener)})


def test_the_store_agrees_with_the_model(backend: Backend, effort: Effort) -> None:
    def empty(clock: Clock) -> Store:
        backend.clear()
        return backend.open(clock=clock)

    run_state_machine_as_test(machine_for(empty), settings=LONG if effort == "long" else SHORT)


@pytest.mark.parametrize("mutant", mutants.ALL, ids=lambda mutant: mutant.__name__)
def test_the_machine_finds_a_store_that_is_wrong(mutant: Callable[..., Store]) -> None:
    with pytest.raises((AssertionError, AsyncJobsError, LookupError)):
        run_state_machine_as_test(machine_for(lambda clock: mutant(clock=clock)), settings=UNTIL_FOUND)
