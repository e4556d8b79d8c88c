"""The engine that the settings describe."""

from threading import Lock
from typing import Any

from django.core.signals import setting_changed

from asyncjobs.conf import get_conf
from asyncjobs.engine import Engine

_lock = Lock()
_engine: Engine | None = None


def get_engine() -> Engine:
    """The engine of this process, made when first asked for."""
    global _engine
    if _engine is None:
        with _lock:
            if _engine is None:
                conf = get_conf()
                _engine = Engine(conf.new_store(), conf)
    return _engine


def exchange_engine(engine: Engine | None) -> Engine | None:
    """Puts this engine in place, or with None has it made anew, and answers the one before."""
    global _engine
    with _lock:
        before, _engine = _engine, engine
    return before


def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting in ("ASYNCJOBS", "CACHES"):
        exchange_engine(None)


setting_changed.connect(_forget, dispatch_uid="asyncjobs.current")
