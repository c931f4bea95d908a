"""Quotes and refunds: the only rows of the shop that money hangs on (spec S3).

A quote is used once. The same idempotency key gives the first refund again; a held refund is found again by the
call that made it. Refuses to know HTTP and MCP; every write happens under SQLite's lock from its first read on.
"""

import hashlib
import secrets
from collections.abc import Sequence

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from servers.shop import matching, rules
from servers.shop.errors import ShopError
from servers.shop.records import customer_of, own_order
from servers.shop.settings import RELEASE_LIMIT_CENTS, ShopSettings
from servers.shop.shapes import QuoteLine, QuoteRequest, QuoteView, RefundRequest, RefundRow, RefundView
from servers.shop.tables import Order, Quote, Refund

FIRST_REFUND = 101


class Ledger:
    def __init__(self, engine: Engine, settings: ShopSettings) -> None:
        self._engine = engine
        self._writing = engine.execution_options(begin="IMMEDIATE")
        self._settings = settings

    def quote(self, ticket_id: str, wanted: QuoteRequest) -> QuoteView:
        with Session(self._writing) as session, session.begin():
            order = own_order(session, ticket_id, wanted.order_id)
            sku = matching.normal_sku(wanted.sku) if wanted.sku and wanted.sku.strip() else None
            sum_ = self._calculate(session, order, sku)
            row = Quote(
                quote_id=self._quote_id(session, order.order_id),
                order_id=order.order_id,
                customer_id=order.customer_id,
                ticket_id=ticket_id,
                amount_cents=sum_.amount,
                delivery_fee_cents=sum_.delivery_fee,
                currency=order.currency,
                lines=[_line_record(entry) for entry in sum_.lines],
                explanation=sum_.explanation,
                reason=wanted.reason,
                made_on=self._settings.current_day(),
            )
            session.add(row)
            return _quote_view(row)

    def refund(self, ticket_id: str, wanted: RefundRequest) -> RefundView:
        """Make the refund of a quote, held when it is above the limit; or the one this call already made."""
        with Session(self._writing) as session, session.begin():
            quote = _own_quote(session, ticket_id, wanted.quote_id)
            earlier = _earlier_refund(session, quote, wanted.idempotency_key)
            if earlier is not None:
                return _refund_view(earlier)
            self._still_due(session, quote)
            row = Refund(
                refund_id=_next_refund_id(session),
                order_id=quote.order_id,
                quote_id=quote.quote_id,
                idempotency_key=wanted.idempotency_key,
                ticket_id=ticket_id,
                amount_cents=quote.amount_cents,
                delivery_fee_cents=quote.delivery_fee_cents,
                currency=quote.currency,
                lines=[{"sku": line["sku"], "refund": line["refund"]} for line in quote.lines],
                status="held" if quote.amount_cents > RELEASE_LIMIT_CENTS else "requested",
                made_on=self._settings.current_day(),
                requested_by=wanted.acting,
            )
            session.add(row)
            return _refund_view(row)

    def release(self, refund_id: str, acting: str | None) -> RefundView:
        """A held refund becomes requested; one that is requested already stays as it is."""
        with Session(self._writing) as session, session.begin():
            row = session.get(Refund, refund_id)
            if row is None:
                raise ShopError(404, "no_such_refund", f"no refund {refund_id}: GET /refunds lists them")
            if row.status == "paid":
                raise ShopError(409, "not_held", f"refund {refund_id} is paid: there is nothing to release")
            if row.status == "held":
                row.status, row.released_by = "requested", acting
            return _refund_view(row)

    def refunds(self) -> list[RefundRow]:
        with Session(self._engine) as session:
            rows = session.scalars(select(Refund).order_by(Refund.refund_id))
            return [_refund_row(row) for row in rows]

    def quotes(self) -> list[QuoteView]:
        with Session(self._engine) as session:
            return [_quote_view(row) for row in session.scalars(select(Quote).order_by(Quote.made_on, Quote.quote_id))]

    def _calculate(self, session: Session, order: Order, sku: str | None) -> rules.Calculation:
        match rules.calculate(_purchase(session, order), sku, self._settings.current_day()):
            case rules.NotRefundable(words=words):
                raise ShopError(422, "not_refundable", words)
            case rules.Calculation() as result:
                return result

    def _still_due(self, session: Session, quote: Quote) -> None:
        """A quote was true when it was made; another refund or the calendar may have passed it since."""
        order = session.get_one(Order, quote.order_id)
        match rules.calculate(_purchase(session, order), None, self._settings.current_day()):
            case rules.NotRefundable(words=words):
                raise ShopError(409, "already_refunded", words)
            case rules.Calculation(lines=lines):
                due = {entry.line.sku: entry.refund for entry in lines}
        if any(line["refund"] > due.get(line["sku"], 0) for line in quote.lines):
            raise ShopError(409, "already_refunded", f"order {order.order_id} changed since this quote: use quote_refund again")

    def _quote_id(self, session: Session, order_id: str) -> str:
        if self._settings.quote_seed is None:
            return f"Q-{secrets.token_hex(5)}"
        count = session.scalar(select(func.count()).select_from(Quote).where(Quote.order_id == order_id)) or 0
        named = f"{self._settings.quote_seed}:{order_id}:{count + 1}"
        return f"Q-{hashlib.sha256(named.encode()).hexdigest()[:10]}"


def _own_quote(session: Session, ticket_id: str, typed: str) -> Quote:
    customer, text = customer_of(session, ticket_id), typed.strip()
    quote = session.get(Quote, f"Q-{text[2:].lower()}" if text[:2].upper() == "Q-" else text)
    if quote is None or quote.customer_id != customer:
        raise ShopError(404, "no_such_quote", f"no quote {text} for this customer: use quote_refund to get one")
    return quote


def _earlier_refund(session: Session, quote: Quote, key: str | None) -> Refund | None:
    """The refund this very call made before, if any; an error when the quote or the key was used by another call."""
    if key is not None:
        same = session.scalar(select(Refund).where(Refund.idempotency_key == key))
        if same is not None and same.quote_id != quote.quote_id:
            raise ShopError(409, "key_used", "this idempotency_key belongs to another refund: use a new one")
        if same is not None:
            return same
    used = session.scalar(select(Refund).where(Refund.quote_id == quote.quote_id))
    if used is None or (key is None and used.idempotency_key is None and used.status == "held"):
        return used
    raise ShopError(
        409,
        "quote_used",
        f"quote {quote.quote_id} was used for refund {used.refund_id} ({used.status}): it cannot be used again, "
        f"get_order_status of {quote.order_id} shows its refunds",
    )


def _next_refund_id(session: Session) -> str:
    newest = session.scalar(select(func.max(Refund.refund_id)))
    return f"R-{int(newest[2:]) + 1 if newest else FIRST_REFUND:04d}"


def _purchase(session: Session, order: Order) -> rules.Purchase:
    refunds: Sequence[Refund] = session.scalars(select(Refund).where(Refund.order_id == order.order_id)).all()
    given: dict[str, int] = {}
    for entry in (line for refund in refunds for line in refund.lines):
        given[entry["sku"]] = given.get(entry["sku"], 0) + entry["refund"]
    return rules.Purchase(
        order_id=order.order_id,
        shipped_on=order.shipped_on,
        delivered_on=order.delivered_on,
        cancelled_on=order.cancelled_on,
        delivery_fee=order.delivery_fee_cents,
        fee_refunded=sum(refund.delivery_fee_cents for refund in refunds),
        lines=tuple(
            rules.Line(line.sku, line.name, line.quantity, line.unit_price_cents, given.get(line.sku, 0)) for line in order.lines
        ),
    )


def _line_record(entry: rules.LineRefund) -> dict[str, object]:
    line = entry.line
    return {
        "sku": line.sku,
        "name": line.name,
        "quantity": line.quantity,
        "unit_price": line.unit_price,
        "refund": entry.refund,
    }


def _quote_view(row: Quote) -> QuoteView:
    return QuoteView(
        quote_id=row.quote_id,
        order_id=row.order_id,
        amount=row.amount_cents / 100,
        currency=row.currency,
        lines=[
            QuoteLine(**line | {"unit_price": line["unit_price"] / 100, "refund": line["refund"] / 100}) for line in row.lines
        ],
        delivery_fee=row.delivery_fee_cents / 100,
        explanation=row.explanation,
        needs_release=row.amount_cents > RELEASE_LIMIT_CENTS,
    )


def _refund_view(row: Refund) -> RefundView:
    return RefundView(
        refund_id=row.refund_id,
        order_id=row.order_id,
        quote_id=row.quote_id,
        amount=row.amount_cents / 100,
        currency=row.currency,
        status=row.status,
    )


def _refund_row(row: Refund) -> RefundRow:
    return RefundRow(
        **_refund_view(row).model_dump(),
        ticket_id=row.ticket_id,
        idempotency_key=row.idempotency_key,
        made_on=row.made_on,
        requested_by=row.requested_by,
        released_by=row.released_by,
    )
