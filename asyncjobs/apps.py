"""The Django app."""

from django.apps import AppConfig


class AsyncJobsConfig(AppConfig):
    name = "asyncjobs"
    verbose_name = "Background jobs"
    default_auto_field = "django.db.models.BigAutoField"
