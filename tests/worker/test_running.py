"""A worker runs jobs of every kind, and records what became of each. Real processes, on every store."""

from tests.worker import jobs
from tests.worker.conftest import World

BURST = ("--burst", "--processes=1")


def test_a_burst_runs_what_is_there_and_ends(world: World) -> None:
    submitted = jobs.quick.submit_many(jobs.quick.call(number) for number in range(50))
    worker = world.site.start(*BURST)
    assert worker.wait() == 0, worker.said()
    done = world.ended(*submitted)
    assert [job.result for job in done] == [str(number) for number in range(50)]
    assert {job.attempt for job in done} == {1}
    assert len(world.site.effects("start")) == 50
