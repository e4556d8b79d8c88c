"""What staff fill in."""

from datetime import timedelta
from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from asyncjobs import rules
from asyncjobs.errors import InvalidJob

_UNITS: Final = {"minutes": timedelta(minutes=1), "hours": timedelta(hours=1), "days": timedelta(days=1)}
_MOST: Final = 10_000  # of a unit
_MOST_MINUTES: Final = 366 * 24 * 60


class ReasonForm(forms.Form):
    """Why somebody does something."""

    reason = forms.CharField(required=False)

    def clean_reason(self) -> str:
        try:
            return rules.reason(self.cleaned_data["reason"])
        except InvalidJob as error:
            raise forms.ValidationError(error.message) from error


class PauseForm(ReasonForm):
    """Why a queue is to be paused, and for how long."""

    length = forms.IntegerField(min_value=1, max_value=_MOST, required=False)
    unit = forms.ChoiceField(
        choices=[("minutes", _("minutes")), ("hours", _("hours")), ("days", _("days"))], required=False
    )

    def end(self) -> timedelta | None:
        """None: until it is resumed."""
        length = self.cleaned_data["length"]
        return length * _UNITS[self.cleaned_data["unit"] or "minutes"] if length else None


class RescheduleForm(ReasonForm):
    """When a job is to run instead: at a time, or in so many minutes."""

    at = forms.DateTimeField(required=False)
    minutes = forms.IntegerField(min_value=0, max_value=_MOST_MINUTES, required=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.errors and (given.get("at") is None) == (given.get("minutes") is None):
            raise forms.ValidationError(gettext("Give a time or a number of minutes."))
        return given

    def when(self) -> Any:
        """A moment, or the time until then."""
        minutes = self.cleaned_data["minutes"]
        return self.cleaned_data["at"] if minutes is None else timedelta(minutes=minutes)


def complaint(form: forms.Form) -> str:
    """What is wrong with what was filled in, on one line."""
    return " ".join(str(error) for errors in form.errors.values() for error in errors)
