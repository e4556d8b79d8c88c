"""One job of a kind at a time: its key, how long it is held, and what becomes of a twin."""

from dataclasses import replace
from typing import Any

import pytest

from asyncjobs import Engine, Handler, Job, JobStatus, Unique, job
from asyncjobs.conf import Conf
from asyncjobs.current import exchange_engine
from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobError
from asyncjobs.errors import DuplicateJob, InvalidArguments, InvalidJob, QueueFull
from asyncjobs.stores.base import Receipt, Repeated, Store
from asyncjobs.stores.memory import MemoryStore
from tests.backends import Backend
from tests.clock import Clock
from tests.scene import Scene


@job(name="sync")
def sync(shop: int, day: str = "today", *pages: int, full: bool = False, **more: Any) -> None: ...


@pytest.fixture(autouse=True)
def engine(store: Store, backend: Backend) -> Any:
    engine = Engine(store, Conf(database=getattr(backend, "alias", "default")))
    before = exchange_engine(engine)
    yield engine
    exchange_engine(before)


def unique(**options: Any) -> Handler[..., None]:
    return sync.using(unique=Unique(**options))


def test_all_arguments_make_the_key_when_none_is_given() -> None:
    handler = sync.using(unique=True)
    first = handler.submit(1, "monday", full=True)
    assert handler.submit(full=True, day="monday", shop=1) == first
    assert handler.submit(1, "tuesday", full=True) != first
    assert handler.submit(1, "monday") != first
    assert handler.submit(1, "monday", 2, full=True) != first


def test_a_format_string_names_arguments() -> None:
    handler = sync.using(unique="{shop}-{day}")
    first = handler.submit(1)
    assert first.unique_key == "sync:1-today"
    assert handler.submit(1, full=True) == first
    assert handler.submit(1, "monday") != first


def test_a_function_makes_a_key() -> None:
    handler = unique(key=lambda shop, **rest: f"shop {shop}")
    first = handler.submit(1, full=True)
    assert first.unique_key == "sync:shop 1"
    assert handler.submit(1) == first


def test_a_key_belongs_to_its_handler() -> None:
    other = job(name="other sync", unique="{shop}")(lambda shop: None)
    assert other.submit(1) != sync.using(unique="{shop}").submit(1)


def test_a_unique_handler_of_the_longest_name_has_a_key() -> None:
    handler = job(name="n" * 200, unique=True)(lambda: None)
    assert len(handler.submit().unique_key or "") <= 200


@pytest.mark.parametrize(
    "key",
    ["x" * 200, "a\0b", "a\nb", "\ud800", lambda *args, **kwargs: 5, lambda *args, **kwargs: "\x1b"],
    ids=["long", "nul", "newline", "surrogate", "a number", "an escape"],
)
def test_a_bad_key_is_refused(key: Any, engine: Engine) -> None:
    with pytest.raises(InvalidJob):
        unique(key=key).submit(1)
    assert engine.counts() == []


@pytest.mark.parametrize("key", ["{shopp}", "{shop.name}", "{0.x}", "{", "{5}"])
def test_a_key_that_cannot_be_formatted_is_a_clear_error(key: str) -> None:
    with pytest.raises(InvalidJob, match="unique key"):
        unique(key=key).submit(1)


@pytest.mark.parametrize(
    "options", [{"while_": "always"}, {"on_conflict": "ignore"}, {"ttl": 0}, {"ttl": -1}, {"ttl": "1"}], ids=str
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidJob):
        Unique(**options)


def test_arguments_are_checked_before_the_key_is_made() -> None:
    untyped: Any = sync.using(unique=True)
    with pytest.raises(InvalidArguments):
        untyped.submit()


def test_a_key_is_held_while_pending(scene: Scene) -> None:
    handler = unique(while_="pending")
    first = handler.submit(1)
    assert handler.submit(1) == first
    scene.claim()
    assert handler.submit(1) != first


def test_a_key_is_held_while_running(scene: Scene) -> None:
    handler = unique()
    first = handler.submit(1)
    [held] = scene.claim()
    assert handler.submit(1) == held
    scene.settle(transitions.complete, held, None)
    assert handler.submit(1).id != first.id


def test_a_key_is_held_for_a_time(scene: Scene) -> None:
    handler = unique(ttl=60)
    first = handler.submit(1)
    done = scene.settle(transitions.complete, scene.claim()[0], None)
    scene.clock.advance(59_999)
    assert handler.submit(1) == done
    scene.clock.advance(1)
    assert handler.submit(1).id != first.id


def test_a_twin_can_be_an_error(scene: Scene) -> None:
    handler = unique(on_conflict="raise")
    first = handler.submit(1)
    with pytest.raises(DuplicateJob) as caught:
        handler.submit(1)
    assert caught.value.job_id == first.id


def test_a_pending_twin_can_be_replaced(engine: Engine) -> None:
    handler = unique(on_conflict="replace")
    first = handler.submit_in(60, 1)
    second = handler.submit_in(30, 1)
    assert engine.get(second.id) == second
    replaced = engine.get(first.id)
    assert replaced.status == JobStatus.CANCELED
    assert replaced.error == JobError(code="JOB_CANCELED", message=f"replaced by job {second.id}")


def test_a_job_makes_way_for_one_of_its_owner_or_of_nobodys(engine: Engine) -> None:
    handler = unique(on_conflict="replace")
    anns = handler.using(owner="ann").submit(1)
    with pytest.raises(DuplicateJob) as caught:
        handler.using(owner="bob").submit(1)
    assert caught.value.job_id == anns.id
    again = handler.using(owner="ann").submit(1)
    nobodys = handler.submit(1)
    statuses = [engine.get(job.id).status for job in (anns, again, nobodys)]
    assert statuses == [JobStatus.CANCELED, JobStatus.CANCELED, JobStatus.QUEUED]


def test_a_twin_stays_when_what_replaces_it_is_refused(engine: Engine) -> None:
    first = unique(on_conflict="replace").submit(1)
    refused = unique(on_conflict="replace").using(queue="full")
    sync.using(queue="full").submit(2)
    before = exchange_engine(Engine(engine.store, replace(engine.conf, queues={"full": 1})))
    with pytest.raises(QueueFull):
        refused.submit(1)
    exchange_engine(before)
    assert engine.get(first.id).status == JobStatus.QUEUED
    assert unique().submit(1).id == first.id


def test_a_running_twin_is_not_replaced(scene: Scene) -> None:
    handler = unique(on_conflict="replace")
    first = handler.submit(1)
    [held] = scene.claim()
    with pytest.raises(DuplicateJob) as caught:
        handler.submit(1)
    assert caught.value.job_id == first.id
    assert scene.stored(first) == held


def test_a_twin_that_holds_its_key_for_a_time_is_replaced_while_pending(engine: Engine, scene: Scene) -> None:
    handler = unique(ttl=60, on_conflict="replace")
    first, second = handler.submit(1), handler.submit(1)
    assert engine.get(first.id).status == JobStatus.CANCELED
    assert [job.id for job in scene.claim()] == [second.id]
    with pytest.raises(DuplicateJob):
        handler.submit(1)


def test_many_replace_their_twins(engine: Engine) -> None:
    handler = unique(on_conflict="replace")
    old = handler.submit_many(handler.call(shop) for shop in range(30))
    new = handler.submit_many(handler.call(shop) for shop in range(20, 50))
    assert {engine.get(job.id).status for job in old[:20] + new} == {JobStatus.QUEUED}
    assert {engine.get(job.id).status for job in old[20:]} == {JobStatus.CANCELED}


def test_of_twins_in_one_call_the_first_is_stored(engine: Engine) -> None:
    handler = unique()
    assert distinct(handler.submit_many(handler.call(shop) for shop in (1, 2, 1))) == 2


def test_of_replacing_twins_in_one_call_the_last_is_stored(engine: Engine) -> None:
    handler = unique(key="{shop}", on_conflict="replace")
    first, other, last = handler.submit_many(handler.call(shop, day) for shop, day in ((1, "a"), (2, "b"), (1, "c")))
    assert first == last == engine.get(last.id)
    assert '"c"' in last.payload
    assert engine.get(other.id) == other


def test_twins_in_one_call_can_be_an_error(engine: Engine) -> None:
    handler = unique(on_conflict="raise")
    with pytest.raises(DuplicateJob):
        handler.submit_many(handler.call(shop) for shop in (1, 2, 1))
    assert engine.counts() == []


def distinct(jobs: list[Job]) -> int:
    return len({job.id for job in jobs})


def receipt(engine: Engine, text: str, fingerprint: str = "f") -> Receipt:
    return Receipt("a1", fingerprint, text, engine.store.now() + 1_000)


def test_a_repeated_request_replaces_no_twin(engine: Engine, scene: Scene) -> None:
    first, second = scene.job(unique_key="k"), scene.job(unique_key="k")
    engine.submit_many([first], on_conflict="replace", receipt=receipt(engine, "first"))
    with pytest.raises(Repeated):
        engine.submit_many([second], on_conflict="replace", receipt=receipt(engine, "second"))
    assert engine.get(first.id) == first


def test_a_receipt_names_those_that_make_way_for_others_of_their_request(engine: Engine, scene: Scene) -> None:
    jobs = [scene.job(unique_key="k"), scene.job(), scene.job(unique_key="k")]
    given = receipt(engine, "first")
    answers = [jobs[2], jobs[1], jobs[2]]
    for _ in range(2):
        assert engine.submit_many(jobs, on_conflict="replace", receipt=given) == answers
    with pytest.raises(Repeated) as caught:
        engine.submit_many([scene.job()], on_conflict="replace", receipt=receipt(engine, "second"))
    assert caught.value.receipt == given._replace(twins=((0, jobs[2].id),))


class Overtaken(MemoryStore):
    """Between a look at the twin and its end, another request is answered."""

    def __init__(self, other: Receipt, jobs: list[Job], clock: Clock) -> None:
        super().__init__(clock=clock)
        self.other = other
        self.jobs = jobs

    def swap(self, changes: Any) -> list[bool]:
        written = super().swap(changes)
        self.add(self.jobs, receipt=self.other)
        return written


@pytest.mark.parametrize("kind", ["memory"])
@pytest.mark.parametrize(
    ("fingerprint", "outcome"), [("f", JobStatus.CANCELED), ("f0", JobStatus.QUEUED)], ids=["same", "other"]
)
def test_a_twin_stays_away_if_the_same_request_took_its_place(
    engine: Engine, scene: Scene, fingerprint: str, outcome: JobStatus
) -> None:
    twin, winner, late = (scene.job(unique_key="k") for _ in range(3))
    other = receipt(engine, "first", fingerprint)
    jobs = [winner] if outcome == JobStatus.CANCELED else []
    overtaken = Engine(Overtaken(other, jobs, scene.clock), engine.conf)
    overtaken.submit(twin)
    with pytest.raises(Repeated):
        overtaken.submit_many([late], on_conflict="replace", receipt=other._replace(fingerprint="f", text="second"))
    assert overtaken.get(twin.id).status == outcome
