"""A worker stands still for longer than its leases, and wakes up: what it then says of old runs counts no more."""

import signal
import time

import pytest

from tests.faults.checker import LEASE, Trial, either, send_all
from tests.worker import jobs
from tests.workers import until

pytestmark = pytest.mark.faults
PAUSE = 1.5 * LEASE


@either
def test_late_writes_are_refused_and_the_worker_goes_on(either_trial: Trial) -> None:
    trial = either_trial
    sleeper = trial.start()
    old = trial.submit_many(jobs.nap, [(PAUSE,)] * 4)
    until(lambda: trial.running(*old))
    other = trial.start()
    until(other.children)
    send_all(sleeper, signal.SIGSTOP)
    time.sleep(PAUSE)
    until(lambda: trial.starts_of(old) == {2})
    send_all(sleeper, signal.SIGCONT)
    stored = trial.survived(old)
    late = [end for end in trial.site.effects("end") if end.pid in sleeper.children()]
    assert len(late) == 4, "the old runs did not even try to settle"
    assert [job.result for job in stored] == [str(job.version - 1) for job in stored]
    assert other.stop() == 0
    new = trial.submit_many(jobs.nap, [(0.01,)] * 20)
    trial.survived([*old, *new])
    assert {start.pid for start in trial.site.effects("start")[8:]} <= set(sleeper.children())
