"""The Django app."""

from django.apps import AppConfig, apps
from django.utils.module_loading import autodiscover_modules


class AsyncJobsConfig(AppConfig):
    name = "asyncjobs"
    verbose_name = "Background jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from asyncjobs import checks  # noqa: F401 - registers the checks, which need the apps
        from asyncjobs.api.webhooks.ringing import follow_settings
        from asyncjobs.dashboard.operations import starting  # noqa: F401 - registers the handler of operations

        if apps.is_installed("drf_spectacular"):
            from asyncjobs.api import openapi  # noqa: F401 - registers the description of the API

        autodiscover_modules("jobs")
        follow_settings()
