"""Finished jobs are kept for a while, and then removed by those who finish others: no cron is needed."""

import logging
from typing import Final

from django.db import connections

from asyncjobs.conf import Conf
from asyncjobs.errors import StoreError
from asyncjobs.stores.base import Store

logger = logging.getLogger("asyncjobs.retention")

BATCH: Final = 100
INTERVAL_MS: Final = 60_000
_PER_FINISHED: Final = 2  # so that a backlog shrinks while work goes on
_MOST_OWED: Final = 10 * BATCH


class Retention:
    """Prunes in proportion to what is finished.

    A batch that was not full says that nothing more is due: then it rests for a minute.
    """

    def __init__(self, store: Store, conf: Conf) -> None:
        self._store = store
        self._database = conf.database
        self._keep = {status: age for status, age in conf.retention.items() if age is not None}
        self._owed = 0
        self._more_is_due = False
        self._next_look = 0

    def finished(self, count: int) -> None:
        """To be told that so many jobs ended. Never fails: what is not removed now is removed later."""
        if not count or self._in_callers_transaction():
            return
        self._owed = min(self._owed + count * _PER_FINISHED, _MOST_OWED)
        try:
            while self._is_time():
                self._prune()
        except StoreError:
            self._more_is_due = False
            logger.warning("finished jobs could not be pruned; this is tried again in a minute", exc_info=True)

    def _in_callers_transaction(self) -> bool:
        """There, a failed statement would break what the caller does."""
        return self._store.transactional and connections[self._database].in_atomic_block

    def _is_time(self) -> bool:
        """A rest of more than its length is one that a clock set back has made."""
        rest = self._next_look - self._store.now()
        return not 0 < rest <= INTERVAL_MS or (self._more_is_due and self._owed >= BATCH)

    def _prune(self) -> None:
        self._next_look = self._store.now() + INTERVAL_MS
        self._owed = max(0, self._owed - BATCH)
        self._more_is_due = self.prune(BATCH) == BATCH

    def prune(self, limit: int) -> int:
        """Removes up to `limit` jobs that were kept long enough, and answers how many.

        Also when no job ever was: receipts run out.
        """
        now = self._store.now()
        return self._store.prune({status: now - age for status, age in self._keep.items()}, limit=limit)
