"""What is the site's own: who its users are, a view, and the handlers it offers."""

import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connections
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.response import Response
from rest_framework.views import APIView

from asyncjobs import job


class Named(BaseAuthentication):
    """`Authorization: Name 7` is the user with the key 7."""

    def authenticate(self, request: Any) -> tuple[Any, None] | None:
        kind, _, pk = request.headers.get("Authorization", "").partition(" ")
        return (User(pk=int(pk), username=pk), None) if kind == "Name" else None

    def authenticate_header(self, request: Any) -> str:
        return "Name"


class Own(APIView):
    """A view of the site's."""

    def get(self, request: Any) -> Response:
        return Response({"own": True})

    def post(self, request: Any) -> Response:
        raise serializers.ValidationError({"own": ["No."]}) if request.data else PermissionDenied


def own_errors(error: Exception, context: Any) -> Response:
    """How a site may answer errors of its views."""
    return Response({"own": type(error).__name__}, status=418)


def free_of_transactions(request: Any) -> bool:
    """Whether no transaction is open: what is accepted within one is not stored yet."""
    return not any(connection.in_atomic_block for connection in connections.all(initialized_only=True))


class Pair(serializers.Serializer[Any]):
    """Two numbers that are to be in order."""

    low, high = serializers.IntegerField(), serializers.IntegerField()

    def validate(self, attrs: Any) -> Any:
        if attrs["low"] > attrs["high"]:
            raise serializers.ValidationError("These are the wrong way round.", code="order")
        return attrs


@job(api=True, name="add", can_submit=free_of_transactions)
def add(a: int, since: datetime.datetime | None = None) -> int:
    return a


@job(api=True, name="pair", serializer=Pair)
def pair(low: int, high: int) -> int:
    return high - low
