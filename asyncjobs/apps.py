"""The Django app."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AsyncJobsConfig(AppConfig):
    name = "asyncjobs"
    verbose_name = "Background jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from asyncjobs import checks  # noqa: F401 - registers the checks, which need the apps

        autodiscover_modules("jobs")
