"""What is sent to the `callback_url` of a job, and what is expected of who is there."""

from typing import Any, Final

from asyncjobs.api.openapi import examples
from asyncjobs.api.openapi.answers import JSON, answer
from asyncjobs.api.openapi.parameters import in_header
from asyncjobs.api.openapi.shapes import TEXT, ref

_HEADERS: Final = (
    in_header("webhook-id", TEXT, "The same however often this is told.", required=True),
    in_header("webhook-timestamp", {"type": "integer"}, "When it was sent, in seconds since 1970.", required=True),
    in_header(
        "webhook-signature",
        TEXT,
        "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, with each secret of the site; by a blank between.",
        required=True,
    ),
)

CALLBACKS: Final[dict[str, Any]] = {
    "ended": {
        "{$request.body#/callback_url}": {
            "post": {
                "summary": "Tells how the job ended",
                "description": "Signed as Standard Webhooks 1.0 has it. Tried again until it is answered with success.",
                "parameters": list(_HEADERS),
                "requestBody": {
                    "required": True,
                    "content": {JSON: {"schema": ref("AsyncJobEvent"), "example": examples.EVENT}},
                },
                "responses": {"2XX": answer("It has arrived."), "410": answer("Nobody wants to know: it ends here.")},
            }
        }
    }
}
