"""Tags as stores keep them with a job: a list in JSON."""

import json


def read_tags(text: str) -> tuple[str, ...]:
    """The tags in this text; `ValueError` if that is no list of texts, as a later release may make of it."""
    tags = json.loads(text)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError(f"{text!r:.80} is no list of tags")
    return tuple(tags)
