"""A store whose calls fail, some before they were done and some after."""

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Any, TypeVar

from asyncjobs.errors import StoreUnavailable
from asyncjobs.stores.base import Store

T = TypeVar("T")


class Fault(Enum):
    NONE = "answers"
    BEFORE = "fails, nothing done"
    AFTER = "is done, but the answer is lost"


class FaultyStore:
    """`store`, with these faults in turn, of all methods or `of` these; when they are used up, it is well again."""

    def __init__(self, store: Store, faults: Iterable[Fault], *, of: Collection[str] = ()) -> None:
        self._store = store
        self._faults = iter(faults)
        self._of = of

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not callable(method) or (self._of and name not in self._of):
            return method

        def call(*args: Any, **options: Any) -> Any:
            fault = next(self._faults, Fault.NONE)
            if fault == Fault.BEFORE:
                raise StoreUnavailable("the request was lost")
            answer = method(*args, **options)
            if fault == Fault.AFTER:
                raise StoreUnavailable("the answer was lost")
            return answer

        return call


def insist(call: Callable[..., T], *args: Any, **options: Any) -> T:
    """Repeats the call until it answers."""
    while True:
        try:
            return call(*args, **options)
        except StoreUnavailable:
            continue
