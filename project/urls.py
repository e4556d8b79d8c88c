"""What the demo site serves."""

from django.contrib import admin
from django.urls import path

from project.views import front

urlpatterns = [
    path("", front, name="front"),
    path("admin/", admin.site.urls),
]
