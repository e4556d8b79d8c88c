"""What of a traceback is folded."""

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncjobs.dashboard.tracebacks import stretches

TEXT = """Traceback (most recent call last):
  File "/srv/venv/lib/python3.12/site-packages/urllib3/pool.py", line 793, in urlopen
    response = self._make_request(
               ^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.12/http/client.py", line 1428, in getresponse
    response.begin()
TimeoutError: timed out

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/shop/billing/jobs.py", line 88, in charge
    receipt = gateway.capture(order)
  [Previous line repeated 12 more times]
  File "<frozen importlib._bootstrap>", line 1204, in _gcd_import
billing.errors.GatewayTimeout: no answer
  File no frame, only a message"""


def test_frames_of_libraries_are_folded_where_they_are() -> None:
    assert [part.frames for part in stretches(TEXT)] == [0, 2, 0, 1, 0]
    folded = [part.text for part in stretches(TEXT) if part.frames]
    assert "urllib3" in folded[0]
    assert "http/client.py" in folded[0]
    assert "_bootstrap" in folded[1]


def test_own_frames_stay_with_their_lines() -> None:
    own = stretches(TEXT)[2].text
    assert "billing/jobs.py" in own
    assert "gateway.capture" in own
    assert "repeated 12 more times" in own


def test_where_all_frames_are_of_libraries_nothing_is_folded() -> None:
    first, _, _ = TEXT.partition("\n\n")
    assert [(part.text, part.frames) for part in stretches(first)] == [(first, 0)]


def test_no_traceback_has_no_parts() -> None:
    assert stretches("") == []


def test_windows_paths_are_known_too() -> None:
    text = 'File "C:\\app\\jobs.py", line 1\nFile "C:\\venv\\Lib\\site-packages\\x.py", line 2'
    assert [part.frames for part in stretches(text)] == [0, 1]


def test_a_real_traceback_is_read() -> None:
    try:
        raise ExceptionGroup("many", [ValueError("one"), KeyError("two")])
    except ExceptionGroup as error:
        text = "".join(traceback.format_exception(error))
    assert "\n".join(part.text for part in stretches(text)) == text.rstrip("\n")


@given(st.lists(st.sampled_from([*TEXT.splitlines(), "", "    ", '  File "', "\t", "  | File"]), max_size=12))
def test_nothing_is_lost_or_moved(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "\n".join(part.text for part in stretches(text)) == text.removesuffix("\n")


@pytest.mark.parametrize("text", ["\x00", "File", '  File "x", line ' + "9" * 9_000, '"' * 10_000, " " * 10_000])
def test_odd_text_is_text(text: str) -> None:
    assert "\n".join(part.text for part in stretches(text)) == text
