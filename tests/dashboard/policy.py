"""What pages of the dashboard may do in a browser: the strictest policy they are promised to work under."""

from collections.abc import Callable
from typing import Any, Final

DIRECTIVES: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
)


class StrictPolicy:
    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        response = self._get_response(request)
        response["Content-Security-Policy"] = "; ".join(DIRECTIVES)
        return response
