"""The description of the API for drf-spectacular, which finds it once this is imported."""

from typing import Any

from drf_spectacular.extensions import OpenApiViewExtension


class Views(OpenApiViewExtension):
    """Has our views describe themselves, whatever the site describes its own with."""

    target_class = "asyncjobs.api.base.ApiView"
    match_subclasses = True

    def view_replacement(self) -> Any:
        from asyncjobs.api.openapi.description import Description  # not before it is asked for: workers import us, too

        return type(self.target.__name__, (self.target,), {"schema": Description()})
