"""What clients may give a handler: by its serializer, or by one made from its signature."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.settings import api_settings

from asyncjobs.api.problems import Fault, Problem, escaped, pointers
from asyncjobs.api.signatures import Places, places_of, signature_of
from asyncjobs.arguments.binding import Call
from asyncjobs.registry import Handler


class Arguments:
    """Reads the arguments of one handler's jobs within one request."""

    def __init__(self, handler: Handler[..., Any], request: Any) -> None:
        self._places = _places(handler)
        self._serializer = serializer_of(handler)(context={"request": request})

    def read(self, body: Mapping[str, Any], at: str) -> Call[Any]:
        """The call that the body of a submission asks for; `at` is its place in the request."""
        if "payload" in body:
            if "args" in body or "kwargs" in body:
                raise _unfit(f"{at}/payload", "A job has a payload, or args and kwargs.")
            return self._checked(body["payload"], partial(pointers, at=f"{at}/payload"))
        kwargs = _of_type(body.get("kwargs", {}), dict, f"{at}/kwargs")
        args = _of_type(body.get("args", []), list, f"{at}/args")
        named = self._named(args, at)
        for twice in named.keys() & kwargs.keys():
            raise _unfit(f"{at}/kwargs/{escaped(twice)}", "The argument is given twice.")
        return self._checked(named | kwargs, partial(self._faults, count=len(args), at=at))

    def _named(self, args: list[Any], at: str) -> dict[str, Any]:
        """What is given by position, by name; of a function that takes any number, the rest as one list."""
        names, rest = self._places.names, self._places.rest
        named = dict(zip(names, args, strict=False))
        if len(args) <= len(names):
            return named
        if not rest:
            raise _unfit(f"{at}/args/{len(names)}", f"There are at most {len(names)} arguments.")
        return named | {rest: args[len(names) :]}

    def _checked(self, data: Any, faults_of: Callable[[Any], Iterator[Fault]]) -> Call[Any]:
        self._serializer.initial_data = data
        try:
            value = self._serializer.run_validation(data)
            return self._places.call(dict(value)) if isinstance(value, Mapping) else Call((value,), {})
        except ValidationError as error:
            raise Problem("invalid", "The arguments do not fit.", faults=faults_of(error.detail)) from None

    def _faults(self, detail: Any, *, count: int, at: str) -> Iterator[Fault]:
        """Where the client gave what does not fit: so many arguments by position, the others by name."""
        by_name = dict(detail) if isinstance(detail, Mapping) else {api_settings.NON_FIELD_ERRORS_KEY: detail}
        names, rest = self._places.names[:count], self._places.rest
        by_place = {index: by_name.pop(name) for index, name in enumerate(names) if name in by_name}
        if count > len(names) and rest in by_name:
            by_place |= {len(names) + index: inner for index, inner in by_name.pop(rest).items()}
        yield from pointers(by_place, f"{at}/args")
        yield from pointers(by_name, f"{at}/kwargs")


@cache
def serializer_of(handler: Handler[..., Any]) -> type[serializers.BaseSerializer[Any]]:
    """The class of the serializer of the handler's arguments."""
    if handler.exposure is not None and handler.exposure.serializer is not None:
        chosen: type[serializers.BaseSerializer[Any]] = handler.exposure.serializer
        return chosen
    return signature_of(handler.function)


@cache
def _places(handler: Handler[..., Any]) -> Places:
    return places_of(handler.function)


def _of_type(value: Any, kind: type, at: str) -> Any:
    if not isinstance(value, kind):
        raise _unfit(at, f"This is {'an object' if kind is dict else 'a list'}.")
    return value


def _unfit(at: str, detail: str) -> Problem:
    return Problem("invalid", "The arguments do not fit.", faults=(Fault(at, "invalid", detail),))
