"""`journal`: entries come with a change, are numbered, bounded, and go with the job."""

import pytest

from asyncjobs.domain import transitions
from asyncjobs.domain.job import Job, JobStatus, Progress
from asyncjobs.errors import InvalidJob, InvalidQuery, StoreError
from asyncjobs.stores.base import JOURNAL_LIMITS, MAX_ENTRY, MAX_PAGE, Change, Entry, EntryKind, Store
from tests.backends import KINDS as KINDS_OF_STORE
from tests.scene import BOOM, Scene

KINDS: list[EntryKind] = ["log", "attempt", "action", "chunk"]


def line(text: str = "a line", *, kind: EntryKind = "log", at: int = 1_000) -> Entry:
    return Entry(kind, at, text)


def failure(job: Job, *entries: Entry, delay: int | None = None, now: int) -> Change:
    return Change(job, transitions.fail(job, BOOM, delay=delay, now=now), entries)


def texts(store: Store, job: Job, kind: EntryKind = "log") -> list[str]:
    return [entry.text for entry in store.journal(job.id, kind, limit=MAX_PAGE)]


def numbers(store: Store, job: Job, kind: EntryKind = "log") -> list[int]:
    return [entry.number for entry in store.journal(job.id, kind, limit=MAX_PAGE)]


def write(store: Store, *changes: Change) -> None:
    assert store.swap(changes) == [True] * len(changes)


def log(store: Store, job: Job, *lines: str) -> None:
    write(store, Change(job, job, tuple(line(text) for text in lines)))


def test_a_job_begins_with_an_empty_journal(scene: Scene) -> None:
    assert [scene.store.journal(scene.add().id, kind) for kind in KINDS] == [[] for _ in KINDS]


def test_a_job_that_does_not_exist_has_no_journal(scene: Scene) -> None:
    assert scene.store.journal(scene.job().id, "log") == []


def test_entries_come_with_the_change(scene: Scene) -> None:
    started = scene.started()
    change = failure(started, line("one", at=7), line("two", at=5), line("tried", kind="attempt"), now=scene.clock())
    write(scene.store, change)
    assert scene.stored(started) == change.new
    assert scene.store.journal(started.id, "log") == [Entry("log", 7, "one", 1), Entry("log", 5, "two", 2)]
    assert scene.store.journal(started.id, "attempt") == [Entry("attempt", 1_000, "tried", 1)]


def test_entries_come_with_an_exchange(scene: Scene) -> None:
    started = scene.started()
    change = failure(started, line("tried", kind="attempt"), now=scene.clock())
    written, claimed = scene.store.exchange([change], ["default"], worker="w1", limit=1, lease=1_000)
    assert (written, claimed) == ([True], [])
    assert texts(scene.store, started, "attempt") == ["tried"]


def test_a_stale_change_appends_nothing(scene: Scene) -> None:
    started = scene.started()
    scene.settle(transitions.release, started)
    assert scene.store.swap([failure(started, line(), now=scene.clock())]) == [False]
    assert texts(scene.store, started) == []


def test_a_change_that_is_stored_already_appends_nothing_again(scene: Scene) -> None:
    change = failure(scene.started(), line("once"), now=scene.clock())
    write(scene.store, change)
    write(scene.store, change)
    assert texts(scene.store, change.new) == ["once"]


def test_a_note_may_carry_entries_alone(scene: Scene) -> None:
    started = scene.started()
    log(scene.store, started, "one")
    log(scene.store, started, "two", "three")
    assert texts(scene.store, started) == ["one", "two", "three"]
    assert scene.stored(started) == started


def test_a_note_may_carry_entries_beside_progress(scene: Scene) -> None:
    started = scene.started()
    noted = transitions.report(started, Progress(done=1), now=scene.clock.advance(5))
    write(scene.store, Change(started, noted, (line("one"),)))
    assert scene.stored(started) == noted
    assert texts(scene.store, started) == ["one"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_note_on_a_job_that_moved_on_appends_nothing(scene: Scene, times: int) -> None:
    started = scene.started()
    scene.settle(transitions.release, started)
    for _ in range(times):
        assert scene.store.swap([Change(started, started, (line("late"),))]) == [False]
    assert texts(scene.store, started) == []


def test_a_note_on_a_job_that_is_gone_appends_nothing(scene: Scene) -> None:
    started = scene.started()
    scene.store.delete([started])
    assert scene.store.swap([Change(started, started, (line("late"),))]) == [False]
    assert texts(scene.store, started) == []


def test_a_note_leaves_a_ready_job_in_its_turn(scene: Scene) -> None:
    first, second = scene.add(), scene.add()
    log(scene.store, first, "one")
    assert [job.id for job in scene.claim(limit=2)] == [first.id, second.id]


@pytest.mark.parametrize("status", JobStatus)
def test_a_note_leaves_a_job_in_its_place_whatever_that_is(scene: Scene, status: JobStatus) -> None:
    job = scene.in_status(status, unique_key="k")
    counted, series = scene.counted(), scene.store.series(1)
    log(scene.store, job, "one")
    assert scene.stored(job) == job
    assert texts(scene.store, job) == ["one"]
    assert (scene.counted(), scene.store.series(1)) == (counted, series)


def test_the_lines_of_many_changes_of_one_job_come_in_order(scene: Scene) -> None:
    started = scene.started()
    done = transitions.complete(started, "1", now=scene.clock())
    write(scene.store, Change(started, started, (line("one"),)), Change(started, done, (line("two"),)))
    assert texts(scene.store, started) == ["one", "two"]


@pytest.mark.parametrize("of", ["log", "attempt", "action"])
def test_the_oldest_entries_go_first_and_leave_a_gap(scene: Scene, of: EntryKind) -> None:
    started, most = scene.started(), JOURNAL_LIMITS[of]
    for first in range(0, most + 50, 50):
        entries = tuple(line(str(number), kind=of) for number in range(first + 1, first + 51))
        write(scene.store, Change(started, started, entries))
    assert numbers(scene.store, started, of) == list(range(51, most + 51))
    assert texts(scene.store, started, of) == [str(number) for number in range(51, most + 51)]


def test_a_hundred_chunks_are_far_from_all_that_are_kept(scene: Scene) -> None:
    started = scene.started()
    for first in (1, 51):
        chunks = tuple(line(str(number), kind="chunk") for number in range(first, first + 50))
        write(scene.store, Change(started, started, chunks))
    assert numbers(scene.store, started, "chunk") == list(range(1, 101))
    assert JOURNAL_LIMITS["chunk"] > 100


def test_a_change_with_more_entries_than_are_kept_leaves_the_last(scene: Scene) -> None:
    started, most = scene.started(), JOURNAL_LIMITS["attempt"]
    for _ in range(2):
        write(scene.store, Change(started, started, (line(kind="attempt"),) * (most + 2)))
    assert numbers(scene.store, started, "attempt") == list(range(most + 5, 2 * most + 5))


def test_a_full_journal_takes_one_more(scene: Scene) -> None:
    started, most = scene.started(), JOURNAL_LIMITS["attempt"]
    write(scene.store, Change(started, started, (line(kind="attempt"),) * most))
    write(scene.store, Change(started, started, (line("last", kind="attempt"),)))
    assert numbers(scene.store, started, "attempt") == list(range(2, most + 2))
    assert texts(scene.store, started, "attempt")[-1] == "last"


def test_kinds_are_numbered_and_kept_apart(scene: Scene) -> None:
    started = scene.started()
    write(scene.store, Change(started, started, (line("a"), line("b", kind="attempt"), line("c"))))
    assert (texts(scene.store, started), numbers(scene.store, started)) == (["a", "c"], [1, 2])
    assert (texts(scene.store, started, "attempt"), numbers(scene.store, started, "attempt")) == (["b"], [1])


def test_a_journal_is_read_page_by_page(scene: Scene) -> None:
    started = scene.started()
    log(scene.store, started, *"abcdefg")
    read, after = [], 0
    while page := scene.store.journal(started.id, "log", after=after, limit=3):
        read.append([entry.text for entry in page])
        after = page[-1].number
    assert read == [["a", "b", "c"], ["d", "e", "f"], ["g"]]


def test_a_page_has_a_hundred_entries_unless_said_otherwise(scene: Scene) -> None:
    started = scene.started()
    log(scene.store, started, *map(str, range(120)))
    assert [entry.number for entry in scene.store.journal(started.id, "log")] == list(range(1, 101))


@pytest.mark.parametrize(
    "page", [{"limit": 0}, {"limit": -1}, {"limit": MAX_PAGE + 1}, {"after": -1}, {"after": 2**64}], ids=str
)
def test_a_page_that_cannot_be_is_refused(store: Store, page: dict[str, int]) -> None:
    with pytest.raises(InvalidQuery):
        store.journal("6f1c2b8e-4d0a-4b57-9a63-0c8f6d1e2a34", "log", **page)


@pytest.mark.parametrize(
    "text", ["", "„schön“ 漢\n\t\x1b[1m", "\U0001f600" * (MAX_ENTRY // 4), "x" * MAX_ENTRY], ids=lambda text: text[:9]
)
def test_an_entry_is_kept_to_the_letter(scene: Scene, text: str) -> None:
    started = scene.started()
    log(scene.store, started, text)
    assert texts(scene.store, started) == [text]


@pytest.mark.parametrize("kind", [kind for kind in KINDS_OF_STORE if kind != "memory"])
def test_an_entry_that_is_no_text_is_an_error_of_the_store(scene: Scene) -> None:
    started = scene.started()
    with pytest.raises(StoreError):
        log(scene.store, started, "one", "\ud800")
    assert texts(scene.store, started) == []


@pytest.mark.parametrize("text", ["x" * (MAX_ENTRY + 1), "ä" * (MAX_ENTRY // 2) + "x"], ids=lambda text: text[:1])
def test_an_entry_that_is_too_large_is_refused_before_anything_is_written(scene: Scene, text: str) -> None:
    first, second = scene.started(), scene.started()
    changes = [failure(first, line(), now=scene.clock()), failure(second, line(text), now=scene.clock())]
    with pytest.raises(InvalidJob) as refusal:
        scene.store.swap(changes)
    assert refusal.value.job_id == second.id
    with pytest.raises(InvalidJob):
        scene.store.exchange(changes, ["default"], worker="w1", limit=1, lease=1_000)
    assert (scene.stored(first), scene.stored(second)) == (first, second)
    assert texts(scene.store, first) == []


def test_a_deleted_jobs_journal_is_gone(scene: Scene) -> None:
    started = scene.started()
    write(scene.store, failure(started, line(), line(kind="attempt"), now=scene.clock()))
    assert scene.store.delete([scene.stored(started)]) == [True]
    assert [texts(scene.store, started, kind) for kind in KINDS] == [[] for _ in KINDS]


def test_a_job_added_again_begins_with_an_empty_journal(scene: Scene) -> None:
    started = scene.started()
    log(scene.store, started, "of the former life")
    scene.store.delete([started])
    again = scene.put(scene.job(id=started.id))
    assert texts(scene.store, again) == []
    log(scene.store, again, "first")
    assert numbers(scene.store, again) == [1]


def test_a_pruned_jobs_journal_is_gone_and_the_others_stay(scene: Scene) -> None:
    pruned, kept = scene.started(), scene.started()
    for job in (pruned, kept):
        write(scene.store, failure(job, *(line(kind=kind) for kind in KINDS), now=scene.clock.advance(10)))
    last = scene.stored(kept)
    assert scene.store.prune({last.status: last.score}, limit=10) == 1
    assert [texts(scene.store, pruned, kind) for kind in KINDS] == [[] for _ in KINDS]
    assert [len(texts(scene.store, kept, kind)) for kind in KINDS] == [1] * len(KINDS)


def test_a_journal_survives_a_retry_by_hand(scene: Scene) -> None:
    first = failure(scene.started(), line("first", kind="attempt"), now=scene.clock())
    write(scene.store, first)
    scene.settle(transitions.retry, first.new)
    [again] = scene.claim()
    write(scene.store, failure(again, line("second", kind="attempt"), now=scene.clock()))
    assert texts(scene.store, again, "attempt") == ["first", "second"]
    assert numbers(scene.store, again, "attempt") == [1, 2]


def test_many_jobs_with_and_without_entries_are_written_in_one_call(scene: Scene) -> None:
    jobs = scene.started_many(250)
    expected = [[f"{place}.{number}" for number in range(place % 4)] for place in range(len(jobs))]
    changes = [
        Change(job, transitions.complete(job, str(place), now=scene.clock()), tuple(map(line, expected[place])))
        for place, job in enumerate(jobs)
    ]
    write(scene.store, *changes)
    assert scene.store.get([job.id for job in jobs]) == [change.new for change in changes]
    assert [texts(scene.store, job) for job in jobs] == expected


def test_of_a_batch_only_the_written_changes_append(scene: Scene) -> None:
    jobs = [scene.started() for _ in range(3)]
    scene.settle(transitions.release, jobs[1])
    changes = [failure(job, line("tried", kind="attempt"), delay=5, now=scene.clock()) for job in jobs]
    assert scene.store.swap(changes) == [True, False, True]
    assert [texts(scene.store, job, "attempt") for job in jobs] == [["tried"], [], ["tried"]]
