"""The tables behind the ORM store: the tally stays short and right, damage is healed, the clock is written rarely."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connections, transaction
from django.test.utils import CaptureQueriesContext

from asyncjobs.domain import transitions
from asyncjobs.domain.job import FIELDS, JobStatus
from asyncjobs.models import (
    ClockRecord,
    EntryRecord,
    FaultRecord,
    GoneRecord,
    JobRecord,
    ReceiptRecord,
    RestingRecord,
    TagRecord,
    TallyRecord,
    WorkerRecord,
)
from asyncjobs.stores.base import DAY_MS, FAULT_DAYS, GONE_MS, Change, Entry, Receipt, Store
from asyncjobs.stores.orm import folding, fsck
from asyncjobs.stores.orm.store import OrmStore
from tests.backends import OrmBackend
from tests.scene import LEASE, Scene, ids
from tests.threads import in_threads

every_database = pytest.mark.parametrize("kind", ["sqlite", "postgres", "mariadb"])


@pytest.fixture
def alias(backend: OrmBackend) -> str:
    return backend.alias


def test_every_field_of_a_job_has_its_column() -> None:
    columns = {field.name for field in JobRecord._meta.get_fields()}
    assert columns == {*FIELDS, "seq", "position", "unique_held"}
    resting = {field.name for field in RestingRecord._meta.get_fields()}
    assert resting == columns - {"unique_held"} | {"deleted_at", "rests_until"}


def test_every_table_column_and_index_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/orm.md").read_text()
    for model in apps.get_app_config("asyncjobs").get_models():
        if not model._meta.managed:
            continue
        names = {field.name for field in model._meta.fields if field.column} | {
            index.name for index in model._meta.indexes
        }
        assert not {name for name in {model._meta.db_table, *names} if not re.search(rf"\b{name}\b", page)}


@every_database
def test_folding_changes_no_figure(scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "FOLD_EVERY", 10**9)
    for _ in range(3):
        scene.add(queue="mail")
        scene.completed()
        scene.clock.advance(60_000)
    counts, series = scene.store.counts(), scene.store.series(10)
    rows = TallyRecord.objects.using(alias)
    before = rows.count()
    assert scene.store.prune({}, limit=1) == 0
    assert 0 < rows.count() < before
    assert scene.store.counts() == counts
    assert scene.store.series(10) == series
    scene.completed()
    scene.store.prune({}, limit=1)
    assert sum(minute.count for minute in scene.store.series(10)) == 4


@every_database
def test_the_tally_stays_short_whoever_writes(scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "FOLD_EVERY", 10)
    for _ in range(30):
        scene.add()
    assert TallyRecord.objects.using(alias).count() <= 11
    assert scene.counted() == {JobStatus.QUEUED: 30}


@every_database
def test_the_tally_stays_short_under_a_worker(scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.store.add([scene.job() for _ in range(30)])
    monkeypatch.setattr(folding, "FOLD_EVERY", 10)
    changes: list[Change] = []
    for _ in range(31):
        _, jobs = scene.store.exchange(changes, ["default"], worker="w1", limit=1, lease=LEASE)
        changes = [Change(job, transitions.complete(job, "1", now=scene.clock())) for job in jobs]
    assert TallyRecord.objects.using(alias).count() < 30
    assert scene.counted() == {JobStatus.COMPLETED: 30}


@every_database
def test_a_reader_of_a_long_tally_shortens_it(scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "FOLD_ABOVE", 5)
    for _ in range(8):
        scene.add()
    assert scene.counted() == {JobStatus.QUEUED: 8}
    assert TallyRecord.objects.using(alias).count() == 1


@every_database
def test_the_tally_is_not_folded_in_the_callers_transaction(
    scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "FOLD_EVERY", 2)
    with transaction.atomic(using=alias):
        for _ in range(5):
            scene.add()
        assert TallyRecord.objects.using(alias).count() == 5


@every_database
def test_the_tally_of_faults_stays_short_too(scene: Scene, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = FaultRecord.objects.using(alias)
    for _ in range(6):
        scene.failed()
        scene.settle(transitions.retry, scene.failed(name="other"))
        scene.claim()
    before = scene.store.faults(10)
    assert (len(before), rows.count()) == (1, 18)
    monkeypatch.setattr(folding, "FOLD_ABOVE", 5)
    assert scene.store.faults(10) == before
    assert rows.count() == 1
    assert scene.store.faults(10) == before
    scene.clock.advance(40 * DAY_MS)
    scene.store.prune({}, limit=1)
    assert [(fault.count, fault.days) for fault in scene.store.faults(10)] == [(6, (0,) * FAULT_DAYS)]


def _tag_another(alias: str) -> None:
    job = JobRecord.objects.using(alias).get(status=400)
    TagRecord.objects.using(alias).create(tag="red", created_at=job.created_at, seq=job.seq)


DAMAGE: list[tuple[str, Callable[[str], object]]] = [
    ("MISPLACED", lambda alias: JobRecord.objects.using(alias).filter(status=100).update(position=1)),
    ("KEY_ASTRAY", lambda alias: JobRecord.objects.using(alias).filter(status=400).update(unique_held="k")),
    ("ASTRAY", lambda alias: TagRecord.objects.using(alias).create(tag="blue", created_at=1, seq=10**9)),
    ("ASTRAY", lambda alias: _tag_another(alias)),
    ("ASTRAY", lambda alias: EntryRecord.objects.using(alias).create(seq=10**9, kind="log", number=1, at=1, text="x")),
    ("NOT_INDEXED", lambda alias: TagRecord.objects.using(alias).all().delete()),
    (
        "MISCOUNTED",
        lambda alias: TallyRecord.objects.using(alias).create(queue="default", status=100, amount=5, ended=0, at=0),
    ),
    ("MISCOUNTED", lambda alias: FaultRecord.objects.using(alias).create(fault="f" * 16, day=0, amount=-1)),
    ("MISCOUNTED", lambda alias: FaultRecord.objects.using(alias).all().delete()),
]


@every_database
@pytest.mark.parametrize(("code", "damage"), DAMAGE)
def test_damage_is_found_and_healed(
    scene: Scene, alias: str, code: str, damage: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fsck, "STEP", 1)
    jobs = [scene.started(), scene.completed(unique_key="k"), scene.failed(), scene.add(tags=("red",))]
    scene.store.swap([Change(jobs[0], jobs[0], (Entry("log", 1, "kept"),))])

    def seen() -> tuple[object, ...]:
        store = scene.store
        return store.get(ids(jobs)), store.counts(), store.faults(10), ids(scene.found(tag="red"))

    healthy = seen()
    damage(alias)
    assert {(finding.code, finding.fixed) for finding in scene.store.check()} == {(code, False)}
    assert {(finding.code, finding.fixed) for finding in scene.store.check(fix=True)} == {(code, True)}
    assert scene.store.check() == []
    assert seen() == healthy
    assert scene.store.journal(jobs[0].id, "log") == [Entry("log", 1, "kept", 1)]


@every_database
def test_a_job_that_is_stored_and_in_the_trash_is_taken_out_of_the_trash(scene: Scene, alias: str) -> None:
    job = scene.add()
    scene.store.delete([job], rest_until=scene.clock(), note=Entry("action", 1, "kept"))
    resting = RestingRecord.objects.using(alias).get()
    scene.store.restore([job.id])
    resting.save(using=alias, force_insert=True)
    assert [(finding.code, finding.fixed) for finding in scene.store.check(fix=True)] == [("TWO_PLACES", True)]
    assert scene.store.check() == []
    assert scene.store.trash().resting == []
    assert [entry.text for entry in scene.store.journal(job.id, "action")] == ["kept"]


@every_database
def test_a_job_of_unknown_status_becomes_a_dead_letter(scene: Scene, alias: str) -> None:
    job = scene.add()
    JobRecord.objects.using(alias).update(status=123)
    assert "UNKNOWN_STATUS" in {finding.code for finding in scene.store.check()}
    assert all(finding.fixed for finding in scene.store.check(fix=True))
    stored = scene.stored(job)
    assert (stored.status, stored.version) == (JobStatus.FAILED, job.version + 1)
    assert scene.counted() == {JobStatus.FAILED: 1}
    assert [fault.newest for fault in scene.store.faults(10)] == [job.id]


@every_database
def test_a_job_that_lives_loses_its_fault(scene: Scene, alias: str) -> None:
    job = scene.add()
    JobRecord.objects.using(alias).update(fault="f" * 16)
    assert [finding.code for finding in scene.store.check(fix=True)] == ["FAULT_ASTRAY"]
    assert scene.stored(job) == job


@every_database
def test_a_running_job_without_a_deadline_gets_one(scene: Scene, alias: str) -> None:
    job = scene.started()
    JobRecord.objects.using(alias).update(claimed_until=None)
    assert [finding.code for finding in scene.store.check(fix=True)] == ["MISPLACED"]
    assert scene.stored(job) == job


@every_database
def test_the_lease_clock_is_written_only_when_it_moved(scene: Scene, alias: str) -> None:
    def written() -> int:
        return ClockRecord.objects.using(alias).get().last

    start = scene.clock()
    scene.store.beat("w1", {}, lease=LEASE)
    scene.clock.advance(LEASE // 10)
    scene.store.beat("w1", {}, lease=LEASE)
    assert written() == start
    scene.clock.advance(LEASE // 10)
    scene.store.beat("w1", {}, lease=LEASE)
    assert written() == scene.clock()


@every_database
def test_a_worker_beats_from_two_threads_at_once(backend: OrmBackend, scene: Scene) -> None:
    stores: list[Store] = [backend.open(clock=scene.clock) for _ in range(4)]
    in_threads(*[lambda store=store: store.beat("w1", {}, lease=LEASE) for store in stores])
    assert WorkerRecord.objects.using(backend.alias).count() == 1


@every_database
def test_the_store_tells_the_databases_time(backend: OrmBackend) -> None:
    store = OrmStore(database=backend.alias)
    first = store.now()
    assert abs(first - OrmStore(database=backend.alias).now()) < 5_000
    with CaptureQueriesContext(connections[backend.alias]) as queries:
        assert store.now() >= first
    assert len(queries) == 0


@every_database
def test_pruning_removes_what_ran_out(scene: Scene, alias: str) -> None:
    start = scene.clock()
    for until in (1, 2, 3):
        scene.store.beat(f"w{until}", {}, lease=LEASE)
        scene.store.add([], receipt=Receipt(str(until), "f", "", start + until))
        scene.store.delete([scene.add(owner="ada")])
        scene.clock.advance(1)
    scene.clock.advance(-1)
    assert scene.store.prune({}, limit=1) == 0
    assert [kept.id for kept in ReceiptRecord.objects.using(alias).all()] == ["3"]
    scene.clock.advance(DAY_MS - 1)
    scene.store.prune({}, limit=1)
    assert [kept.worker for kept in WorkerRecord.objects.using(alias).all()] == ["w3"]
    scene.clock.advance(GONE_MS - DAY_MS)
    scene.store.prune({}, limit=1)
    assert [gone.at for gone in GoneRecord.objects.using(alias).all()] == [start + 2]
    assert ReceiptRecord.objects.using(alias).count() == 0
