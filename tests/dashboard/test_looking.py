"""What a preview reads: enough to say what would be done, and no more, however many jobs there are."""

import gc
from collections import Counter
from collections.abc import Iterator
from itertools import count
from uuid import uuid4

from asyncjobs.dashboard.operations.chunks import START
from asyncjobs.dashboard.operations.looking import LEAST, LOOKED_AT, SAMPLES, look
from asyncjobs.dashboard.operations.meeting import SIZE, Met
from asyncjobs.domain.job import Job, JobStatus

FAILED = JobStatus.FAILED


def page(size: int) -> Met:
    jobs = [Job(id=str(uuid4()), name="tests.large", status=FAILED, created_at=1, updated_at=1) for _ in range(size)]
    return Met(jobs, START, Counter(), size)


def test_pages_that_find_nothing_are_looked_at_a_few_times_and_no_more() -> None:
    numbers = count()
    looked, is_all = look(page(0) for _ in numbers)
    assert (looked.total, is_all) == (0, False)
    assert next(numbers) <= LOOKED_AT // LEAST + 2


def test_the_end_is_seen_where_there_is_one() -> None:
    looked, is_all = look(iter([page(3), page(0), page(2)]))
    assert (looked.total, looked.by_status, is_all) == (5, {FAILED: 5}, True)
    assert look(page(SIZE) for _ in range(LOOKED_AT // SIZE))[1]
    assert not look(page(SIZE) for _ in range(LOOKED_AT // SIZE + 1))[1]


def test_jobs_are_counted_and_let_go_but_for_a_few() -> None:
    pages: Iterator[Met] = (page(SIZE) for _ in range(3))
    looked, _ = look(pages)
    gc.collect()
    kept = [thing for thing in gc.get_objects() if type(thing) is Job and thing.name == "tests.large"]
    assert len(kept) == len(looked.samples) == SAMPLES
    assert looked.by_name == {"tests.large": 3 * SIZE}
