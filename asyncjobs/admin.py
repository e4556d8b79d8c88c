"""The dashboard is a part of the admin: of the default site by itself, of others by `register(site)`."""

from django.apps import apps
from django.contrib import admin

from asyncjobs.dashboard.frame import DashboardAdmin


def register(site: admin.AdminSite) -> None:
    """Adds the dashboard to an admin site."""
    dashboard = apps.get_model("asyncjobs", "Dashboard")
    if not site.is_registered(dashboard):
        site.register(dashboard, DashboardAdmin)


register(admin.site)
