"""What is measured: the API, and beside it a view that does nothing."""

from typing import Any

from django.urls import URLPattern, URLResolver, include, path
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.views import APIView

from asyncjobs import job


class Empty(APIView):
    """What everything else is compared with."""

    permission_classes = (IsAuthenticated,)

    def get(self, request: Any) -> Response:
        return Response(status=202)

    def post(self, request: Any) -> Response:
        return Response(status=202)


@job(name="bench.take", api=True)
def take(number: int) -> None:
    """What is submitted. Nothing runs it: the API is measured, not workers."""


urlpatterns: list[URLPattern | URLResolver] = [
    path("api/jobs/", include("asyncjobs.api.urls")),
    path("empty/", Empty.as_view()),
]
