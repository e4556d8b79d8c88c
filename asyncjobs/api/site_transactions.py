"""The transactions that a site has around its views (`ATOMIC_REQUESTS`), for each database that says so."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from django.db import connections, transaction

V = TypeVar("V", bound=Callable[..., Any])


def outside_all(view: V) -> V:
    """The view outside of all of them: what it accepts is stored by the time it answers."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view


@contextmanager
def inside_those_of(view: Any) -> Iterator[None]:
    """Within those that the site would have around this view."""
    exempt = getattr(view, "_non_atomic_requests", ())
    with ExitStack() as transactions:
        for alias, database in connections.settings.items():
            if database["ATOMIC_REQUESTS"] and alias not in exempt:
                transactions.enter_context(transaction.atomic(using=alias))
        yield
