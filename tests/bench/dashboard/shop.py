"""What a busy shop runs, and how it fails."""

from random import Random
from typing import Final, NamedTuple

from asyncjobs import job
from asyncjobs.domain.job import JobError

AREAS: Final = {
    "mail": ("send_receipt", "send_newsletter", "send_reminder", "clean_addresses"),
    "search": ("index_product", "index_category", "remove_product", "rebuild_suggestions"),
    "payments": ("capture", "refund", "reconcile", "check_fraud"),
    "images": ("resize", "watermark", "fetch_original", "drop_unused"),
    "invoices": ("render", "archive", "send_to_tax_office", "number"),
    "stock": ("reserve", "release", "reorder", "count"),
    "shipping": ("print_label", "track_parcel", "announce", "insure"),
    "reports": ("build_daily", "build_monthly", "export_csv", "mail_board"),
    "webhooks": ("deliver", "verify_receiver", "summarise", "expire_receivers"),
    "default": ("warm_cache", "expire_carts", "sync_prices", "rotate_keys"),
}
NAMES: Final = tuple(f"shop.{area}.{verb}" for area, verbs in AREAS.items() for verb in verbs)
TAGS: Final = ("vip", "nightly", "backfill", *(f"campaign-{number}" for number in range(200)))
OWNERS: Final = 5_000
ERRORS: Final = (
    ("builtins.ConnectionError", "the gateway did not answer order {0} within {1}.5 s"),
    ("builtins.TimeoutError", "timeout after {1} s, reading the answer to order {0}"),
    ("builtins.KeyError", "'vat_rate'"),
    ("builtins.ValueError", "order {0} has no line {1}"),
    ("django.db.utils.OperationalError", "deadlock detected: process {0} waits for process {1}"),
    ("shop.errors.OutOfStock", "product {0} is out of stock: {1} are wanted"),
    ("httpx.HTTPStatusError", "Server error '503 Service Unavailable' for url 'https://example.org/orders/{0}'"),
    ("builtins.MemoryError", ""),
)

_FRAME: Final = """  File "/srv/shop/{area}/{module}.py", line {line}, in {function}
    return self.{function}_of(order, retries={line}, reason="because the test of the dashboard says so")
"""


class Failure(NamedTuple):
    """A handler that fails in one way."""

    name: str
    type: str
    message: str
    depth: int  # frames of the traceback

    def error(self, chance: Random) -> JobError:
        message = self.message.format(chance.randint(10_000, 99_999), chance.randint(1, 30))
        return JobError(code="HANDLER_ERROR", type=self.type, message=message, traceback=self._traceback(message))

    def _traceback(self, message: str) -> str:
        area = self.name.split(".")[1]
        frames = (
            _FRAME.format(area=area, module=f"step_{number}", line=10 * number, function=f"go_{number}")
            for number in range(self.depth)
        )
        return f"Traceback (most recent call last):\n{''.join(frames)}{self.type}: {message}\n"


def _failures() -> list[Failure]:
    """Forty kinds: every handler fails in its own way, and few of them fail often."""
    return [
        Failure(name, *ERRORS[number % len(ERRORS)], depth=4 + 5 * number % 21) for number, name in enumerate(NAMES)
    ]


FAILURES: Final = _failures()


def _register(name: str, queue: str) -> None:
    @job(name=name, queue=queue)
    def run(order: int, to: str = "") -> None: ...


for _area, _verbs in AREAS.items():
    for _verb in _verbs:
        _register(f"shop.{_area}.{_verb}", _area)
