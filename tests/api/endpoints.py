"""Asynchronous views of every form."""

import datetime
import uuid
from decimal import Decimal
from io import BytesIO
from typing import Any, ClassVar

from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import FileResponse, Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import include, path, re_path
from django.utils.translation import gettext_lazy
from rest_framework import generics, serializers
from rest_framework.decorators import api_view, permission_classes, throttle_classes
from rest_framework.exceptions import APIException, NotFound
from rest_framework.parsers import BaseParser, FormParser, JSONParser, MultiPartParser
from rest_framework.permissions import AllowAny, BasePermission, IsAdminUser, IsAuthenticated
from rest_framework.response import Response
from rest_framework.throttling import UserRateThrottle
from rest_framework.versioning import NamespaceVersioning, URLPathVersioning
from rest_framework.views import APIView

from asyncjobs import job_context, retry
from asyncjobs.api import async_endpoint


class Plain(BaseParser):
    """Text as it is."""

    media_type = "text/plain"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream.read().decode()


class Greeting(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=10)
    times = serializers.IntegerField(min_value=1, default=1)
    tone = serializers.ChoiceField(["warm", "cool"], required=False)
    marks = serializers.DictField(child=serializers.IntegerField(), required=False)
    group = serializers.PrimaryKeyRelatedField(queryset=Group.objects.all(), required=False)


class NamedGroup(serializers.ModelSerializer[Group]):
    class Meta:
        model = Group
        fields = ("id", "name")


class Once(UserRateThrottle):
    rate = "1/day"


class Unpaid(APIException):
    status_code = 402
    default_detail = "Pay first."


class Paid(BasePermission):
    def has_permission(self, request: Any, view: Any) -> bool:
        raise Unpaid


class Closed(BasePermission):
    message = "We are closed."

    def has_permission(self, request: Any, view: Any) -> bool:
        return False


class Curious(BasePermission):
    """Looks at all that a permission may look at, and is content with what a client sent who may."""

    def has_permission(self, request: Any, view: Any) -> bool:
        asked = (request.method, view.kwargs, request.data, request.query_params["q"], request.get_full_path())
        client = (request.user.username, request.auth, request.headers.get("X-Api-Key"), request.META["REMOTE_ADDR"])
        known = (request.session is not None, request.version, request.resolver_match.route)
        assert asked == ("PUT", {"number": 7}, {"a": 1}, "é", "/curious/7/?q=%C3%A9")
        assert known == (True, None, "curious/<int:number>/")
        return client == ("ann", "token", "key", "127.0.0.1")


def seen(request: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """All that a view can see of a request."""
    return {
        "method": request.method,
        "path": request.path,
        "full_path": request.get_full_path(),
        "url": request.build_absolute_uri(),
        "secure": request.is_secure(),
        "user": request.user.pk,
        "user_type": type(request.user).__qualname__,
        "headers": {name: value for name, value in sorted(request.headers.items()) if value},
        "query": [list(pair) for pair in request.query_params.lists()],
        "route": [*map(repr, args), *(f"{name}={value!r}" for name, value in sorted(kwargs.items()))],
        "data": request.data,
        "body": request.body.decode(),
        "content_type": request.content_type,
    }


@async_endpoint(headers=["X-Tenant", "accept"])
class Mirror(APIView):
    """Answers what it sees."""

    permission_classes = (IsAuthenticated,)
    parser_classes = (JSONParser, FormParser, Plain)

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        return Response(seen(request, *args, **kwargs))

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        assert (self.args, self.kwargs) == (args, kwargs)
        return Response(seen(request, *args, **kwargs), status=201)

    put = patch = delete = post


class Louder(Mirror):
    """An endpoint that extends another."""

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        return Response({"louder": super().post(request, *args, **kwargs).data["data"]})


@async_endpoint
@api_view(["GET", "POST"])
@permission_classes([IsAuthenticated])
def greet(request: Any, name: str = "you") -> Response:
    """Greets."""
    return Response(f"Hello {name}!")


@async_endpoint(methods=["put", "post"], queue="slow", tags=["plain"], priority=7, max_retries=1)
def plain(request: Any, number: int) -> Response:
    return Response({"method": request.method, "number": number})


@async_endpoint(serializer=Greeting, name="greetings.polite")
def polite(request: Any) -> Response:
    return Response([f"Dear {request.validated_data['name']}"] * request.validated_data["times"])


class Shop(APIView):
    """A view that takes options."""

    permission_classes = (AllowAny,)
    floor = 0

    def post(self, request: Any) -> Response:
        return Response({"floor": self.floor})


ground = async_endpoint(Shop.as_view())
first = async_endpoint(name="shop.first")(Shop.as_view(floor=1))


@async_endpoint
class Groups(generics.ListCreateAPIView[Group]):
    """A generic view: it lists at once, and creates in a worker."""

    queryset = Group.objects.all()
    serializer_class = NamedGroup
    permission_classes = (IsAuthenticated,)


@async_endpoint
class OneGroup(generics.RetrieveUpdateDestroyAPIView[Group]):
    queryset = Group.objects.all()
    serializer_class = NamedGroup
    permission_classes = (IsAuthenticated,)


@async_endpoint(methods=["POST"])
class Mixed(APIView):
    """A view of which one method is asynchronous."""

    permission_classes = (IsAuthenticated,)
    prepared = False
    depths: ClassVar[list[int]] = []  # of the transactions it was asked in

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        self.depths.append(len(connection.savepoint_ids))
        super().initial(request, *args, **kwargs)
        self.prepared = True

    def post(self, request: Any) -> Response:
        return Response({"prepared": self.prepared})

    def put(self, request: Any) -> Response:
        return Response("at once")


@async_endpoint
class Versioned(APIView):
    permission_classes = (IsAuthenticated,)
    versioning_class = URLPathVersioning

    def post(self, request: Any, version: str) -> Response:
        return Response(request.version)


@async_endpoint
class VersionedByNamespace(APIView):
    permission_classes = (IsAuthenticated,)
    versioning_class = NamespaceVersioning

    def post(self, request: Any) -> Response:
        return Response(request.version)


class Reader(Mirror):
    """One that extends an endpoint, and has nothing for workers to do."""

    http_method_names = ("get",)


@async_endpoint
@api_view(["POST"])
@permission_classes([IsAdminUser])
def for_staff(request: Any) -> Response:
    return Response("done")


@async_endpoint
@api_view(["POST"])
@permission_classes([Closed])
def closed(request: Any) -> Response:
    return Response("never")


@async_endpoint
@api_view(["POST"])
@permission_classes([Paid])
def for_sale(request: Any) -> Response:
    return Response("never")


@async_endpoint
class Guarded(APIView):
    permission_classes = (IsAuthenticated, Curious)

    def put(self, request: Any, number: int) -> Response:
        return Response("done")


@async_endpoint
@api_view(["POST"])
@throttle_classes([Once])
@permission_classes([IsAuthenticated])
def once_a_day(request: Any) -> Response:
    return Response("done")


@async_endpoint(storage="default")
class Upload(APIView):
    """Takes files, and tells what was in them."""

    permission_classes = (IsAuthenticated,)
    parser_classes = (MultiPartParser, JSONParser)

    def post(self, request: Any) -> Response:
        files = [file for _, files in request.FILES.lists() for file in files]
        told = [[file.name, file.content_type, file.size, file.read().decode()] for file in files]
        again = [file.open().read().decode() for file in files]
        assert again == [content for *_, content in told]
        return Response({"fields": dict(request.POST.lists()), "files": told, "data": sorted(request.data)})


class Attachment(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=10)
    file = serializers.FileField()


@async_endpoint(storage="default", serializer=Attachment)
class Attach(APIView):
    permission_classes = (IsAuthenticated,)
    parser_classes = (MultiPartParser,)

    def post(self, request: Any) -> Response:
        return Response(request.validated_data["file"].read().decode())


def answer_of(kind: str) -> Any:
    """What a view may come to."""
    match kind:
        case "crash":
            raise ValueError("it broke")
        case "not-found":
            raise NotFound("No such order.")
        case "http404":
            raise Http404("No such page.")
        case "forbidden":
            raise PermissionDenied
        case "invalid":
            raise serializers.ValidationError({"name": ["Too odd."]})
        case "unavailable":
            raise APIException("The bank is closed.")
        case "400":
            return Response({"detail": "Not like this."}, status=400)
        case "502":
            return Response({"detail": "The bank hung up."}, status=502)
        case "no-content":
            return Response(status=204)
        case "json":
            return JsonResponse({"a": [1, 2]})
        case "text":
            return HttpResponse("<p>é</p>")
        case "text-400":
            return HttpResponse("no", status=400, content_type="text/plain")
        case "elsewhere":
            return HttpResponseRedirect("/reports/7/")
        case "file":
            return FileResponse(BytesIO(b"\x00\xff"), filename="x.bin")
        case "nothing":
            return None
    return Response(VALUES[kind])


VALUES = {
    "moment": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    "uuid": uuid.UUID(int=5),
    "decimal": Decimal("1.5"),
    "lazy": gettext_lazy("Yes"),
    "tagged": {"$type": "uuid", "value": [1]},
    "infinite": float("inf"),
}


@async_endpoint(max_retries=2, retry=retry.fixed(0))
@api_view(["POST"])
@permission_classes([IsAuthenticated])
def outcome(request: Any, kind: str) -> Any:
    return answer_of(kind)


@async_endpoint(max_retries=1, retry=retry.fixed(0))
def second_time(request: Any) -> Response:
    """One that succeeds in its second run."""
    if job_context().attempt == 1:
        raise ConnectionError("not yet")
    return Response(job_context().attempt)


@async_endpoint(atomic=True, max_retries=0)
def all_or_nothing(request: Any) -> Response:
    Group.objects.create(name=request.data["name"])
    return Response({"detail": "No."}, status=409)


urlpatterns = [
    path("api/jobs/", include("asyncjobs.api.urls")),
    path("mirror/", Mirror.as_view()),
    path("mirror/<int:number>/<uuid:uuid>/<slug:slug>/<path:path>", Mirror.as_view(), {"extra": "option"}),
    re_path(r"^mirror/(\d+)/(\w+)$", Mirror.as_view()),
    path("louder/", Louder.as_view()),
    path("greet/<str:name>/", greet),
    path("plain/<int:number>/", plain),
    path("polite/", polite),
    path("ground/", ground),
    path("first/", first),
    path("groups/", Groups.as_view()),
    path("groups/<int:pk>/", OneGroup.as_view()),
    path("mixed/", Mixed.as_view()),
    path("<str:version>/versioned/", Versioned.as_view()),
    path("v3/", include(([path("", VersionedByNamespace.as_view())], "v3"), namespace="v3")),
    path("reader/", Reader.as_view()),
    path("for-staff/", for_staff),
    path("closed/", closed),
    path("curious/<int:number>/", Guarded.as_view()),
    path("for-sale/", for_sale),
    path("once-a-day/", once_a_day),
    path("upload/", Upload.as_view()),
    path("attach/", Attach.as_view()),
    path("outcome/<str:kind>/", outcome),
    path("second-time/", second_time),
    path("all-or-nothing/", all_or_nothing),
    path("odd-route/", Mirror.as_view(), {"kind": object}),
]
