"""Who may see and do what: everybody their own jobs, staff with the permission all."""

from typing import Any, Final

from django.contrib.auth import get_user_model
from rest_framework.permissions import BasePermission

from asyncjobs.api.problems import Problem
from asyncjobs.domain.job import Job

SEE_ALL: Final = "view_dashboard"


def owner_of(user: Any) -> str | None:
    """Whose jobs this user submits; nobody's, when it is not known who asks, or is no account.

    Jobs know of their owners by key alone, and a user of another kind may have the same one.
    """
    if not isinstance(user, get_user_model()) or user.pk is None or not user.is_authenticated:
        return None
    return str(user.pk)


def may(user: Any, action: str) -> bool:
    """Whether it is staff with this permission (see `models.Dashboard`)."""
    return bool(getattr(user, "is_staff", False) and user.has_perm(f"asyncjobs.{action}"))


def sees(user: Any, owner: str | None) -> bool:
    """Whether jobs of this owner are there at all for the user."""
    return (owner is not None and owner == owner_of(user)) or may(user, SEE_ALL)


def may_with(user: Any, job: Job, action: str) -> bool:
    """Whether it is the job's owner, or staff with this permission."""
    return (job.owner is not None and job.owner == owner_of(user)) or may(user, action)


def require(user: Any, job: Job, action: str) -> None:
    """Lets the owner do it to the job, and staff with the permission."""
    if not may_with(user, job, action):
        raise Problem("permission-denied", "You may see this job, and not do this to it.")


class HasAccount(BasePermission):
    """Whoever can have jobs: not a client that a site's authentication lets in without one."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return owner_of(request.user) is not None


class IsStaffWith(BasePermission):
    """Staff with the permission that the view names for the method, or else the one to see all."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return may(request.user, getattr(view, "permission", SEE_ALL))
