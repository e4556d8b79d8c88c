"""The page of dead letters, those that failed alike together; and where else groups are met."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from asyncjobs import Engine, Job, JobStatus
from asyncjobs.dashboard.views import dead as page_of_dead
from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobError
from asyncjobs.ids import new_ids
from asyncjobs.stores.base import DAY_MS, MAX_FAULTS
from tests.dashboard.conftest import ClientAs, StaffWith
from tests.dashboard.shop import HOSTILE

PAGE = reverse("admin:asyncjobs_dead")
JOBS = reverse("admin:asyncjobs_jobs")


def died(engine: Engine, message: str = "order 1 is gone", *, ago: int = 0, name: str = "shop.pay") -> Job:
    """A job that failed for good so many milliseconds ago."""
    now = engine.store.now() - ago
    job = Job(id=new_ids(1)[0], name=name, created_at=now, updated_at=now)
    error = JobError(code="HANDLER_ERROR", type="builtins.LookupError", message=message)
    dead = transitions.fail(transitions.start(job, worker="w", until=now, now=now), error, delay=None, now=now)
    [stored] = engine.store.add([dead])
    return stored


def text(client: Client, url: str = PAGE, **params: Any) -> str:
    response = client.get(url, params)
    assert response.status_code == 200
    return response.content.decode()


def messages(page: str) -> list[str]:
    return re.findall(r'<span class="aj-plain">([^<]*)</span></a>', page)


def words(page: str, name: str) -> list[str]:
    """What the elements say whose ids begin so."""
    found = re.findall(rf'<span id="{name}[0-9a-f]+"[^>]*>(.*?)</span>', page, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", part).split()) for part in found]


def poll(client: Client, page: str, **params: Any) -> Any:
    """The answer to a poll of this page."""
    given = dict(re.findall(r'name="(seen|shown)" value="([^"]*)"', page))
    return client.get(PAGE, {"_live": "", **given, **params}, headers={"HX-Request": "true"})


def test_nothing_failed_for_good(engine: Engine, boss: Client) -> None:
    page = text(boss)
    assert "Nothing has failed for good." in page
    assert "without a group" not in page


def test_jobs_that_failed_alike_are_one_group_told_by_the_newest(engine: Engine, boss: Client) -> None:
    died(engine, "order 17 is gone", ago=3 * DAY_MS)
    newest = died(engine, "order 18 is gone")
    died(engine, "order 19 is late")
    page = text(boss)
    assert sorted(messages(page)) == ["order 18 is gone", "order 19 is late"]
    assert sorted(words(page, "aj-n-")) == ["1", "2"]
    assert f'href="{reverse("admin:asyncjobs_job", args=[newest.id])}"' in page
    assert "today last: 0, 0, 0, 1, 0, 0, 1" in page
    assert "shop." in page


def test_a_group_leads_to_its_jobs(engine: Engine, boss: Client) -> None:
    mine, other = died(engine, "order 17 is gone"), died(engine, "order 19 is late")
    [address] = re.findall(rf'href="({JOBS}\?status=failed&amp;q=fault%3A{mine.fault})"', text(boss))
    listed = text(boss, address.replace("&amp;", "&"))
    assert mine.id in listed
    assert other.id not in listed
    assert text(boss, JOBS, q=f"fault:{mine.fault}").count('type="checkbox" name="id"') == 1


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["new", "often", "old"]),
        ("last", ["new", "often", "old"]),
        ("jobs", ["often", "new", "old"]),
        ("first", ["new", "old", "often"]),
        ("nonsense", ["new", "often", "old"]),
    ],
)
def test_groups_are_sorted(engine: Engine, boss: Client, sort: str, order: list[str]) -> None:
    for message, ago in (("often", 90_000), ("old", 60_000), ("often", 30_000), ("new", 1_000)):
        died(engine, message, ago=ago)
    died(engine, "new", ago=0)
    died(engine, "often", ago=20_000)
    assert messages(text(boss, sort=sort)) == order


def test_of_many_groups_a_page_shows_some(engine: Engine, boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_dead, "ROWS", 2)
    for number, letter in enumerate("abcde"):
        died(engine, letter, ago=number * 1_000)
    page = text(boss)
    assert messages(page) == ["a", "b"]
    assert 'rel="prev"' not in page
    assert messages(text(boss, page="3")) == ["e"]
    assert messages(text(boss, page="99")) == ["e"]
    assert 'rel="next"' not in text(boss, page="3")


def test_of_very_many_groups_it_says_which_these_are(engine: Engine, boss: Client) -> None:
    for number in range(MAX_FAULTS + 1):
        died(engine, "x" * (number % 300 + 1), name=f"shop.{number}")
    assert "These are the 500 groups that were seen last." in text(boss)


def test_one_is_tried_before_the_others(engine: Engine, boss: Client) -> None:
    died(engine, "order 17 is gone", ago=1_000)
    newest = died(engine, "order 18 is gone")
    page = text(boss)
    [address] = re.findall(r'<form method="post" action="([^"]*/retry/)">', page)
    [after] = re.findall(r'name="next" value="([^"]*/jobs/[^"]*)"', page)
    response = boss.post(address, {"next": after}, follow=True)
    assert response.redirect_chain == [(reverse("admin:asyncjobs_job", args=[newest.id]), 302)]
    assert engine.get(newest.id).status == JobStatus.SCHEDULED
    assert words(text(boss), "aj-n-") == ["1"]


def test_only_what_is_allowed_is_offered(engine: Engine, client_as: ClientAs, staff_with: StaffWith) -> None:
    died(engine)
    assert client_as(staff_with()).get(PAGE).status_code == 403
    assert "Try 1 first" not in text(client_as(staff_with("view_dashboard")))
    assert "Try 1 first" in text(client_as(staff_with("view_dashboard", "retry_job")))


def test_a_poll_brings_the_groups_that_the_page_shows(engine: Engine, boss: Client) -> None:
    left, stays = died(engine, "order 17 is gone", ago=5_000), died(engine, "order 19 is late")
    page = text(boss)
    assert poll(boss, page).status_code == 200
    died(engine, "order 20 is late")
    engine.retry(left.id)
    answer = poll(boss, page).content.decode()
    assert words(answer, "aj-n-") == ["2", "0"]
    assert words(answer, "aj-l-")[1] == "none left"
    assert set(re.findall(r'id="(aj-[nld]-\w+)"', answer)) <= set(re.findall(r'id="([\w-]+)"', page))
    assert stays.fault


def test_a_poll_with_nothing_new_is_answered_with_nothing(engine: Engine, boss: Client) -> None:
    died(engine)
    page = text(boss)
    [digest] = re.findall(r'id="aj-rev"[^>]* value="(\w+)"', poll(boss, page).content.decode())
    assert poll(boss, page, _live=digest).status_code == 204


def test_a_poll_tells_of_other_groups_and_moves_no_row(engine: Engine, boss: Client) -> None:
    died(engine)
    page = text(boss)
    assert "There are other groups now" not in poll(boss, page).content.decode()
    died(engine, "something else")
    answer = poll(boss, page).content.decode()
    assert "There are other groups now" in answer
    assert "something else" not in answer


def test_a_poll_by_hand_is_no_error(engine: Engine, boss: Client) -> None:
    died(engine)
    assert poll(boss, "", shown=f"{HOSTILE[0]},,x" + ",y" * 500).status_code == 200


def test_names_of_others_are_text(engine: Engine, boss: Client) -> None:
    for hostile in HOSTILE:
        died(engine, hostile, name=hostile)
    page = text(boss)
    assert "<img" not in page
    assert not set("\x1b\x07\N{RIGHT-TO-LEFT OVERRIDE}") & set(page)


def test_a_dead_job_of_no_group_is_in_the_list(engine: Engine, boss: Client) -> None:
    dead = died(engine)
    engine.store.delete([dead])
    engine.store.add([dead.replace(fault=None)])
    assert "Failed jobs without a group" in text(boss)


def test_a_job_that_failed_names_those_that_failed_alike(engine: Engine, boss: Client) -> None:
    alike = died(engine, "order 17 is gone", ago=5_000)
    other = died(engine, "order 19 is late")
    page = text(boss, reverse("admin:asyncjobs_job", args=[died(engine, "order 20 is gone").id]))
    assert reverse("admin:asyncjobs_job", args=[alike.id]) in page
    assert other.id not in page
    assert f"?status=failed&amp;q=fault:{alike.fault}" in page


def test_a_job_that_will_be_tried_again_names_the_dead_that_failed_so(engine: Engine, boss: Client) -> None:
    dead = died(engine)
    retrying = dead.replace(id=new_ids(1)[0], status=JobStatus.SCHEDULED, due_at=engine.store.now(), fault=None)
    engine.store.add([retrying.replace(completed_at=None)])
    assert dead.id in text(boss, reverse("admin:asyncjobs_job", args=[retrying.id]))


def test_the_first_page_counts_whole_groups(engine: Engine, boss: Client) -> None:
    for number in range(120):
        dead = died(engine, f"order {number} is gone", ago=number)
    page = text(boss, reverse("admin:asyncjobs_dashboard_changelist"))
    assert re.search(rf'q=fault%3A{dead.fault}">120</a>', page)
