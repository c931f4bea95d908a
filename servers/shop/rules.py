"""What a refund comes to: the refund policy as a pure function over dates and cents.

The same terms stand in data/policies/refund.md; change both together. Refuses to know the database and requests.
"""

from dataclasses import dataclass
from datetime import date

FULL_DAYS = 30
HALF_DAYS = 60
LOST_DAYS = 14


@dataclass(frozen=True)
class Line:
    """A line of an order; amounts in cents. `refunded` is what earlier refunds already gave back for it."""

    sku: str
    name: str
    quantity: int
    unit_price: int
    refunded: int


@dataclass(frozen=True)
class Purchase:
    """An order as the rules see it."""

    order_id: str
    shipped_on: date | None
    delivered_on: date | None
    cancelled_on: date | None
    delivery_fee: int
    fee_refunded: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class LineRefund:
    line: Line
    refund: int


@dataclass(frozen=True)
class Calculation:
    """A refund that can be made: cents per line, cents of delivery fee, and how it came about in words."""

    lines: tuple[LineRefund, ...]
    delivery_fee: int
    explanation: str

    @property
    def amount(self) -> int:
        return sum(entry.refund for entry in self.lines) + self.delivery_fee


@dataclass(frozen=True)
class NotRefundable:
    """No refund can be quoted; `words` say why and what to do next."""

    words: str


@dataclass(frozen=True)
class _Terms:
    percent: int
    with_fee: bool
    words: str


def calculate(purchase: Purchase, sku: str | None, today: date) -> Calculation | NotRefundable:
    """The refund for one line (`sku`) or the whole order, less what was refunded before."""
    wanted = tuple(line for line in purchase.lines if sku is None or line.sku == sku)
    if not wanted:
        has = ", ".join(f"{line.sku} ({line.name})" for line in purchase.lines)
        return NotRefundable(
            f"order {purchase.order_id} has no line {sku}: its lines are {has}. Quote one of these, or the whole order"
        )
    match _terms(purchase, today):
        case NotRefundable() as refusal:
            return refusal
        case terms:
            return _sum(purchase, wanted, sku is None, terms)


def _terms(purchase: Purchase, today: date) -> _Terms | NotRefundable:
    name = purchase.order_id
    if purchase.cancelled_on:
        return NotRefundable(f"order {name} was cancelled on {purchase.cancelled_on}: get_order_status shows its refunds")
    if purchase.delivered_on:
        return _delivered_terms(name, purchase.delivered_on, today)
    if purchase.shipped_on is None:
        return _Terms(100, True, "not shipped yet: goods in full")
    days = (today - purchase.shipped_on).days
    if days < LOST_DAYS:
        return NotRefundable(
            f"order {name} is on its way since {purchase.shipped_on}: it can be refunded once delivered, or as lost "
            f"after {LOST_DAYS} days without delivery"
        )
    return _Terms(100, True, f"not delivered {days} days after shipping, so lost: goods in full")


def _delivered_terms(name: str, delivered: date, today: date) -> _Terms | NotRefundable:
    days = (today - delivered).days
    since = f"delivered on {delivered}, {days} days ago"
    if days <= FULL_DAYS:
        return _Terms(100, False, f"{since}, within {FULL_DAYS} days: goods in full")
    if days <= HALF_DAYS:
        return _Terms(50, False, f"{since}, day {FULL_DAYS + 1} to {HALF_DAYS}: 50 percent of the goods")
    return NotRefundable(f"order {name} was {since}: after {HALF_DAYS} days there is no refund, a team lead decides")


def _sum(purchase: Purchase, wanted: tuple[Line, ...], whole: bool, terms: _Terms) -> Calculation | NotRefundable:
    lines = tuple(LineRefund(line, _line_refund(line, terms.percent)) for line in wanted)
    fee = max(0, purchase.delivery_fee - purchase.fee_refunded) if whole and terms.with_fee else 0
    refunded = sum(line.refunded for line in wanted)
    words = terms.words + (_fee_words(purchase.delivery_fee, fee) if whole else "")
    if refunded:
        words += f"; {euros(refunded)} EUR already refunded for it is deducted"
    result = Calculation(lines, fee, words)
    if result.amount <= 0:
        return NotRefundable(
            f"order {purchase.order_id} has nothing left to refund here: get_order_status shows the refunds made for it"
        )
    return result


def _fee_words(paid: int, back: int) -> str:
    if not paid:
        return "; no delivery fee was paid"
    return f"; delivery fee of {euros(paid)} EUR {'included' if back else 'not refunded'}"


def _line_refund(line: Line, percent: int) -> int:
    return max(0, line.quantity * line.unit_price * percent // 100 - line.refunded)


def euros(cents: int) -> str:
    """`16196` as `161.96`."""
    return f"{cents // 100}.{cents % 100:02d}"
