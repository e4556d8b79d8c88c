"""Where a site has the API: below which namespaces, and what it captures of an address before ours begins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, NamedTuple

from django.urls import NoReverseMatch, URLResolver, get_resolver, get_urlconf, reverse

NAMESPACE: Final = "asyncjobs-api"


class Place(NamedTuple):
    """One include of `asyncjobs.api.urls`."""

    namespaces: tuple[str, ...]
    captured: frozenset[str]

    def nearness(self, namespaces: Sequence[str]) -> int:
        """How many namespaces it is below together with what is below these."""
        return sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self.namespaces, namespaces, strict=False))
        )


def address_of(request: Any, view: str, **kwargs: str) -> str:
    """The address of a view of the API: where the request went, or else at the place that is nearest to there."""
    match = request.resolver_match
    given: Mapping[str, Any] = match.kwargs if match else {}
    place = _nearest(tuple(match.namespaces) if match else (), given)
    captured = {name: given[name] for name in place.captured}
    path = reverse(
        ":".join((*place.namespaces, view)), kwargs=captured | kwargs, current_app=":".join(place.namespaces)
    )
    return str(request.build_absolute_uri(path))


def _nearest(namespaces: Sequence[str], given: Mapping[str, Any]) -> Place:
    places = [place for place in _places(get_resolver(get_urlconf())) if place.captured <= given.keys()]
    if not places:
        raise NoReverseMatch("no asyncjobs.api.urls is where this request could lead to")
    return max(places, key=lambda place: place.nearness(namespaces))


@lru_cache(maxsize=16)
def _places(resolver: URLResolver) -> Sequence[Place]:
    """All of a URLconf, in the order of preference. Another URLconf is another resolver."""
    found = _places_below(resolver, Place((), frozenset()))
    return sorted(found, key=lambda place: (len(place.namespaces), place.namespaces[-1] != NAMESPACE))


def _places_below(resolver: URLResolver, above: Place) -> Iterator[Place]:
    for namespace, (prefix, inner) in reversed(resolver.namespace_dict.items()):  # as Django keeps it
        captured = above.captured | re.compile(prefix).groupindex.keys()
        place = Place((*above.namespaces, namespace), captured)
        if inner.app_name == NAMESPACE:
            yield place
        else:
            yield from _places_below(inner, place)
