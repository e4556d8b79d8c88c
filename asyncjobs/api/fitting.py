"""Whether a request fits its view: its body is one that the view's serializer takes, its object is there."""

from collections.abc import Callable
from typing import Any, Final

from rest_framework.generics import GenericAPIView
from rest_framework.mixins import DestroyModelMixin, UpdateModelMixin

_CHANGING: Final[dict[str, type[Any]]] = {
    "PUT": UpdateModelMixin,
    "PATCH": UpdateModelMixin,
    "DELETE": DestroyModelMixin,
}


def fitted(view: Any, request: Any, serializer: Any) -> Any:
    """The data that the serializer makes of the body; `serializer` is that of the endpoint, if it has its own.

    Raises if they do not fit, and if the object of a generic view that changes one is not there for the user.
    """
    instance = _object_of(view, request)
    make = _maker_of(view, request, serializer)
    if make is None:
        return None
    partial = {"partial": True} if request.method == "PATCH" else {}
    made = make(*(() if instance is None else (instance,)), data=request.data, **partial)
    made.is_valid(raise_exception=True)
    return made.validated_data


def _object_of(view: Any, request: Any) -> Any:
    changing = _CHANGING.get(request.method)
    return view.get_object() if changing and isinstance(view, changing) else None


def _maker_of(view: Any, request: Any, serializer: Any) -> Callable[..., Any] | None:
    if serializer is None and request.method == "DELETE":
        return None  # which has no body that would mean anything
    if serializer is None and _makes_serializers(view):
        made: Callable[..., Any] = view.get_serializer
        return made
    kind = serializer or getattr(view, "serializer_class", None)
    context = {"request": request, "view": view, "format": view.format_kwarg}
    return None if kind is None else lambda *args, **kwargs: kind(*args, context=context, **kwargs)


def _makes_serializers(view: Any) -> bool:
    if not isinstance(view, GenericAPIView):
        return hasattr(view, "get_serializer")
    is_own = type(view).get_serializer_class is not GenericAPIView.get_serializer_class
    return is_own or view.serializer_class is not None
