"""What the demo site serves."""

from django.contrib import admin
from django.urls import path
from django.views.generic import TemplateView

urlpatterns = [
    path("", TemplateView.as_view(template_name="front.html"), name="front"),
    path("admin/", admin.site.urls),
]
