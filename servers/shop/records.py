"""Reads of the shop's records, and new tickets. Every order is read for one ticket's customer, or not at all.

A stranger's order and one that does not exist give the same error. Refuses to know HTTP and MCP.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from servers.shop import matching
from servers.shop.errors import ShopError
from servers.shop.settings import ShopSettings
from servers.shop.shapes import (
    CustomerView,
    NewTicket,
    OrderLineView,
    OrderList,
    OrderStatus,
    OrderSummary,
    RefundMade,
    Sender,
    StockEntry,
    StockList,
    TicketView,
)
from servers.shop.tables import Customer, Order, Product, Refund, Ticket

SHOWN_ORDERS = 12
SHOWN_PRODUCTS = 5
ANSWER_WITHIN = timedelta(hours=24)


class Records:
    def __init__(self, engine: Engine, settings: ShopSettings) -> None:
        self._engine = engine
        self._settings = settings

    def ticket(self, ticket_id: str) -> TicketView:
        with Session(self._engine) as session:
            return _ticket_view(known_ticket(session, ticket_id))

    def tickets(self) -> list[TicketView]:
        with Session(self._engine) as session:
            return [_ticket_view(row) for row in session.scalars(select(Ticket).order_by(Ticket.ticket_id))]

    def customers(self) -> list[CustomerView]:
        with Session(self._engine) as session:
            rows = session.scalars(select(Customer).order_by(Customer.customer_id))
            return [CustomerView.model_validate(row, from_attributes=True) for row in rows]

    def add_ticket(self, new: NewTicket) -> TicketView:
        """The next T-####; an address on file makes its sender known, any other leaves the ticket without a customer."""
        now = datetime.now(UTC)
        if self._settings.today is not None:
            now = datetime.combine(self._settings.today, time(now.hour, now.minute, now.second), UTC)
        with Session(self._engine.execution_options(begin="IMMEDIATE")) as session, session.begin():
            found = session.scalar(select(Customer).where(func.lower(Customer.email) == new.email.strip().lower()))
            row = Ticket(
                ticket_id=_next_ticket_id(session),
                customer_id=found.customer_id if found else None,
                from_name=new.name,
                from_email=new.email.strip(),
                sender_verified=found is not None,
                subject=new.subject,
                body=new.body,
                received_at=f"{now:%Y-%m-%dT%H:%M:%SZ}",
                due_at=f"{now + ANSWER_WITHIN:%Y-%m-%dT%H:%M:%SZ}",
                language=new.language,
            )
            session.add(row)
            session.flush()
            return _ticket_view(row)

    def find_orders(self, ticket_id: str, query: str | None) -> OrderList:
        """The customer's orders that fit the query, best first; all of them, with a note, when none fits."""
        with Session(self._engine) as session:
            customer = customer_of(session, ticket_id)
            statement = select(Order).where(Order.customer_id == customer).order_by(Order.placed_on.desc())
            orders = list(session.scalars(statement))
            if not orders:
                return OrderList(orders=[], note="This customer has no orders.")
            found = _matching_orders(orders, query) if query and query.strip() else orders
            note = f"{len(found)} of this customer's {len(orders)} orders."
            if not found:
                found, note = orders, f"No order fits {query!r}; these are all {len(orders)} orders of this customer."
            return OrderList(orders=[_summary(order) for order in found[:SHOWN_ORDERS]], note=note)

    def order_status(self, ticket_id: str, order_id: str) -> OrderStatus:
        with Session(self._engine) as session:
            return _status(own_order(session, ticket_id, order_id))

    def stock(self, sku: str | None, query: str | None) -> StockList:
        """One product by SKU, or those that share most words with the query."""
        with Session(self._engine) as session:
            products = list(session.scalars(select(Product).order_by(Product.sku)))
        if sku:
            wanted = matching.normal_sku(sku)
            found = [product for product in products if product.sku == wanted]
            hint = f"no product {wanted}: look it up with product words as query"
        elif query:
            found = _matching_products(products, query)
            hint = f"nothing in the catalogue fits {query!r}: use other English words, such as the kind of product"
        else:
            raise ShopError(422, "unreadable", "give a sku, or product words as query")
        if not found:
            raise ShopError(404, "no_such_product", hint)
        entries = [_stock_entry(product) for product in found[:SHOWN_PRODUCTS]]
        return StockList(products=entries, note=f"{len(entries)} of {len(found)} products that fit.")


def known_ticket(session: Session, ticket_id: str) -> Ticket:
    row = session.get(Ticket, ticket_id)
    if row is None:
        raise ShopError(404, "no_such_ticket", f"no ticket {ticket_id!r}: calls are answered for a known ticket only")
    return row


def customer_of(session: Session, ticket_id: str) -> str:
    customer = known_ticket(session, ticket_id).customer_id
    if customer is None:
        raise ShopError(
            422, "no_customer", f"ticket {ticket_id} comes from an address not on file: ask for the address of the order"
        )
    return customer


def own_order(session: Session, ticket_id: str, typed: str) -> Order:
    """The order, when it is the ticket's customer's own."""
    customer, order_id = customer_of(session, ticket_id), matching.normal_order_id(typed)
    order = session.get(Order, order_id)
    if order is None or order.customer_id != customer:
        raise ShopError(
            404, "no_such_order", f"no order {order_id} for this customer: use find_orders to see the customer's orders"
        )
    return order


def goods_cents(order: Order) -> int:
    return sum(line.quantity * line.unit_price_cents for line in order.lines)


def _next_ticket_id(session: Session) -> str:
    newest = session.scalar(select(func.max(Ticket.ticket_id))) or "T-0000"
    return f"T-{int(newest[2:]) + 1:04d}"


def _matching_orders(orders: Sequence[Order], query: str) -> list[Order]:
    by_id = {order.order_id: order for order in orders}
    numbers, months = matching.order_numbers(query), matching.month_numbers(query)
    scored = [(_order_score(order, query, numbers, months), order.order_id) for order in orders]
    return [by_id[order_id] for order_id in matching.best(scored)]


def _order_score(order: Order, query: str, numbers: Sequence[str], months: frozenset[int]) -> int:
    digits = order.order_id[2:]
    score = 10 * any(matching.close(number, digits) for number in numbers)
    score += 20 * (digits in numbers or bool(order.tracking_number and order.tracking_number in query.upper()))
    score += 2 * (order.placed_on.month in months)
    text = " ".join([order.status, str(order.placed_on), *(f"{line.sku} {line.name}" for line in order.lines)])
    return score + matching.word_score(query, text)


def _matching_products(products: Sequence[Product], query: str) -> list[Product]:
    by_sku = {product.sku: product for product in products}
    ranked = matching.best((matching.word_score(query, f"{p.sku} {p.name}"), p.sku) for p in products)
    return [by_sku[sku] for sku in ranked]


def _ticket_view(row: Ticket) -> TicketView:
    return TicketView.model_validate(
        {
            "id": row.ticket_id,
            "customer_id": row.customer_id,
            "from": Sender(name=row.from_name, email=row.from_email),
            "sender_verified": row.sender_verified,
            "subject": row.subject,
            "body": row.body,
            "received_at": row.received_at,
            "due_at": row.due_at,
            "language": row.language,
        }
    )


def _summary(order: Order) -> OrderSummary:
    return OrderSummary(
        order_id=order.order_id,
        placed_on=order.placed_on,
        status=order.status,
        delivered_on=order.delivered_on,
        items=[f"{line.quantity} x {line.name}" for line in order.lines],
        order_total=(goods_cents(order) + order.delivery_fee_cents) / 100,
        currency=order.currency,
    )


def _status(order: Order) -> OrderStatus:
    goods = goods_cents(order)
    return OrderStatus(
        order_id=order.order_id,
        status=order.status,
        placed_on=order.placed_on,
        shipped_on=order.shipped_on,
        delivered_on=order.delivered_on,
        returned_on=order.returned_on,
        cancelled_on=order.cancelled_on,
        tracking_number=order.tracking_number,
        lines=[
            OrderLineView(sku=line.sku, name=line.name, quantity=line.quantity, unit_price=line.unit_price_cents / 100)
            for line in order.lines
        ],
        goods_total=goods / 100,
        delivery_fee=order.delivery_fee_cents / 100,
        order_total=(goods + order.delivery_fee_cents) / 100,
        currency=order.currency,
        refunds=[_refund_made(refund) for refund in order.refunds],
    )


def _refund_made(row: Refund) -> RefundMade:
    return RefundMade(
        refund_id=row.refund_id,
        amount=row.amount_cents / 100,
        currency=row.currency,
        status=row.status,
        made_on=row.made_on,
        quote_id=row.quote_id,
        idempotency_key=row.idempotency_key,
    )


def _stock_entry(product: Product) -> StockEntry:
    return StockEntry(
        sku=product.sku,
        name=product.name,
        price=product.price_cents / 100,
        currency=product.currency,
        stock=product.stock,
        restock_on=product.restock_on,
    )
