"""`Idempotency-Key`: the same request twice gets the same answer twice, and is carried out once."""

import base64
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from rest_framework.response import Response

from asyncjobs.api.access import owner_of
from asyncjobs.api.pace import SHORTEST_S
from asyncjobs.api.problems import Problem
from asyncjobs.engine import Engine
from asyncjobs.stores.base import Receipt

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"
PLACE: Final = "Location"

_BARE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,255}")
_QUOTED: Final = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"')

_canonical: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


Substitute = Callable[[Any, Receipt], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """What a request is known by, and what it asks for."""

    key: str
    fingerprint: str

    def receipt(self, engine: Engine, body: Any) -> Receipt:
        """What is to be kept of the answer to it."""
        text = json.dumps(body, separators=(",", ":")).encode()
        until = engine.store.now() + engine.conf.api.idempotency
        return Receipt(self.key, self.fingerprint, base64.b64encode(zlib.compress(text, 1)).decode(), until)

    def kept(self, engine: Engine) -> Receipt | None:
        """The receipt of an earlier request that was the same."""
        return engine.store.receipt(self.key)

    def replayed(self, receipt: Receipt, substitute: Substitute = lambda body, receipt: body) -> Response:
        """The first answer again."""
        if receipt.fingerprint != self.fingerprint:
            raise Problem("key-reused", f"This {HEADER} was used for a request that asked for something else.")
        body = substitute(json.loads(zlib.decompress(base64.b64decode(receipt.text))), receipt)
        response = Response(body, status=202)
        response[REPLAYED] = "true"
        if "links" in body:
            response[PLACE] = body["links"]["self"]
            if not body["done"]:
                response["Retry-After"] = str(SHORTEST_S)  # it may have been done since
        return response


def key_of(request: Any, body: Any) -> Key | None:
    """The key of a request, of which this is the body. It counts for its user, method and path alone."""
    given = request.headers.get(HEADER)
    if given is None:
        return None
    owner = owner_of(request.user)
    if owner is None:
        raise Problem("malformed", f"An {HEADER} is for users who are known: others would share it.")
    scope = "\n".join([owner, request.method, request.path, _text(given.strip())])
    return Key(_digest(scope), _digest(body if isinstance(body, str) else _canonical(body)))


def _text(given: str) -> str:
    if quoted := _QUOTED.fullmatch(given):
        return quoted[1]
    if _BARE.fullmatch(given):
        return given
    raise Problem("malformed", f"An {HEADER} is 1 to 255 visible ASCII characters, as they are or in quotes.")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
