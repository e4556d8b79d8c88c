"""Whether jobs can be stored and read: for load balancers and probes."""

from typing import Any

from rest_framework.permissions import AllowAny
from rest_framework.response import Response

from asyncjobs.api.base import ApiView
from asyncjobs.api.bodies import NO_ID


class Health(ApiView):
    """The health of the store. Anybody may ask, and learns no more than that."""

    permission_classes = (AllowAny,)

    def get_authenticators(self) -> list[Any]:
        """Nobody is looked up: that may need a server that is down."""
        return []

    def get(self, request: Any) -> Response:
        """200 if the store answers, else 503."""
        self.engine.store.get([NO_ID])
        return Response({"status": "ok"}, headers={"Cache-Control": "no-store"})
