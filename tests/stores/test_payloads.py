"""Payload bytes out are payload bytes in, and so is every other text."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncjobs.domain import transitions
from asyncjobs.domain.job import JobError, Progress
from asyncjobs.stores.base import Pause
from tests.scene import Scene, ids

PAYLOADS = {
    "nothing": "",
    "null": "null",
    "empty list": "[]",
    "empty object": "{}",
    "empty text": '""',
    "zero": "0",
    "negative zero": "-0.0",
    "true": "true",
    "seventeen digits": "12345678901234567",
    "64 bits": "-9223372036854775808",
    "unsigned 64 bits": "18446744073709551615",
    "larger": "1" + "0" * 60,
    "long fraction": "0.1000000000000000055511151231257827",
    "exponent": "1E+400",
    "numbers as keys": '{"1": [], "01": {}, "": null}',
    "a key twice": '{"a": 1, "a": 2}',
    "spaces": ' \t\r\n{ "a" :\t1 , "b":[ ] } \n',
    "escapes": '"\\u0000\\ud83d\\ude00\\/\\n\\u2028"',
    "unicode": '"größer 漢字 \U0001f600 \u202e \u0301 \ufeff\u2028\x7f\x85"',
    "percent and braces": '"%s %% %(a)s {0} {{}} $1 ? :name"',
    "quotes": '"\'\\"`;-- "',
    "deep": "[" * 20 + "]" * 20,
    "60 KiB": json.dumps("x" * 60 * 1024),
    "60 KiB beyond ASCII": json.dumps("é" * 30 * 1024, ensure_ascii=False),
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), children, max_size=4)
    ),
    max_leaves=8,
)
json_texts = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    json_values,
    st.booleans(),
    st.none() | st.integers(0, 2),
)
# What a database stores as text: everything but NUL and lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)
quickly = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("text", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_payload_comes_back_as_it_went(scene: Scene, text: str) -> None:
    job = scene.add(payload=text)
    assert scene.stored(job).payload == text
    [claimed] = scene.claim()
    assert claimed.payload == text
    assert scene.found()[0].payload == text


@pytest.mark.parametrize("text", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_result_comes_back_as_it_went(scene: Scene, text: str) -> None:
    done = scene.settle(transitions.complete, scene.started(payload=text), text or None)
    stored = scene.stored(done)
    assert (stored.payload, stored.result) == (text, text or None)


def test_different_payloads_of_one_batch_are_not_mixed_up(scene: Scene) -> None:
    jobs = [scene.job(payload=text) for text in PAYLOADS.values()]
    scene.store.add(jobs)
    assert [job.payload for job in scene.store.get(ids(jobs)) if job] == list(PAYLOADS.values())


@quickly
@given(text=json_texts)
def test_any_json_text_survives_a_whole_run(scene: Scene, text: str) -> None:
    job = scene.add(payload=text)
    [claimed] = scene.claim()
    done = scene.settle(transitions.complete, claimed, text)
    stored = scene.stored(job)
    assert (stored, claimed.payload, stored.result) == (done, text, text)


@quickly
@given(message=texts, traceback=texts, about=texts)
def test_any_text_beside_the_payload_survives(scene: Scene, message: str, traceback: str, about: str) -> None:
    started = scene.started(owner=message or None, tags=(about,) if about.strip() else ())
    noted = scene.settle(transitions.report, started, Progress(done=1, message=about))
    assert scene.stored(noted) == noted
    error = JobError(code="X", message=message, type="T", traceback=traceback)
    failed = scene.settle(transitions.fail, noted, error, delay=None)
    assert scene.stored(failed) == failed


@quickly
@given(headers=st.dictionaries(texts, st.lists(st.none() | texts, max_size=3), max_size=3), route=json_values)
def test_any_request_survives(scene: Scene, headers: dict[str, Any], route: Any) -> None:
    job = scene.job(headers=headers, route_params={"value": route})
    scene.store.add([job])
    stored = scene.stored(job)
    assert stored.headers == headers
    assert stored.route_params == {"value": route}


@quickly
@given(reason=texts, by=texts, about=texts)
def test_any_text_of_a_person_or_worker_survives(scene: Scene, reason: str, by: str, about: str) -> None:
    pause = Pause(queue="default", since=scene.clock(), reason=reason, by=by or None)
    scene.store.pause(pause)
    scene.store.beat("w1", {}, lease=10_000, about=about)
    assert scene.store.counts()[0].pause == pause
    assert scene.store.workers()[0].about == about


@pytest.mark.parametrize("name", ["a.b", "größe", "with space", "a:b", "a{b}", "%", "漢字", "*", "a,b"])
def test_any_name_of_a_queue_worker_key_owner_or_tag_will_do(scene: Scene, name: str) -> None:
    job = scene.started(queue=name, worker=name, unique_key=name, owner=name, tags=(name,), name=name)
    assert scene.store.held(name) == [job]
    assert scene.found(queue=name, owner=name, tag=name, name=name) == [job]
    assert scene.store.add([scene.job(unique_key=name)]) == [job]
    assert scene.store.counts()[0].queue == name
