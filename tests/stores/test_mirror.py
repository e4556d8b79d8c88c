"""What a store makes of a job is what the pure function makes of it, field by field."""

from dataclasses import asdict
from typing import Any

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus, Progress
from tests.scene import BOOM, LEASE, Scene

RUNNING, ENDED = JobStatus.IN_PROGRESS, [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED]
PLENTY: dict[str, Any] = {
    "priority": 40,
    "payload": '{"a": []}',
    "timeout_ms": 5_000,
    "soft_timeout_ms": 4_000,
    "unique_key": "k",
    "owner": "zoë",
    "tags": ("red", "blue"),
    "workflow_id": "0f0d2f5e-9d0e-4b0a-8a43-0d2f5e9d0e4b",
}

# name: (statuses to start from, transition, arguments before `now`, keyword arguments)
WRITTEN: dict[str, tuple[list[JobStatus], Any, tuple[Any, ...], dict[str, Any]]] = {
    "complete": ([RUNNING], transitions.complete, ('{"ok": true}',), {}),
    "complete without a result": ([RUNNING], transitions.complete, (None,), {}),
    "fail for a retry": ([RUNNING], transitions.fail, (BOOM,), {"delay": 1_500}),
    "fail for good": ([RUNNING], transitions.fail, (BOOM,), {"delay": None}),
    "release": ([RUNNING], transitions.release, (), {}),
    "snooze": ([RUNNING], transitions.snooze, (1_800_000_000_000,), {}),
    "snooze with an error": ([RUNNING], transitions.snooze, (1_800_000_000_000,), {"error": BOOM}),
    "rescue": ([RUNNING], transitions.rescue, (), {}),
    "rescue for the last time": ([RUNNING], transitions.rescue, (), {"max_lapses": 1}),
    "crash": ([RUNNING], transitions.crash, (), {}),
    "crash for the last time": ([RUNNING], transitions.crash, (), {"max_crashes": 1}),
    "cancel": ([JobStatus.QUEUED, JobStatus.WAITING, JobStatus.SCHEDULED, RUNNING], transitions.cancel, (), {}),
    "cancel with a reason": ([JobStatus.QUEUED, RUNNING], transitions.cancel, (), {"reason": "genug"}),
    "retry": (ENDED, transitions.retry, (), {}),
    "run now": ([JobStatus.SCHEDULED], transitions.run_now, (), {}),
    "reschedule": ([JobStatus.QUEUED, JobStatus.SCHEDULED], transitions.reschedule, (1_800_000_000_000,), {}),
    "ready": ([JobStatus.WAITING], transitions.ready, (), {}),
    "request a cancel": ([RUNNING], transitions.request_cancel, (), {}),
    "report": ([RUNNING], transitions.report, (Progress(done=1, total=3, message="eins"),), {}),
}
CASES = [
    pytest.param(status, *rest, id=f"{name} from {status.name}")
    for name, (statuses, *rest) in WRITTEN.items()
    for status in statuses
]


def assert_same(stored: Job, expected: Job) -> None:
    assert asdict(stored) == asdict(expected)


@pytest.mark.parametrize("fields", [{}, PLENTY], ids=["plain", "plenty"])
@pytest.mark.parametrize(("status", "transition", "arguments", "options"), CASES)
def test_swap_writes_what_the_transition_made(
    scene: Scene, status: JobStatus, transition: Any, arguments: Any, options: Any, fields: Any
) -> None:
    old = scene.in_status(status, **fields)
    new = transition(old, *arguments, now=scene.clock.advance(123), **options)
    assert scene.swap(old, new)
    assert_same(scene.stored(old), new)


def test_promotion_is_written_too(scene: Scene) -> None:
    job = scene.put(scene.delayed(1_000))
    promoted = transitions.promote(job, now=scene.clock.advance(1_000))
    assert scene.swap(job, promoted)
    assert_same(scene.stored(job), promoted)


@pytest.mark.parametrize("fields", [{}, PLENTY], ids=["plain", "plenty"])
def test_a_claim_starts_as_start_does(scene: Scene, fields: Any) -> None:
    job = scene.add(**fields)
    now = scene.clock.advance(55)
    [claimed] = scene.claim(worker="wörker 7")
    expected = transitions.start(job, worker="wörker 7", until=now + LEASE, now=now)
    assert_same(claimed, expected)
    assert_same(scene.stored(job), expected)


@pytest.mark.parametrize("fields", [{}, PLENTY], ids=["plain", "plenty"])
def test_a_claim_promotes_and_starts_as_promote_and_start_do(scene: Scene, fields: Any) -> None:
    job = scene.put(scene.delayed(1_000, **fields))
    now = scene.clock.advance(1_500)
    [claimed] = scene.claim()
    expected = transitions.start(transitions.promote(job, now=now), worker="w1", until=now + LEASE, now=now)
    assert_same(claimed, expected)
    assert_same(scene.stored(job), expected)


def test_a_claim_that_promotes_without_starting_promotes_as_promote_does(scene: Scene) -> None:
    job = scene.put(scene.delayed(1_000, priority=-100))
    now = scene.clock.advance(1_500)
    scene.add(priority=100)
    scene.claim(limit=1)
    assert_same(scene.stored(job), transitions.promote(job, now=now))


def test_a_second_attempt_starts_as_start_does(scene: Scene) -> None:
    waiting = scene.settle(transitions.fail, scene.started(**PLENTY), BOOM, delay=700)
    now = scene.clock.advance(700)
    [claimed] = scene.claim(worker="w2")
    assert_same(
        claimed, transitions.start(transitions.promote(waiting, now=now), worker="w2", until=now + LEASE, now=now)
    )


def test_a_retried_job_starts_as_start_does(scene: Scene) -> None:
    retried = scene.settle(transitions.retry, scene.failed(**PLENTY))
    now = scene.clock.advance(5)
    [claimed] = scene.claim(worker="w2")
    assert_same(claimed, transitions.start(retried, worker="w2", until=now + LEASE, now=now))


def test_a_beat_moves_the_lease_alone(scene: Scene) -> None:
    started = scene.started(**PLENTY)
    now = scene.clock.advance(999)
    scene.store.beat("w1", {started.id: started.version}, lease=LEASE)
    assert_same(scene.stored(started), started.replace(claimed_until=now + LEASE))
    [held] = scene.store.held("w1")
    assert_same(held, started.replace(claimed_until=now + LEASE))
