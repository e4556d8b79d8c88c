"""Connections to databases: looked after as in a request, and gone before a fork."""

import logging
import threading
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connections, reset_queries
from django.db.backends.signals import connection_created

logger = logging.getLogger("asyncjobs.worker")


class _Opened(threading.local):
    """Whether this thread ever opened a connection to a database. To find none costs as much as a small job."""

    any = False


_opened = _Opened()


def _note_connection(**kwargs: Any) -> None:
    _opened.any = True


connection_created.connect(_note_connection, dispatch_uid="asyncjobs.hygiene")


def tidy() -> None:
    """Closes the connections of this thread that are too old or broken, and forgets the queries. Never raises."""
    if not _opened.any:
        return
    try:
        close_old_connections()
        if settings.DEBUG:
            reset_queries()
    except Exception:  # of a driver, about a connection that is no good any more
        logger.warning("a connection could not be closed", exc_info=True)


def let_go() -> None:
    """Closes the connections of this thread, and the pools of this process, whose threads would not survive a fork."""
    for connection in connections.all(initialized_only=True):
        try:
            connection.close()
            if hasattr(connection, "close_pool"):
                connection.close_pool()
        except Exception:
            logger.warning("a connection could not be closed", exc_info=True)
