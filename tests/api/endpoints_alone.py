"""A site that has an endpoint, and does not include the API."""

from django.urls import path

from tests.api.endpoints import greet

urlpatterns = [path("greet/<str:name>/", greet)]
