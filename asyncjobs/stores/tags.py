"""Tags as stores keep them with a job: a list in JSON."""

import json


def read_tags(text: str) -> tuple[str, ...]:
    """The tags in this text; `TypeError` or `ValueError` if that is no list of texts, as a later release may write."""
    tags = json.loads(text)
    if not isinstance(tags, list):
        raise TypeError(f"{text!r:.80} is no list")
    "".join(tags)  # of texts alone: each claim reads tags, and to ask one by one takes far longer
    return tuple(tags)
