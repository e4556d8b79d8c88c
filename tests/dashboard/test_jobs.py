"""The page of jobs: what it lists, how it is searched, and how it stays fresh."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.test import Client

from asyncjobs import Engine, JobStatus, Query
from asyncjobs.domain.job import Job
from asyncjobs.testing import run_jobs
from asyncjobs.verbs import canceling
from tests.api import jobs
from tests.dashboard.conftest import ClientAs, StaffWith

URL = "/admin/asyncjobs/dashboard/jobs/"


def add(engine: Engine, count: int = 1, **fields: Any) -> list[Job]:
    """Jobs as they are, newest first."""
    given = [next(iter(jobs.add.jobs_of([jobs.add.call(number)]))) for number in range(count)]
    now = engine.store.now()
    made = [job.replace(created_at=now - number, updated_at=now, **fields) for number, job in enumerate(given)]
    engine.store.add(made)
    return made


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def listed(client: Client, query: str = "") -> list[str]:
    return re.findall(r'name="id" value="([^"]+)"', text_of(client.get(f"{URL}{query}")))


def link(text: str, label: str) -> str:
    """Where the link of this label leads."""
    [address] = re.findall(rf'<a[^>]*href="([^"]*)"[^>]*>(?:<span[^>]*>[^<]*</span> )?{label}', text)
    return unescape(address)


def poll_of(text: str) -> dict[str, str]:
    """What the page sends with its next poll."""
    form = text[text.index('id="aj-poll"') :]
    fields = re.findall(r'<input type="hidden"(?: id="[^"]*")? name="([^"]*)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in fields}


def test_jobs_are_listed_newest_first_with_a_link_each(boss: Client, engine: Engine) -> None:
    made = add(engine, 3)
    text = text_of(boss.get(URL))
    assert listed(boss) == [job.id for job in made]
    assert all(f'href="{URL}{job.id}/"' in text for job in made)


def test_each_status_is_a_tab_with_its_count(boss: Client, engine: Engine) -> None:
    add(engine, 2)
    run_jobs()
    add(engine, 1, queue="slow")
    text = text_of(boss.get(URL))
    counts = dict(re.findall(r'id="aj-tab-(\w+)">([^<]*)<', text))
    assert (counts["all"], counts["completed"], counts["queued"], counts["failed"]) == ("3", "2", "1", "0")
    of_queue = dict(re.findall(r'id="aj-tab-(\w+)">([^<]*)<', text_of(boss.get(f"{URL}?queue=slow"))))
    assert (of_queue["all"], of_queue["completed"]) == ("1", "0")
    assert "aj-tab-all" not in text_of(boss.get(f"{URL}?q=add")), "a count is of the list, or is not there"
    assert len(listed(boss, "?status=completed")) == 2
    assert listed(boss, "?status=in_progress") == []


def test_one_that_waits_for_another_try_is_told_apart(boss: Client, engine: Engine) -> None:
    [late], [again] = (
        add(engine, status=JobStatus.SCHEDULED, due_at=engine.store.now() + 60_000, retry_count=count)
        for count in (0, 2)
    )
    text = text_of(boss.get(f"{URL}?status=scheduled"))
    assert sorted(listed(boss, "?status=scheduled")) == sorted([late.id, again.id])
    assert text.count("aj-retrying") == 1
    assert listed(boss, "?q=status:retrying") == [again.id]


def test_what_is_typed_and_what_is_chosen_find_jobs_together(boss: Client, engine: Engine) -> None:
    [wanted] = add(engine, queue="mail", tags=("red",))
    add(engine, queue="mail")
    add(engine, tags=("red",))
    assert listed(boss, "?q=tag:red&queue=mail") == [wanted.id]
    assert listed(boss, f"?q={wanted.id}") == [wanted.id]
    assert len(listed(boss, "?name=tests.api.jobs.add")) == 3


def test_each_condition_can_be_taken_away(boss: Client, engine: Engine) -> None:
    add(engine)
    text = text_of(boss.get(f"{URL}?q=tag:red+-blue&queue=mail&col=queue"))
    chips = [unescape(address) for address in re.findall(r'class="aj-chip" href="([^"]*)"', text)]
    assert [parse_qs(address[1:]) for address in chips] == [
        {"q": ["tag:red -blue"], "col": ["queue"]},
        {"q": ["-blue"], "queue": ["mail"], "col": ["queue"]},
        {"q": ["tag:red"], "queue": ["mail"], "col": ["queue"]},
    ]
    assert parse_qs(link(text, "Clear all")[1:]) == {"col": ["queue"]}


def test_what_is_not_understood_is_said(boss: Client, engine: Engine) -> None:
    [job] = add(engine)
    text = text_of(boss.get(f"{URL}?q=color:red&status=done"))
    assert "color:" in text
    assert "done" in text
    assert job.id in text


def test_pages_lead_to_older_and_newer_ones(boss: Client, engine: Engine) -> None:
    made = [job.id for job in add(engine, 120)]
    first = text_of(boss.get(f"{URL}?queue=default"))
    assert "Newer" not in first
    second = link(first, "Older")
    assert listed(boss, second) == made[50:100]
    third = link(text_of(boss.get(f"{URL}{second}")), "Older")
    text = text_of(boss.get(f"{URL}{third}"))
    assert listed(boss, third) == made[100:]
    assert "Older" not in text
    assert listed(boss, link(text, "Newer")) == made[50:100]
    assert link(text, "Newest") == "?queue=default"
    assert "top" not in poll_of(text), "nothing new comes above a page that is not the first"


def test_a_place_that_is_none_leads_to_the_beginning(boss: Client, engine: Engine) -> None:
    add(engine)
    response = boss.get(f"{URL}?after=nowhere&queue=default")
    assert (response.status_code, response["Location"]) == (302, f"{URL}?queue=default")
    assert boss.get(f"{URL}?_live=&top=nowhere").status_code == 204


def test_a_search_says_how_far_it_looked(boss: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asyncjobs.dashboard.listing.MOST_READ", 50)
    made = add(engine, 60)
    engine.store.add([made[0].replace(id="0a1b2c3d-0000-4000-8000-000000000001", name="rare", created_at=1)])
    text = text_of(boss.get(f"{URL}?q=rare"))
    assert "Searched back to" in text
    assert "No match among the jobs looked through." in text
    assert listed(boss, link(text, "Search further")) == ["0a1b2c3d-0000-4000-8000-000000000001"]


def test_columns_are_chosen_in_the_address(boss: Client, engine: Engine) -> None:
    add(engine, owner="ann-7", tags=("vip",), worker="web-1")
    text = text_of(boss.get(URL))
    assert "ann-7" not in text
    chosen = text_of(boss.get(f"{URL}?col=owner&col=tags&col=worker&col=priority&col=created&col=none"))
    assert "ann-7" in chosen
    assert '<span class="aj-tag">vip</span>' in chosen
    table = chosen[chosen.index('aj-jobs"') :]
    head = table[: table.index("</thead>")]
    assert re.findall(r"<th scope=\"col\"[^>]*>([^<]+)</th>", head) == [
        "Status",
        "Job",
        "Created",
        "Priority",
        "Owner",
        "Tags",
        "Worker",
    ]
    assert 'name="col" value="owner"' in chosen[chosen.index('class="aj-filter"') :], "a search keeps them"


def test_a_poll_that_has_nothing_to_tell_is_empty(boss: Client, engine: Engine) -> None:
    add(engine, 3)
    poll = poll_of(text_of(boss.get(URL)))
    [digest] = re.findall(r'name="_live" value="(\w+)"', text_of(boss.get(URL, poll)))
    assert boss.get(URL, poll | {"_live": digest}).status_code == 204


def test_a_poll_tells_what_became_of_the_jobs_and_how_many_are_new(boss: Client, engine: Engine) -> None:
    [gone, canceled, same] = add(engine, 3)
    poll = poll_of(text_of(boss.get(f"{URL}?status=queued")))
    engine.change(canceled.id, canceling(""))
    engine.delete(gone.id)
    add(engine, 2)
    news = text_of(boss.get(URL, poll))
    states = dict(re.findall(r'<span id="aj-s-(\d)" hx-swap-oob="true">(.*?)</span>\n', news, re.S))
    assert "deleted" in states["0"]
    assert "canceled" in states["1"]
    assert "left this list" in states["1"]
    assert "2 new — show" in news
    assert "aj-left" not in states.get("2", "")
    assert not re.search("<(tr|td|th)", news)
    assert same.id not in news


def test_a_poll_leaves_out_what_has_not_changed(boss: Client, engine: Engine) -> None:
    [old] = add(engine)
    poll = poll_of(text_of(boss.get(URL)))
    late = poll | {"since": str(old.updated_at + 60_000)}
    assert "aj-s-0" not in text_of(boss.get(URL, late))


def test_a_poll_bears_whatever_it_is_given(boss: Client, engine: Engine) -> None:
    add(engine, 3)
    for bad in ({"ids": "x,," + "0a1b2c3d-0000-4000-8000-000000000001," * 500}, {"since": "9" * 5_000, "top": ""}):
        assert boss.get(URL, {"_live": ""} | bad).status_code == 200


def test_an_empty_list_says_why(boss: Client, engine: Engine) -> None:
    assert "There are no jobs yet." in text_of(boss.get(URL))
    add(engine)
    assert "No jobs match." in text_of(boss.get(f"{URL}?queue=none"))


def test_looking_changes_nothing(boss: Client, engine: Engine) -> None:
    add(engine, 3)
    before = engine.find(Query()).jobs
    for query in ("", "?q=add&status=queued", "?after=x", "?_live="):
        boss.get(f"{URL}{query}")
    assert engine.find(Query()).jobs == before


def test_staff_are_offered_what_they_may_do(client_as: ClientAs, staff_with: StaffWith, engine: Engine) -> None:
    add(engine)
    looking = text_of(client_as(staff_with("view_dashboard")).get(URL))
    assert "checkbox" not in looking[looking.index("<table") : looking.index("</table>")]
    assert "Retry…" not in looking
    retrying = text_of(client_as(staff_with("view_dashboard", "retry_job")).get(URL))
    assert "Retry…" in retrying
    assert "Delete…" not in retrying
