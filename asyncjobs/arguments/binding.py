"""Arguments against the signature of the function they are for."""

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Generic, NamedTuple, ParamSpec

from asyncjobs.errors import InvalidArguments

P = ParamSpec("P")

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Call(NamedTuple, Generic[P]):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Binding:
    """Which arguments a function takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.values()
        positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
        kinds = {parameter.kind for parameter in parameters}
        self.names = tuple(parameter.name for parameter in positional)
        self._least = sum(parameter.default is Parameter.empty for parameter in positional)
        self._most = float("inf") if Parameter.VAR_POSITIONAL in kinds else len(positional)
        if any(p.kind == Parameter.KEYWORD_ONLY and p.default is Parameter.empty for p in parameters):
            self._most = -1

    def check(self, call: Call[Any]) -> None:
        """Raises `InvalidArguments` unless the function can be called so. Positional calls are only counted."""
        if call.kwargs or not self._least <= len(call.args) <= self._most:
            self._bind(call)

    def bound(self, call: Call[Any]) -> Mapping[str, Any]:
        """The arguments given, by the names of the parameters."""
        return self._bind(call).arguments

    def complete(self, call: Call[Any]) -> Mapping[str, Any]:
        """The arguments by the names of the parameters, defaults too."""
        bound = self._bind(call)
        bound.apply_defaults()
        return bound.arguments

    def _bind(self, call: Call[Any]) -> inspect.BoundArguments:
        try:
            return self._signature.bind(*call.args, **call.kwargs)
        except TypeError as error:
            raise InvalidArguments(str(error)) from None
