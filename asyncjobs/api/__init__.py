"""The HTTP API: clients submit jobs and follow them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncjobs.api.endpoint import async_endpoint as async_endpoint

__all__ = ["async_endpoint"]


def __getattr__(name: str) -> Any:
    """Imports on first use: the package itself can be imported before Django is set up."""
    if name not in __all__:
        raise AttributeError(f"module 'asyncjobs.api' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("asyncjobs.api.endpoint"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
