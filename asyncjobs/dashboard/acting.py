"""Who did what: kept in the admin's history, and in the journal of a job."""

from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest

from asyncjobs.actions import action_entry
from asyncjobs.stores.base import Entry
from asyncjobs.verbs import Note

_LONGEST_ABOUT = 200


def log_action(request: HttpRequest, message: str, *, about: str) -> None:
    """Writes into the admin's history what this user did, and to what: `about="queue mail"`."""
    from django.contrib.admin.models import CHANGE, LogEntry  # which can be imported where the admin is installed

    user: Any = request.user
    LogEntry.objects.create(
        user_id=user.pk,
        content_type=ContentType.objects.get_by_natural_key("asyncjobs", "dashboard"),
        object_repr=about[:_LONGEST_ABOUT],
        action_flag=CHANGE,
        change_message=message,
    )


def entry_of(request: HttpRequest, action: str, *, now: int, **more: Any) -> Entry:
    """The entry of a journal that says that this user did it now."""
    return action_entry(action, by=str(request.user.pk), now=now, **more)


def noted(request: HttpRequest, action: str, **more: Any) -> Note:
    """What `engine.change` is to append to the journal of the job: that this user did it."""
    return lambda job: entry_of(request, action, now=job.updated_at, **more)
