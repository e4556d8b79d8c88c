"""What happens to jobs and workers, told to whoever listens: for logging, metrics and tracing.

Receivers are called where it happens, in the process and thread that did it. One that raises is logged, and changes
nothing. What a job's worker says of it has the job's handler as its sender, all else None.
"""

import logging
from typing import Any, Final

from django.dispatch import Signal

logger = logging.getLogger("asyncjobs.signals")

job_submitted: Final = Signal()  # job
job_started: Final = Signal()  # job
job_completed: Final = Signal()  # job, seconds
job_failed: Final = Signal()  # job (SCHEDULED for a retry, or FAILED for good), error
job_canceled: Final = Signal()  # job
job_released: Final = Signal()  # job: handed back, snoozed or parked
job_rescued: Final = Signal()  # job: taken from a holder that died or fell silent
lease_lost: Final = Signal()  # job: as its holder knew it
worker_started: Final = Signal()  # worker
worker_stopping: Final = Signal()  # worker
worker_stopped: Final = Signal()  # worker
child_started: Final = Signal()  # worker, pid
child_ended: Final = Signal()  # worker, pid, exitcode


def tell(signal: Signal, sender: Any, **facts: Any) -> None:
    """Calls the receivers, if there are any."""
    if not signal.receivers:
        return
    for receiver, answer in signal.send_robust(sender, **facts):
        if isinstance(answer, Exception):
            logger.error("the receiver %r raised", receiver, exc_info=answer)
