"""Who may do what: every address of the dashboard, asked by everybody there is."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from asyncjobs import Engine, Job, JobStatus, Query
from asyncjobs.dashboard.crews import crews
from asyncjobs.dashboard.deeds import OFFERED
from asyncjobs.dashboard.operations.orders import Order, signed
from asyncjobs.dashboard.operations.starting import carried_out
from asyncjobs.dashboard.urls import patterns
from asyncjobs.dashboard.views.preview import SALT
from asyncjobs.models import Dashboard
from tests.api import jobs
from tests.dashboard.conftest import ClientAs, StaffWith
from tests.scene import Scene

ALL: Final = {name for name, _ in Dashboard._meta.permissions}
FAILED, QUEUED, SCHEDULED = JobStatus.FAILED, JobStatus.QUEUED, JobStatus.SCHEDULED
THE_JOB, THE_WORKER, THE_THROWN = "its id", "its key", "the id of one in the trash"  # which a form names
THE_ORDER: Final = "what was shown to whoever sends it"
ARGUMENTS: Final = '{"args": [1], "kwargs": {}}'


class Case(NamedTuple):
    """An address, and what it answers to a GET and to a POST of staff who have all that it needs, and no more.

    Others are refused; but where it `is_open`, whoever can see the dashboard is answered a GET.
    """

    address: str
    needs: tuple[str, ...] = ()  # beside view_dashboard
    get: int = 200
    post: int = 405
    form: dict[str, str] = {}
    status: JobStatus = FAILED  # of the job that it is about
    is_open: bool = False
    label: str = ""

    @property
    def acts(self) -> bool:
        return self.post == 302

    @property
    def lacking(self) -> set[tuple[str, ...]]:
        """What they may do who can see the dashboard, and lack something that is needed."""
        return {some for name in self.needs for some in (("view_dashboard",), tuple(sorted(ALL - {name})))}


def act(address: str, permission: str, *, status: JobStatus = FAILED, **form: str) -> Case:
    return Case(address, (permission,), get=405, post=302, form=form, status=status)


def chosen(deed: str, permission: str, status: JobStatus) -> Iterator[Case]:
    """What is done to jobs that were chosen from a list is shown before, and which it is to be is in the form."""
    form = {"act": deed, "id": THE_JOB}
    yield Case("chosen", (permission,), 302, 200, form, status, is_open=True, label=f"chosen-{deed}")
    found = {"act": deed, "q": "-word"}
    yield Case("matching", (permission,), 302, 200, found, status, is_open=True, label=f"matching-{deed}")
    order = {"order": THE_ORDER, "act": deed}
    yield Case("carry", (permission,), 405, 302, order, status, is_open=True, label=f"carry-{deed}")


CASES: Final = (
    Case("dashboard_changelist"),
    Case("jobs"),
    Case("dead"),
    Case("delayed"),
    Case("queues"),
    Case("queue"),
    Case("workers"),
    Case("trash"),
    Case("operations"),
    Case("operation"),
    Case("operation_undo", ("retry_job",), 405, 302, is_open=True),
    Case("job"),
    Case("job_download", ("view_payload",)),
    Case("job_edit", ("retry_job", "submit_job", "view_payload"), post=302, form={"arguments": ARGUMENTS}),
    act("job_retry", "retry_job"),
    act("job_run_now", "retry_job", status=SCHEDULED),
    act("job_reschedule", "retry_job", status=SCHEDULED, minutes="5"),
    act("job_cancel", "cancel_job", status=QUEUED),
    act("job_delete", "delete_job"),
    act("restore", "delete_job", id=THE_THROWN),
    act("queue_pause", "pause_queue", reason="another one"),
    act("queue_resume", "pause_queue"),
    act("queue_purge", "purge_queue", typed="default"),
    act("worker_order", "control_worker", worker=THE_WORKER, order="stop"),
    *chosen("retry", "retry_job", FAILED),
    *chosen("run_now", "retry_job", SCHEDULED),
    *chosen("cancel", "cancel_job", QUEUED),
    *chosen("delete", "delete_job", FAILED),
)

in_every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label or case.address)


class Place:
    """What can be seen and changed: a job in every status, one in the trash, a paused queue, a worker."""

    def __init__(self, engine: Engine, case: Case) -> None:
        self._engine = engine
        store = engine.store
        scene = Scene(store, store.now)
        thrown = scene.in_status(FAILED)
        store.delete([thrown], rest_until=store.now() + 60_000)
        retried = scene.in_status(FAILED)
        operation = carried_out(engine, Order(deed="retry", frozen=store.now(), by="1", ids=(retried.id,)))
        statuses = sorted(JobStatus, reverse=True)
        of_status = {status: scene.in_status(status, name=jobs.add.name, payload=ARGUMENTS) for status in statuses}
        self._now = store.now()
        store.beat("w1", {}, lease=30_000, about=json.dumps({"name": "w1", "state": "working"}))
        engine.pause("default", reason="for now")
        self.before = self.now()
        self._job = of_status[case.status]
        self.url = _url(case.address, operation if case.address.startswith("operation") else self._job)
        facts = {THE_JOB: of_status[case.status].id, THE_WORKER: _key(engine), THE_THROWN: thrown.id}
        self._form = {name: facts.get(text, text) for name, text in case.form.items()}

    def get(self, client: Client, **headers: str) -> Any:
        return client.get(self.url, self._form, headers=headers)

    def post(self, client: Client) -> Any:
        order = Order(deed=self._form.get("act", ""), frozen=self._now, by=_user_of(client), ids=(self._job.id,))
        shown = {THE_ORDER: signed(order, salt=SALT)}
        return client.post(self.url, {name: shown.get(text, text) for name, text in self._form.items()})

    def now(self) -> list[Any]:
        """Whatever a visitor may have changed."""
        store = self._engine.store
        found = store.find(Query()).jobs
        journals = [store.journal(job.id, "action") for job in found]
        return [found, journals, store.trash(), store.counts(), store.workers(), LogEntry.objects.count()]


def _url(address: str, job: Job) -> str:
    """Of the address with whatever parameters it has."""
    [pattern] = [pattern for pattern in patterns(admin.site) if pattern.name == f"asyncjobs_{address}"]
    known = {"job_id": job.id, "name": "default", "part": "arguments"}
    return reverse(f"admin:asyncjobs_{address}", kwargs={name: known[name] for name in pattern.pattern.converters})


def _user_of(client: Client) -> str:
    return str(client.session.get("_auth_user_id", ""))


def _key(engine: Engine) -> str:
    [crew] = crews(engine.store.workers(), now=engine.store.now(), lease=30_000)
    return crew.key


@pytest.fixture
def place(engine: Engine, case: Case, db: None) -> Place:
    return Place(engine, case)


def test_no_address_and_no_deed_is_left_out() -> None:
    assert {f"asyncjobs_{case.address}" for case in CASES} == {pattern.name for pattern in patterns(admin.site)}
    for address in ("chosen", "matching", "carry"):
        assert {case.form["act"] for case in CASES if case.address == address} == set(OFFERED)


@in_every_case
def test_whoever_is_no_staff_is_led_to_the_login_and_changes_nothing(place: Place, client_as: ClientAs) -> None:
    for client in (Client(), client_as(User.objects.create_user("ann"))):
        for response in (place.get(client), place.post(client)):
            assert response.status_code == 302
            assert urlsplit(response.headers["Location"]).path == "/admin/login/"
        poll = place.get(client, HX_Request="true")
        assert poll.status_code == 204
        assert urlsplit(poll.headers["HX-Redirect"]).path == "/admin/login/"
    assert place.now() == place.before


@in_every_case
def test_staff_who_lack_a_permission_are_refused_and_change_nothing(
    case: Case, place: Place, client_as: ClientAs, staff_with: StaffWith
) -> None:
    for blind in {(), case.needs}:
        client = client_as(staff_with(*blind))
        assert (place.get(client).status_code, place.post(client).status_code) == (403, 403)
    for lacking in case.lacking:
        client = client_as(staff_with(*lacking))
        assert place.get(client).status_code == (case.get if case.is_open else 403)
        assert place.post(client).status_code == 403
    assert place.now() == place.before


@in_every_case
def test_whoever_has_the_permissions_it_needs_changes_something_by_a_post_alone(
    case: Case, place: Place, client_as: ClientAs, staff_with: StaffWith
) -> None:
    client = client_as(staff_with("view_dashboard", *case.needs))
    assert place.get(client).status_code == case.get
    assert place.now() == place.before
    assert place.post(client).status_code == case.post
    assert (place.now() != place.before) == case.acts


@in_every_case
def test_a_form_from_elsewhere_is_refused(place: Place, boss: Client) -> None:
    boss.handler.enforce_csrf_checks = True
    assert place.post(boss).status_code == 403
    assert place.now() == place.before
