"""The trash: what was deleted lately, and how it comes back."""

from collections.abc import Sequence
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from asyncjobs.dashboard.acting import entry_of, log_action
from asyncjobs.dashboard.deletions import deletions
from asyncjobs.dashboard.frame import Act, Page
from asyncjobs.errors import InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.stores.cursor import InvalidCursor

ROWS: Final = 50
MOST: Final = 200  # jobs restored by one request


class Trash(Page):
    template_name = "asyncjobs/dashboard/trash.html"
    tab = "jobs"
    title = gettext_lazy("Trash")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().get(request, *args, **kwargs)
        except InvalidCursor:
            messages.warning(request, _("That place in the list is not known: this is its beginning."))
            return redirect(request.path)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        page = self.engine.trash(after=self.request.GET.get("after", ""), limit=ROWS)
        rows = {"deletions": deletions(page.resting), "following": page.next}
        return super().get_context_data(**kwargs) | rows


class Restore(Act):
    """Puts back the chosen jobs, or the only one whose button was pressed."""

    permission = "delete_job"

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        ids = _ids(request.POST.getlist("only") or request.POST.getlist("id"))
        if not ids:
            messages.warning(request, _("No jobs were selected."))
            return
        done = self._restored(request, ids)
        if done:
            said = ngettext("%(count)d job was restored.", "%(count)d jobs were restored.", done) % {"count": done}
            messages.success(request, said)
            log_action(request, " ".join((said, *ids)), about=f"{done} jobs: restore")
        if done < len(ids):
            messages.warning(request, _late(len(ids) - done))

    def _restored(self, request: HttpRequest, ids: Sequence[str]) -> int:
        """How many of these jobs came back; those that are there already did not."""
        store = self.engine.store
        missing = [job_id for job_id, job in zip(ids, store.get(ids), strict=True) if job is None]
        note = entry_of(request, "restore", now=store.now())
        return sum(job is not None for job in store.restore(missing, note=note))


def _late(count: int) -> str:
    one, many = "%(count)d job is not in the trash any more.", "%(count)d jobs are not in the trash any more."
    return ngettext(one, many, count) % {"count": count}


def _ids(given: Sequence[str]) -> list[str]:
    if len(given) > MOST:
        raise BadRequest(f"{MOST} jobs are restored at a time, at most")
    try:
        return list(dict.fromkeys(map(job_id_of, given)))
    except InvalidJobId as error:
        raise BadRequest(error.message) from error
