"""Handlers of a shop. What they do is of no matter: the tests look at jobs of theirs."""

from typing import Any

from asyncjobs import job


@job(name="shop.mail.send_receipt", queue="mail")
def send_receipt(order: int, to: str = "") -> None: ...


@job(name="shop.mail.send_newsletter", queue="mail")
def send_newsletter(issue: str) -> None: ...


@job(name="shop.payments.capture", queue="payments")
def capture(order: int, amount: str) -> None: ...


@job(name="shop.search.index_product", queue="search")
def index_product(product: int) -> None: ...


@job(name="shop.invoices.render", queue="invoices")
def render(order: int) -> None: ...


@job(name="shop.reports.build_monthly", queue="reports")
def build_monthly(month: str, detailed: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - as in a submission
    return {}
