"""What the shop's API and its tools answer: one set of shapes for both. Amounts are in the currency named beside them.

Refuses to know where the values come from.
"""

from datetime import date

from pydantic import BaseModel, Field


class OrderSummary(BaseModel):
    order_id: str
    placed_on: date
    status: str
    delivered_on: date | None
    items: list[str]
    order_total: float
    currency: str


class OrderList(BaseModel):
    orders: list[OrderSummary]
    note: str


class OrderLineView(BaseModel):
    sku: str
    name: str
    quantity: int
    unit_price: float


class RefundMade(BaseModel):
    refund_id: str
    amount: float
    currency: str
    status: str = Field(description="held, requested or paid")
    made_on: date
    quote_id: str | None
    idempotency_key: str | None


class OrderStatus(BaseModel):
    order_id: str
    status: str
    placed_on: date
    shipped_on: date | None
    delivered_on: date | None
    returned_on: date | None
    cancelled_on: date | None
    tracking_number: str | None
    lines: list[OrderLineView]
    goods_total: float
    delivery_fee: float
    order_total: float
    currency: str
    refunds: list[RefundMade]


class StockEntry(BaseModel):
    sku: str
    name: str
    price: float
    currency: str
    stock: int
    restock_on: date | None


class StockList(BaseModel):
    products: list[StockEntry]
    note: str


class QuoteLine(BaseModel):
    sku: str
    name: str
    quantity: int
    unit_price: float
    refund: float


class QuoteView(BaseModel):
    quote_id: str
    order_id: str
    amount: float
    currency: str
    lines: list[QuoteLine]
    delivery_fee: float
    explanation: str = Field(description="how the amount came about")
    needs_release: bool = Field(description="true when the refund will be held until it is released")


class RefundView(BaseModel):
    refund_id: str
    order_id: str
    quote_id: str | None
    amount: float
    currency: str
    status: str = Field(description="held, requested or paid")


class RefundRow(RefundView):
    """What the API's own listing adds."""

    ticket_id: str | None
    idempotency_key: str | None
    made_on: date
    requested_by: str | None
    released_by: str | None


class TicketView(BaseModel):
    id: str
    customer_id: str | None
    from_: "Sender" = Field(alias="from")
    sender_verified: bool
    subject: str
    body: str
    received_at: str
    due_at: str
    language: str


class Sender(BaseModel):
    name: str
    email: str


class NewTicket(BaseModel):
    name: str = Field(min_length=1, max_length=200)
    email: str = Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=200)
    subject: str = Field(default="", max_length=300)
    body: str = Field(min_length=1, max_length=20_000)
    language: str = Field(default="en", pattern=r"^[a-z]{2}$")


class QuoteRequest(BaseModel):
    order_id: str
    sku: str | None = None
    reason: str | None = None


class RefundRequest(BaseModel):
    quote_id: str
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)
    acting: str | None = None


class ReleaseRequest(BaseModel):
    acting: str | None = None


class CustomerView(BaseModel):
    customer_id: str
    name: str
    email: str
    address: str
    language: str
    customer_since: date


class Problem(BaseModel):
    """The body of every answer that is not a success: a stable code, and words that say what to do next."""

    code: str
    error: str
