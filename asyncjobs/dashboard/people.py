"""The names of those who own jobs, and did something to them and to queues."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from asyncjobs.stores.base import QueueCounts


def names_of(keys: Iterable[str | None]) -> dict[str, str]:
    """User names by primary key as jobs have it, of those who are users."""
    users = get_user_model()
    read = users._meta.pk.to_python
    wanted = []
    for key in {key for key in keys if key}:
        try:
            wanted.append(read(key))
        except (ValidationError, ValueError, TypeError):
            continue  # an owner that a program made up
    found = users._default_manager.in_bulk(wanted) if wanted else {}
    return {str(pk): user.get_username() for pk, user in found.items()}


def called(key: str | None, names: Mapping[str, str]) -> str:
    """What a user is called: by name, or by key where there is no such user any more. Empty if it is not known who."""
    return "" if key is None else names.get(key) or _("user %(key)s") % {"key": key}


def pausers(counts: Iterable[QueueCounts]) -> dict[str, str]:
    """What those are called who paused queues, by queue."""
    keys = {queue.queue: queue.pause.by for queue in counts if queue.pause}
    names = names_of(keys.values())
    return {queue: called(key, names) for queue, key in keys.items()}


def who(key: Any, names: Mapping[str, str]) -> str:
    """Who this is, for a sentence."""
    return called(None if key is None else str(key), names) or _("somebody")
