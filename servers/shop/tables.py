"""The shop's tables over SQLite, and the engine that several processes may open on one file.

Amounts are whole cents. Refuses to know rules, requests and wording.
"""

import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Connection, Engine, ForeignKey, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

BUSY_TIMEOUT_SECONDS = 15.0


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    customer_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    email: Mapped[str] = mapped_column(unique=True)
    address: Mapped[str]
    language: Mapped[str]
    customer_since: Mapped[date]


class Product(Base):
    __tablename__ = "products"
    sku: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    price_cents: Mapped[int]
    currency: Mapped[str] = mapped_column(default="EUR")
    stock: Mapped[int]
    restock_on: Mapped[date | None]


class Order(Base):
    __tablename__ = "orders"
    order_id: Mapped[str] = mapped_column(primary_key=True)
    customer_id: Mapped[str] = mapped_column(ForeignKey("customers.customer_id"), index=True)
    status: Mapped[str]
    placed_on: Mapped[date]
    shipped_on: Mapped[date | None]
    delivered_on: Mapped[date | None]
    returned_on: Mapped[date | None]
    cancelled_on: Mapped[date | None]
    tracking_number: Mapped[str | None]
    currency: Mapped[str]
    delivery_fee_cents: Mapped[int]
    lines: Mapped[list["OrderLine"]] = relationship(lazy="selectin", order_by="OrderLine.position")
    refunds: Mapped[list["Refund"]] = relationship(lazy="selectin", order_by="Refund.refund_id", viewonly=True)


class OrderLine(Base):
    __tablename__ = "order_lines"
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.order_id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    sku: Mapped[str] = mapped_column(ForeignKey("products.sku"))
    name: Mapped[str]
    quantity: Mapped[int]
    unit_price_cents: Mapped[int]


class Ticket(Base):
    __tablename__ = "tickets"
    ticket_id: Mapped[str] = mapped_column(primary_key=True)
    customer_id: Mapped[str | None] = mapped_column(ForeignKey("customers.customer_id"))
    from_name: Mapped[str]
    from_email: Mapped[str]
    sender_verified: Mapped[bool]
    subject: Mapped[str]
    body: Mapped[str]
    received_at: Mapped[str]
    due_at: Mapped[str]
    language: Mapped[str]


class Quote(Base):
    """`lines`: a list of {sku, name, quantity, unit_price, refund}, prices in cents."""

    __tablename__ = "quotes"
    quote_id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.order_id"), index=True)
    customer_id: Mapped[str] = mapped_column(ForeignKey("customers.customer_id"))
    ticket_id: Mapped[str]
    amount_cents: Mapped[int]
    delivery_fee_cents: Mapped[int]
    currency: Mapped[str]
    lines: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    explanation: Mapped[str]
    reason: Mapped[str | None]
    made_on: Mapped[date]


class Refund(Base):
    """One row per used quote; refunds older than the seed day have none. `lines`: {sku, refund} in cents."""

    __tablename__ = "refunds"
    refund_id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.order_id"), index=True)
    quote_id: Mapped[str | None] = mapped_column(ForeignKey("quotes.quote_id"), unique=True)
    idempotency_key: Mapped[str | None] = mapped_column(unique=True)
    ticket_id: Mapped[str | None]
    amount_cents: Mapped[int]
    delivery_fee_cents: Mapped[int]
    currency: Mapped[str]
    lines: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    status: Mapped[str]
    made_on: Mapped[date]
    requested_by: Mapped[str | None]
    released_by: Mapped[str | None]


def open_engine(database: Path) -> Engine:
    """An engine whose write transactions take SQLite's lock at their start.

    Use `engine.execution_options(begin="IMMEDIATE")` for those: a transaction that reads first and writes later
    could otherwise lose against another process halfway.
    """
    engine = create_engine(f"sqlite:///{database}", connect_args={"timeout": BUSY_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the begin below is ours, not the driver's
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode=WAL")


def _on_begin(connection: Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('begin', 'DEFERRED')}")
