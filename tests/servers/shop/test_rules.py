"""The refund policy as a function, at its edges."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from servers.shop.rules import Calculation, Line, NotRefundable, Purchase, calculate

TODAY = date(2026, 6, 2)
PAN = Line("KG-9001", "Pan", 2, 10_01, 0)
LID = Line("KG-9002", "Lid", 1, 5_00, 0)


def purchase(delivered: int | None = None, shipped: int | None = None, refunded: int = 0, cancelled: bool = False) -> Purchase:
    """Delivered and shipped so many days ago."""
    return Purchase(
        order_id="O-9001",
        shipped_on=None if shipped is None else TODAY - timedelta(days=shipped),
        delivered_on=None if delivered is None else TODAY - timedelta(days=delivered),
        cancelled_on=TODAY if cancelled else None,
        delivery_fee=4_95,
        fee_refunded=0,
        lines=(Line("KG-9001", "Pan", 2, 10_01, refunded), LID),
    )


@pytest.mark.parametrize(
    ("order", "amount"),
    [
        (purchase(delivered=0), 25_02),
        (purchase(delivered=30), 25_02),
        (purchase(delivered=31), 12_51),
        (purchase(delivered=60), 12_51),
        (purchase(), 29_97),
        (purchase(shipped=14), 29_97),
        (purchase(delivered=3, refunded=10_01), 15_01),
    ],
)
def test_a_whole_order_s_refund_follows_the_policy(order: Purchase, amount: int) -> None:
    result = calculate(order, None, TODAY)
    assert isinstance(result, Calculation)
    assert result.amount == amount


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (purchase(delivered=61), "after 60 days"),
        (purchase(shipped=13), "on its way"),
        (purchase(cancelled=True), "cancelled"),
    ],
)
def test_what_cannot_be_refunded_is_refused_in_words(order: Purchase, words: str) -> None:
    result = calculate(order, None, TODAY)
    assert isinstance(result, NotRefundable)
    assert words in result.words


def test_one_line_leaves_out_the_others_and_the_delivery_fee() -> None:
    result = calculate(purchase(), "KG-9002", TODAY)
    assert isinstance(result, Calculation)
    assert (result.amount, result.delivery_fee) == (5_00, 0)


def test_a_line_the_order_does_not_have_is_refused_with_those_it_has() -> None:
    result = calculate(purchase(delivered=1), "KG-9999", TODAY)
    assert isinstance(result, NotRefundable)
    assert "KG-9001 (Pan), KG-9002 (Lid)" in result.words


def test_a_line_refunded_before_has_nothing_left() -> None:
    assert isinstance(calculate(purchase(delivered=1, refunded=20_02), "KG-9001", TODAY), NotRefundable)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (purchase(delivered=3), "; delivery fee of 4.95 EUR not refunded"),
        (purchase(shipped=20), "; delivery fee of 4.95 EUR included"),
        (replace(purchase(delivered=3), delivery_fee=0), "; no delivery fee was paid"),
    ],
)
def test_the_words_say_what_became_of_the_delivery_fee(order: Purchase, words: str) -> None:
    result = calculate(order, None, TODAY)
    assert isinstance(result, Calculation)
    assert result.explanation.endswith(words)
