"""`get` and `find`: jobs by id, by filter, page by page."""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidQuery
from asyncjobs.stores.base import Page, Query, Store
from asyncjobs.stores.cursor import InvalidCursor
from tests.scene import Scene, ids


def add_in_turn(scene: Scene, count: int, **fields: Any) -> list[Job]:
    added = []
    for _ in range(count):
        added.append(scene.add(**fields))
        scene.clock.advance(1)
    return added


def pages(scene: Scene, **query: Any) -> list[Page]:
    found = [scene.store.find(Query(**query))]
    while found[-1].next:
        found.append(scene.store.find(Query(after=found[-1].next, **query)))
    return found


def test_jobs_are_got_in_the_order_asked(scene: Scene) -> None:
    first, second, third = scene.completed(), scene.add(), scene.in_status(JobStatus.SCHEDULED)
    assert scene.store.get([third.id, first.id, second.id]) == [third, first, second]


def test_an_unknown_id_is_none(scene: Scene) -> None:
    job, unknown = scene.add(), scene.job()
    assert scene.store.get([unknown.id, job.id, unknown.id]) == [None, job, None]


def test_an_id_asked_for_twice_is_answered_twice(scene: Scene) -> None:
    job = scene.add()
    assert scene.store.get([job.id, job.id]) == [job, job]


def test_no_ids_no_jobs(store: Store) -> None:
    assert store.get([]) == []


def test_an_empty_store_has_one_empty_page(store: Store) -> None:
    assert store.find(Query()) == Page([], "", [])


def test_without_a_filter_all_jobs_are_found(scene: Scene) -> None:
    jobs = scene.one_of_each()
    assert sorted(ids(scene.found())) == sorted(ids(jobs.values()))


def test_youngest_first_without_a_status(scene: Scene) -> None:
    jobs = add_in_turn(scene, 5)
    assert scene.found() == jobs[::-1]


def test_oldest_first_when_asked(scene: Scene) -> None:
    jobs = add_in_turn(scene, 5)
    assert scene.found(oldest_first=True) == jobs


def test_without_a_status_the_order_is_that_of_creation(scene: Scene) -> None:
    first, second = add_in_turn(scene, 2)
    scene.settle(transitions.run_now, scene.settle(transitions.reschedule, first, scene.clock() + 1))
    assert ids(scene.found()) == ids([second, first])


@pytest.mark.parametrize("status", JobStatus)
def test_a_status_finds_its_jobs_alone(scene: Scene, status: JobStatus) -> None:
    jobs = scene.one_of_each()
    assert scene.found(status=status) == [jobs[status]]


@pytest.mark.parametrize("status", JobStatus)
def test_with_a_status_the_order_is_that_of_its_score(scene: Scene, status: JobStatus) -> None:
    for _ in range(4):
        scene.clock.advance(7)
        scene.in_status(status)
    jobs = scene.found(status=status)
    assert len(jobs) == 4
    assert all(older.score < younger.score for younger, older in pairwise(jobs))
    assert scene.found(status=status, oldest_first=True) == jobs[::-1]


def test_scheduled_jobs_come_by_the_time_they_are_due(scene: Scene) -> None:
    late, soon = scene.put(scene.delayed(2_000)), scene.put(scene.delayed(1_000))
    assert scene.found(status=JobStatus.SCHEDULED, oldest_first=True) == [soon, late]


def test_finished_jobs_come_by_the_time_they_ended(scene: Scene) -> None:
    first, second = scene.started(), scene.started()
    ended_first = scene.settle(transitions.complete, second, "1")
    scene.clock.advance(1)
    ended_last = scene.settle(transitions.complete, first, "1")
    assert scene.found(status=JobStatus.COMPLETED) == [ended_last, ended_first]


@pytest.mark.parametrize("status", JobStatus)
def test_an_owners_jobs_of_a_status_come_in_the_order_of_their_creation(scene: Scene, status: JobStatus) -> None:
    others = add_in_turn(scene, 2, owner="zoë")
    jobs = []
    for queue in ("a", "b", "a", "b"):
        scene.clock.advance(1)
        jobs.append(scene.in_status(status, owner="zoë", queue=queue))
        scene.in_status(status, owner="zo", queue=queue)
    wanted = [job for job in scene.store.get(ids([*others, *jobs])) if job and job.status == status]
    for of, queues in ((wanted, {}), ([job for job in wanted if job.queue == "a"], {"queue": "a"})):
        query = {"status": status, "owner": "zoë", **queues}
        assert scene.found(**query) == of[::-1]
        assert [job for page in pages(scene, limit=1, oldest_first=True, **query) for job in page.jobs] == of
        assert [job for page in pages(scene, limit=3, **query) for job in page.jobs] == of[::-1]


def test_an_owner_who_ran_a_job_again_meets_it_where_it_was(scene: Scene) -> None:
    first, second = add_in_turn(scene, 2, owner="zoë")
    scene.settle(transitions.run_now, scene.settle(transitions.reschedule, first, scene.clock() + 1))
    assert ids(scene.found(status=JobStatus.QUEUED, owner="zoë")) == ids([second, first])
    assert ids(scene.found(status=JobStatus.QUEUED)) == ids([first, second])


@pytest.mark.parametrize("oldest_first", [True, False])
@pytest.mark.parametrize("query", [{}, {"status": JobStatus.QUEUED}, {"tag": "red"}])
def test_an_owner_finds_a_job_on_the_first_page_however_many_others_have(
    scene: Scene,
    query: dict,
    oldest_first: bool,  # noqa: FBT001 - pytest's
) -> None:
    scene.store.add([scene.job(owner="bob", tags=("red",)) for _ in range(1_000)])
    scene.clock.advance(1)
    own = scene.add(owner="zoë", tags=("red",))
    scene.clock.advance(1)
    scene.store.add([scene.job(owner="bob", tags=("red",)) for _ in range(1_000)])
    page = scene.store.find(Query(owner="zoë", limit=1, oldest_first=oldest_first, **query))
    assert (page.jobs, page.next) == ([own], "")


FILTERS = [
    ({"queue": "mail"}, {"queue": "mail"}),
    ({"name": "shop.größe"}, {"name": "shop.größe"}),
    ({"owner": "zoë"}, {"owner": "zoë"}),
    ({"tag": "red"}, {"tags": ("blue", "red")}),
    ({"tag": "with space"}, {"tags": ("with space",)}),
]


@pytest.mark.parametrize("status", [None, *JobStatus])
@pytest.mark.parametrize(("query", "fields"), FILTERS)
def test_a_filter_finds_what_it_names(scene: Scene, status: JobStatus | None, query: dict, fields: dict) -> None:
    of_status = status or JobStatus.QUEUED
    scene.in_status(of_status, tags=("redder", "re"), owner="z", name="shop.g", queue="mai")
    scene.in_status(of_status)
    wanted = [scene.in_status(of_status, **{"queue": "wanted"} | fields) for _ in range(2)]
    assert sorted(ids(scene.found(status=status, **query))) == sorted(ids(wanted))


def test_a_filter_may_find_nothing(scene: Scene) -> None:
    scene.add()
    for query in ({"queue": "none"}, {"name": "none"}, {"owner": "none"}, {"tag": "none"}):
        assert scene.found(**query) == []


def test_filters_combine_with_and(scene: Scene) -> None:
    fields = {"queue": "mail", "name": "a.b", "owner": "zoë", "tags": ("red",)}
    wanted = scene.add(**fields)
    for name, other in {"queue": "other", "name": "c", "owner": None, "tags": ()}.items():
        scene.add(**fields | {name: other})
    assert scene.found(queue="mail", name="a.b", owner="zoë", tag="red", status=JobStatus.QUEUED) == [wanted]
    assert scene.found(queue="mail", name="a.b", owner="zoë", tag="red") == [wanted]


def test_a_status_is_filtered_with_the_queue(scene: Scene) -> None:
    scene.completed(queue="a")
    wanted = scene.completed(queue="b")
    scene.failed(queue="b")
    assert scene.found(status=JobStatus.COMPLETED, queue="b") == [wanted]


@pytest.mark.parametrize("status", [None, JobStatus.QUEUED])
def test_the_time_of_creation_is_filtered_from_inclusive_to_exclusive(scene: Scene, status: JobStatus | None) -> None:
    jobs = add_in_turn(scene, 6)
    found = scene.found(
        created_from=jobs[1].created_at, created_to=jobs[4].created_at, oldest_first=True, status=status
    )
    assert found == jobs[1:4]


def test_half_a_range_will_do(scene: Scene) -> None:
    jobs = add_in_turn(scene, 4)
    assert scene.found(created_from=jobs[2].created_at) == jobs[:1:-1]
    assert scene.found(created_to=jobs[2].created_at) == jobs[1::-1]


@pytest.mark.parametrize("oldest_first", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_paging_meets_every_job_once(scene: Scene, limit: int, oldest_first: bool) -> None:  # noqa: FBT001 - pytest's
    jobs = add_in_turn(scene, 7)
    found = pages(scene, limit=limit, oldest_first=oldest_first)
    assert all(len(page.jobs) <= limit for page in found)
    assert [job for page in found for job in page.jobs] == (jobs if oldest_first else jobs[::-1])


@pytest.mark.parametrize("oldest_first", [True, False])
@pytest.mark.parametrize("query", [{}, {"status": JobStatus.QUEUED}, {"queue": "default"}, {"tag": "red"}])
def test_paging_meets_jobs_of_one_moment_once(scene: Scene, query: dict, oldest_first: bool) -> None:  # noqa: FBT001
    jobs = [scene.job(tags=("red",)) for _ in range(9)]
    scene.store.add(jobs)
    found = [job.id for page in pages(scene, limit=2, oldest_first=oldest_first, **query) for job in page.jobs]
    assert sorted(found) == sorted(ids(jobs))


@pytest.mark.parametrize("status", JobStatus)
def test_paging_meets_every_job_of_a_status_once(scene: Scene, status: JobStatus) -> None:
    jobs = [scene.in_status(status, queue=queue) for queue in ("a", "b", "a", "b", "c")]
    for query in ({}, {"queue": "a"}):
        found = [job.id for page in pages(scene, status=status, limit=2, **query) for job in page.jobs]
        assert sorted(found) == sorted(job.id for job in jobs if query.get("queue") in (None, job.queue))


@pytest.mark.parametrize("status", [None, *JobStatus])
def test_from_any_job_of_a_page_a_query_goes_on_in_either_direction(scene: Scene, status: JobStatus | None) -> None:
    for queue in ("a", "b", "a", "b", "c"):
        scene.in_status(status or JobStatus.QUEUED, queue=queue)
    page = scene.store.find(Query(status=status))
    for at, cursor in enumerate(page.cursors):
        assert scene.store.find(Query(status=status, after=cursor)).jobs == page.jobs[at + 1 :]
        back = scene.store.find(Query(status=status, after=cursor, oldest_first=True))
        assert back.jobs == page.jobs[:at][::-1]
    assert len(page.cursors) == len(page.jobs) == 5


def test_the_last_page_has_no_next(scene: Scene) -> None:
    add_in_turn(scene, 3)
    assert scene.store.find(Query(limit=3)).next == ""


def test_jobs_deleted_between_pages_do_not_disturb_the_rest(scene: Scene) -> None:
    jobs = add_in_turn(scene, 6)
    page = scene.store.find(Query(limit=2, oldest_first=True))
    scene.store.delete(jobs[1:3])
    following = scene.store.find(Query(limit=10, oldest_first=True, after=page.next))
    assert following.jobs == jobs[3:]


def test_jobs_added_between_pages_do_not_disturb_the_rest(scene: Scene) -> None:
    jobs = add_in_turn(scene, 6)
    page = scene.store.find(Query(limit=2))
    add_in_turn(scene, 3)
    assert scene.store.find(Query(limit=10, after=page.next)).jobs == jobs[3::-1]


def test_jobs_that_leave_a_status_between_pages_do_not_disturb_the_rest(scene: Scene) -> None:
    jobs = add_in_turn(scene, 6)
    page = scene.store.find(Query(status=JobStatus.QUEUED, limit=2, oldest_first=True))
    scene.claim(limit=3)
    following = scene.store.find(Query(status=JobStatus.QUEUED, limit=10, oldest_first=True, after=page.next))
    assert following.jobs == jobs[3:]


def test_a_rare_job_is_found_among_many(scene: Scene) -> None:
    scene.store.add([scene.job() for _ in range(300)])
    scene.clock.advance(1)
    rare = scene.add(tags=("rare",), owner="zoë", name="rare")
    scene.clock.advance(1)
    scene.store.add([scene.job() for _ in range(300)])
    for query in ({"tag": "rare"}, {"owner": "zoë"}, {"name": "rare"}, {"name": "rare", "status": JobStatus.QUEUED}):
        assert scene.found(limit=10, **query) == [rare]


@pytest.mark.parametrize(
    "query",
    [
        *({"limit": limit} for limit in (0, -1, 1_001)),
        *({name: text} for name in ("queue", "name", "owner", "tag") for text in ("\x00", "\ud800")),
        *({name: at} for name in ("created_from", "created_to") for at in (2**63, -(2**63), 10**400)),
    ],
    ids=repr,
)
def test_a_query_that_no_store_can_answer_is_refused(query: dict) -> None:
    with pytest.raises(InvalidQuery):
        Query(**query)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "~",
        "9" * 40 + "~a",
        "\x00",
        "1.5~a",
        "\N{SUPERSCRIPT TWO}~a",
        "--5~a",
        "1~",
        "1~\x00",
        "1~\ud800",
        "1~" + "a" * 999,
    ],
)
def test_a_cursor_of_somebody_elses_making_is_refused(scene: Scene, text: str) -> None:
    scene.add()
    with pytest.raises(InvalidCursor):
        scene.store.find(Query(after=text))


@pytest.mark.parametrize(
    "end", ["1", "-1~1", "1~\N{SUPERSCRIPT TWO}", "1~" + "9" * 19, "1~" + "9" * 20, "1~" + "9" * 299, "0~0"]
)
@pytest.mark.parametrize("tail", ["", "@jobs:stream:default:2"])
@pytest.mark.parametrize("status", [None, JobStatus.QUEUED])
def test_a_cursor_of_another_store_is_refused_or_followed(
    scene: Scene, end: str, tail: str, status: JobStatus | None
) -> None:
    scene.add()
    with suppress(InvalidCursor):
        scene.store.find(Query(after=end + tail, status=status))
