"""What customers type, and what the shop takes it for."""

import pytest

from servers.shop.matching import close, normal_order_id, normal_sku, word_score


@pytest.mark.parametrize("typed", ["o9021", " 9021 ", "O-9021", "o - 9021", "#9021", "O9021"])
def test_an_order_id_has_one_normal_form(typed: str) -> None:
    assert normal_order_id(typed) == "O-9021"


def test_anything_else_stays_what_it_is() -> None:
    assert normal_order_id("my last one") == "MY LAST ONE"
    assert normal_sku("kg9001") == "KG-9001"


@pytest.mark.parametrize("typed", ["1744", "7144", "1745", "17744", "174"])
def test_one_slip_is_forgiven(typed: str) -> None:
    assert close(typed, "1744")


@pytest.mark.parametrize("typed", ["4471", "17", "9999", "177441"])
def test_two_slips_are_not(typed: str) -> None:
    assert not close(typed, "1744")


def test_products_are_found_by_beginnings_and_plurals() -> None:
    assert word_score("skillets", "Cast-iron skillet 26 cm") == 1
    assert word_score("chefs knives", "Chef's knife 20 cm") >= 1
    assert word_score("the order", "Border spade") == 0
