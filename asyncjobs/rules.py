"""What queues, handlers, tags and keys may be called. Each rule answers its value, or raises `InvalidJob`."""

import re
from collections.abc import Iterable

from asyncjobs.errors import InvalidJob

MAX_NAME = 200
MAX_KEY = 200
MAX_TAG = 64
MAX_TAGS = 20
MAX_REASON = 500
MAX_PRIORITY = 100
MAX_RETRIES = 1_000

_QUEUE = re.compile(r"[\w.\-@+]{1,64}")
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def queue_name(name: str) -> str:
    """Letters, digits and `. - _ @ +` alone: the name is part of keys, URLs and command lines."""
    if not isinstance(name, str) or not _QUEUE.fullmatch(name):
        raise InvalidJob(f"a queue name is 1 to 64 letters, digits or any of . - _ @ + and not {name!r:.80}")
    return name


def job_name(name: str) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidJob(f"a job name is 1 to {MAX_NAME} printable characters, and not {name!r:.80}")
    return name


def unique_key(key: str) -> str:
    return _text(key, "a unique key", MAX_KEY)


def owner(name: str | None) -> str | None:
    return None if name is None else _text(name, "an owner", MAX_KEY)


def reason(text: str) -> str:
    """Why somebody did something; may be empty."""
    return _text(text, "a reason", MAX_REASON) if text != "" else ""


def tags(names: Iterable[str]) -> tuple[str, ...]:
    """The tags in their order, each once."""
    if isinstance(names, str):
        raise InvalidJob(f"tags are a list of texts, not one text: {names!r:.80}")
    chosen = tuple(dict.fromkeys(_text(name, "a tag", MAX_TAG) for name in names))
    if len(chosen) > MAX_TAGS:
        raise InvalidJob(f"a job has at most {MAX_TAGS} tags, not {len(chosen)}")
    return chosen


def priority(number: int) -> int:
    return _whole(number, "a priority", -MAX_PRIORITY, MAX_PRIORITY)


def max_retries(number: int) -> int:
    return _whole(number, "max_retries", 0, MAX_RETRIES)


def _text(text: str, what: str, longest: int) -> str:
    if not isinstance(text, str) or not 1 <= len(text) <= longest or _UNFIT.search(text):
        raise InvalidJob(f"{what} is 1 to {longest} characters, none of them a control character, and not {text!r:.80}")
    return text


def _whole(number: int, what: str, least: int, most: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidJob(f"{what} is a whole number from {least} to {most}, and not {number!r:.80}")
    return number
