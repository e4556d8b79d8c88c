"""A list that is read screenful by screenful, in both directions, never further than it says."""

from collections.abc import Iterator
from typing import Any

import pytest

from asyncjobs.dashboard.listing import MOST_NEW, MOST_READ, ROWS, Listing, listing, newer_than
from asyncjobs.dashboard.search import Search, read_search
from asyncjobs.dashboard.terms import Known
from asyncjobs.domain.job import Job
from asyncjobs.stores.base import Page, Query, Store
from asyncjobs.stores.memory import MemoryStore
from tests.clock import Clock
from tests.scene import LEASE, Scene, ids


class Counting(MemoryStore):
    """Counts the jobs that are read."""

    read = 0

    def find(self, query: Query) -> Page:
        page = super().find(query)
        self.read += len(page.jobs)
        return page


@pytest.fixture
def scene() -> Scene:
    clock = Clock()
    return Scene(Counting(clock=clock), clock)


def search(text: str = "") -> Search:
    return read_search(text, Known(0))


def added(scene: Scene, count: int, **fields: Any) -> list[Job]:
    """So many jobs, newest first, three each moment."""
    jobs = [scene.job(created_at=scene.clock() + number // 3, **fields) for number in range(count)]
    for start in range(0, count, 1_000):
        scene.store.add(jobs[start : start + 1_000])
    scene.clock.advance(count)
    return sorted(jobs, key=lambda job: (job.created_at, job.id), reverse=True)


def screens(scene: Scene, text: str = "") -> Iterator[Listing]:
    """All screens, going older."""
    last = listing(scene.store, search(text))
    yield last
    while last.older:
        last = listing(scene.store, search(text), after=last.older)
        yield last


def test_older_and_newer_lead_past_every_job_once(scene: Scene) -> None:
    jobs = added(scene, 3 * ROWS + 7)
    down = list(screens(scene))
    assert [ids(screen.jobs) for screen in down] == [ids(jobs[at : at + ROWS]) for at in range(0, len(jobs), ROWS)]
    assert (down[0].newer, down[-1].older) == ("", "")
    screen = down[-1]
    for above in reversed(down[:-1]):
        screen = listing(scene.store, search(), before=screen.newer)
        assert ids(screen.jobs) == ids(above.jobs)
        assert listing(scene.store, search(), after=screen.older).jobs
    assert screen.newer == ""


def test_jobs_that_fit_are_gathered_until_the_screen_is_full(scene: Scene) -> None:
    jobs = added(scene, 600)
    rare = [scene.add(name="rare") for _ in range(3)]
    scene.clock.advance(1)
    added(scene, 700)
    assert sorted(ids(listing(scene.store, search("rare")).jobs)) == sorted(ids(rare))
    down = list(screens(scene, "echo -rare"))
    assert [len(screen.jobs) for screen in down] == [ROWS] * 26
    assert down[-1].jobs[-1] == jobs[-1]
    assert listing(scene.store, search("-rare"), before=down[20].newer).jobs == down[19].jobs


def test_a_search_says_how_far_back_it_looked_and_goes_on_from_there(scene: Scene) -> None:
    rare = scene.add(name="rare")
    scene.clock.advance(1)
    jobs = added(scene, MOST_READ + 500)
    assert isinstance(scene.store, Counting)
    first = listing(scene.store, search("rare"))
    assert (first.jobs, first.is_cut) == ([], True)
    assert scene.store.read <= MOST_READ + ROWS
    assert first.looked_back_to is not None
    assert jobs[-1].created_at < first.looked_back_to < jobs[0].created_at
    second = listing(scene.store, search("rare"), after=first.older)
    assert (second.jobs, second.older, second.looked_back_to) == ([rare], "", None)
    assert second.newer


def test_a_full_screen_of_what_a_store_looks_up_is_read_at_once(scene: Scene) -> None:
    added(scene, 500, queue="a")
    added(scene, 500, queue="b")
    assert isinstance(scene.store, Counting)
    assert len(listing(scene.store, search("queue:a status:queued")).jobs) == ROWS
    assert scene.store.read == ROWS


@pytest.mark.parametrize("text", ["", "status:queued", "queue:default status:queued", "name:tests.echo", "echo"])
def test_every_store_is_read_in_both_directions(store: Store, clock: Clock, text: str) -> None:
    jobs = added(Scene(store, clock), 2 * ROWS + 10)
    first = listing(store, search(text))
    second = listing(store, search(text), after=first.older)
    third = listing(store, search(text), after=second.older)
    assert sorted(ids([*first.jobs, *second.jobs, *third.jobs])) == sorted(ids(jobs))
    assert third.older == ""
    assert listing(store, search(text), before=third.newer).jobs == second.jobs
    assert listing(store, search(text), before=second.newer).jobs == first.jobs
    assert newer_than(store, search(text), second.top, seen=(), since=0) == ROWS


def test_a_job_named_by_its_id_is_there_alone(scene: Scene) -> None:
    job, *_ = added(scene, 60)
    assert listing(scene.store, search(job.id)) == Listing([job])
    assert listing(scene.store, search(f"{job.id} queue:other")) == Listing([])
    assert listing(scene.store, search("0a1b2c3d-0000-4000-8000-000000000001")) == Listing([])


def test_new_jobs_are_counted_up_to_a_bound(scene: Scene) -> None:
    added(scene, 10)
    shown = listing(scene.store, search())
    seen = set(ids(shown.jobs))

    def new(text: str = "") -> int:
        return newer_than(scene.store, search(text), shown.top, seen=seen, since=scene.clock())

    assert new() == 0
    added(scene, 12, name="a")
    added(scene, 3, name="b")
    assert (new(), new("name:b")) == (15, 3)
    added(scene, 2 * MOST_NEW)
    assert new() == MOST_NEW + 1


def test_in_an_empty_list_all_are_new(scene: Scene) -> None:
    assert newer_than(scene.store, search(), "", seen=(), since=0) == 0
    added(scene, 2)
    assert newer_than(scene.store, search(), "", seen=(), since=0) == 2


def test_a_heartbeat_makes_no_running_job_new(scene: Scene) -> None:
    old = scene.started()
    shown, since = listing(scene.store, search("status:running")), scene.clock()

    def new() -> int:
        return newer_than(scene.store, search("status:running"), shown.top, seen=(), since=since)

    scene.clock.advance(100)
    assert scene.store.beat("w1", {old.id: old.version}, lease=LEASE).lost == []
    assert new() == 0
    scene.started()
    assert new() == 1
