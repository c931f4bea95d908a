"""Fills an empty database from the files beside it; a database that holds anything is left alone.

Runs under SQLite's write lock, so of several processes that start at once exactly one seeds.
"""

import json
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from servers.shop.tables import Base, Customer, Order, OrderLine, Product, Refund, Ticket

DATA = Path(__file__).parent / "data"


def cents(amount: float) -> int:
    return round(amount * 100)


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return rows


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def seed_when_empty(engine: Engine) -> bool:
    """Create the tables and the seed rows. True when this call seeded."""
    with engine.execution_options(begin="IMMEDIATE").connect() as connection, connection.begin():
        Base.metadata.create_all(connection)
        with Session(connection) as session:
            if session.scalar(select(func.count()).select_from(Customer)):
                return False
            _fill(session)
            session.flush()
    return True


def _fill(session: Session) -> None:
    for row in _rows("customers.json"):
        session.add(Customer(**row | {"customer_since": date.fromisoformat(row["customer_since"])}))
    for row in _rows("products.json"):
        session.add(_product(row))
    session.flush()
    for row in _rows("orders.json"):
        session.add(_order(row))
        session.flush()
        for refund in row["refunds"]:
            session.add(_refund(row, refund))
    for line in (DATA / "tickets.jsonl").read_text(encoding="utf-8").splitlines():
        session.add(_ticket(json.loads(line)))


def _product(row: dict[str, Any]) -> Product:
    return Product(
        sku=row["sku"],
        name=row["name"],
        price_cents=cents(row["price"]),
        currency="EUR",
        stock=row["stock"],
        restock_on=_day(row["restock_on"]),
    )


def _order(row: dict[str, Any]) -> Order:
    days = {key: _day(row[key]) for key in ("placed_on", "shipped_on", "delivered_on", "returned_on", "cancelled_on")}
    same = {key: row[key] for key in ("order_id", "customer_id", "status", "tracking_number", "currency")}
    lines = [
        OrderLine(
            position=number,
            sku=line["sku"],
            name=line["name"],
            quantity=line["quantity"],
            unit_price_cents=cents(line["unit_price"]),
        )
        for number, line in enumerate(row["lines"])
    ]
    return Order(**same, **days, delivery_fee_cents=cents(row["delivery_fee"]), lines=lines)


def _refund(order: dict[str, Any], row: dict[str, Any]) -> Refund:
    """An older refund: of one line when it names a SKU, else of the whole order with its delivery fee."""
    whole = row["sku"] is None
    lines = [
        {"sku": line["sku"], "refund": cents(line["quantity"] * line["unit_price"] if whole else row["amount"])}
        for line in order["lines"]
        if whole or line["sku"] == row["sku"]
    ]
    return Refund(
        refund_id=row["refund_id"],
        order_id=order["order_id"],
        amount_cents=cents(row["amount"]),
        delivery_fee_cents=cents(order["delivery_fee"]) if whole else 0,
        currency=row["currency"],
        lines=lines,
        status=row["status"],
        made_on=date.fromisoformat(row["made_on"]),
    )


def _ticket(row: dict[str, Any]) -> Ticket:
    same = {key: row[key] for key in row if key not in ("id", "from")}
    return Ticket(ticket_id=row["id"], from_name=row["from"]["name"], from_email=row["from"]["email"], **same)
