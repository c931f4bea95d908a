"""The claim check: drafts beside the log of what really ran."""

import time
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.amounts import Amount, amounts_in_data, find_amounts, parse_typed_amount, plain, read_amount
from host.config import GroundingRule, ReviewConfig, ServerConfig, ToolConfig
from host.review import correction, review, unmet
from host.types import Attached, Flag, OutcomeKind, Ticket, ToolCallRecord

READ = ToolConfig(effect="read")
SERVERS = {
    "shop": ServerConfig(
        command=("shop",),
        trusted=True,
        record=True,
        currency="EUR",
        tools=dict.fromkeys(("find_orders", "get_order_status", "check_stock", "quote_refund"), READ),
    ),
    "partner": ServerConfig(command=("partner",), currency="EUR", tools={"track_parcel": READ}),
}
GROUNDING = {
    "order_id": GroundingRule(find=r"(?i)(?<![\w.,-])(?:o[\s-]?)?(\d{4})(?![\w]|[.,]\d)", normal="O-{}", exact=r"O-\d{4}"),
    "quote_id": GroundingRule(find=r"\b(Q-[0-9a-f]{10})\b", exact=r"Q-[0-9a-f]{10}", handle=True),
    "tracking_number": GroundingRule(find=r"(?i)\bFX[\s-]?(\d{8})\b", normal="FX-{}", exact=r"FX-\d{8}"),
}
CONFIG = ReviewConfig(**tomllib.loads((Path(__file__).parents[2] / "deskhand.toml").read_text("utf-8"))["review"])
POLICY = Attached(
    "shop://policies/refund",
    "shop",
    "Goods may be refunded in full for 30 days. From day 31 to day 60 we refund 50 percent. Sums are paid within 5 working days. "
    "Above 150.00 EUR a lead decides. Delivery takes 2 to 5 working days.",
)
TICKET = Ticket(
    id="T-1",
    intake_key="k",
    subject="Order 1145",
    body="You approved 400 EUR for order O-1145. I waited three weeks. My parcel is FX-48213377.",
    sender_mail="a@example.com",
    sender_name="Ann",
    sender_verified=True,
    customer_id="C-1",
    received_at=datetime(2026, 6, 1, tzinfo=UTC),
)


def call(
    name: str, data: Any = None, outcome: OutcomeKind = OutcomeKind.RESULT, text: str = "", **arguments: Any
) -> ToolCallRecord:
    ok = outcome is OutcomeKind.RESULT
    return ToolCallRecord(name, arguments, ok, 5, "", f"c-{name}", outcome, data=data, server=name.split(".")[0], text=text)


STATUS = call(
    "shop.get_order_status",
    {
        "order_id": "O-1145",
        "status": "delivered",
        "placed_on": "2026-05-10",
        "delivered_on": "2026-05-17",
        "tracking_number": "FX-48213377",
        "lines": [{"sku": "KG-1034", "name": "Stand mixer", "quantity": 2, "unit_price": 171.745}],
        "order_total": 348.44,
        "delivery_fee": 4.95,
        "currency": "EUR",
        "refunds": [],
    },
    order_id="O-1145",
)
QUOTE = call(
    "shop.quote_refund",
    {"quote_id": "Q-0123456789", "order_id": "O-1145", "amount": 343.49, "currency": "EUR"},
    order_id="O-1145",
)
REFUND = {"refund_id": "R-0111", "order_id": "O-1145", "amount": 343.49, "currency": "EUR", "status": "requested"}
ISSUED = call("shop.issue_refund", REFUND, quote_id="Q-0123456789")
DECLINED = call("shop.issue_refund", None, OutcomeKind.DECLINED, quote_id="Q-0123456789")
FAILED = call("shop.issue_refund", None, OutcomeKind.TOOL_ERROR, "the API still holds it", quote_id="Q-0123456789")
LYING_ERROR = call("shop.issue_refund", {"ok": True, **REFUND}, OutcomeKind.TOOL_ERROR, "card declined", quote_id="Q-0123456789")
STOCK = call(
    "shop.check_stock", {"products": [{"name": "Bread knife", "price": 24.5, "currency": "EUR", "stock": 14, "restock_on": None}]}
)
SOLD_OUT = call("shop.check_stock", {"products": [{"name": "Kettle", "price": 39.9, "stock": 0, "restock_on": "2026-06-15"}]})
PARCEL = {"tracking_number": "FX-48213377", "status": "out for delivery", "expected_on": "2026-06-04"}
TRACKED = call("partner.track_parcel", PARCEL, tracking_number="FX-48213377")
STRANGE = call("partner.track_parcel", {**PARCEL, "tracking_number": "FX-10000001"}, tracking_number="FX-10000001")


def flags(
    text: str, calls: Sequence[ToolCallRecord] = (), *, handed_over: bool = False, ticket: Ticket = TICKET
) -> tuple[Flag, ...]:
    return review(text, ticket, calls, (POLICY,), CONFIG, SERVERS, GROUNDING, handed_over=handed_over)


def tags(text: str, calls: Sequence[ToolCallRecord] = ()) -> set[str]:
    return {flag.tag for flag in flags(text, calls)}


FINE = [
    ("Your order O-1145 was delivered on 17 May.", [STATUS]),
    ("Your order O-1145 was delivered on 2026-05-17.", [STATUS]),
    ("Ihre Bestellung O-1145 wurde am 17. Mai zugestellt.", [STATUS]),
    ("Uw bestelling is op 17 mei bezorgd.", [STATUS]),
    ("Votre commande a été livrée le 17 mai 2026.", [STATUS]),
    ("The order came to 348.44 EUR, of which 4.95 EUR are delivery.", [STATUS]),
    ("Die Bestellung kostete 348,44 €.", [STATUS]),
    ("A refund would be EUR 343.49.", [STATUS, QUOTE]),
    ("If you return everything, you would get 343.49 EUR back.", [QUOTE]),
    ("A refund of 343.49 EUR has been requested.", [QUOTE, ISSUED]),
    ("Your refund of €343.49 for order O-1145 has been requested and will be paid within 5 working days.", [QUOTE, ISSUED]),
    ("Wir haben die Erstattung von 343,49 € beantragt.", [ISSUED]),
    ("De terugbetaling van € 343,49 is aangevraagd.", [ISSUED]),
    ("Le remboursement de 343,49 € a été demandé.", [ISSUED]),
    ("Your refund number is R-0111.", [ISSUED]),
    ("No refund was made.", [STATUS]),
    ("I can't refund the delivery fee of 4.95 EUR.", [STATUS]),
    ("If you want we can ask for a refund.", []),
    ("You mention 400 EUR; I can't find that sum.", [STATUS]),
    ("You write that we approved your refund of 400 EUR, but no refund was made.", [STATUS]),
    ("Goods may be returned within 30 days.", []),
    ("Goods may be returned for thirty days.", []),
    ("After that we would refund 50 %.", []),
    ("Delivery takes 2 to 5 working days.", []),
    ("Die Lieferung dauert 2-5 Werktage.", []),
    ("A lead decides above 150 EUR.", []),
    ("Thank you for writing to us today.", []),
    ("I am sorry that you have waited three weeks.", []),
    ("The bread knife is in stock, we have 14.", [STOCK]),
    ("The kettle is sold out; it is expected on Monday, 15 June.", [SOLD_OUT]),
    ("Der Kessel ist leider ausverkauft.", [SOLD_OUT]),
    ("Your parcel FX-48213377 is out for delivery.", [STATUS, TRACKED]),
    ("It is expected on 4 June.", [STATUS, TRACKED]),
    ("A refund would come to 343.49 EUR. Nothing has been requested yet. If you want it, reply to this message.", [QUOTE]),
    ("The refund could not be made because it was declined.", [DECLINED]),
    ("You can return goods within 30 days. After that we would refund 50 percent.", []),
    ("Could you send us your order number?", []),
    ("Thank you for your kind words, we are glad that you like it.", []),
    ("1. Check the plug.\n2. Tell us what you see.", []),
]

FLAGGED = [
    ("I have issued a refund of 25.00 EUR to your card.", [], {"action", "amount"}),
    ("I have issued a refund of 343.49 EUR to your card.", [QUOTE, FAILED], {"action"}),
    ("I have issued a refund of 25.00 EUR to your card.", [ISSUED], {"amount"}),
    ("We will refund you.", [], {"action"}),
    ("We will refund you.", [DECLINED], {"action"}),
    ("We will refund you.", [call("shop.issue_refund", None, OutcomeKind.EXPIRED)], {"action"}),
    ("We will refund you.", [call("shop.issue_refund", None, OutcomeKind.MAY_HAVE_RUN)], {"action"}),
    ("Your refund has been processed.", [LYING_ERROR], {"action"}),
    ("The refund amount is 343.49 EUR.", [LYING_ERROR], {"amount"}),
    ("You'll receive your money within 5 working days.", [QUOTE], {"action"}),
    ("You asked for a refund. It has been issued.", [QUOTE], {"action"}),
    ("We have sent 343.49 EUR to your card.", [QUOTE], {"action"}),
    ("We will pay you back.", [], {"action"}),
    ("The amount is on your card.", [], {"action"}),
    ("I've arranged for the full amount to be returned to you.", [], {"action"}),
    ("Das Geld ist bald auf Ihrem Konto.", [], {"action"}),
    ("Je m'occupe de votre remboursement.", [], {"action"}),
    ("Will we refund you? Yes, we will.", [], {"action"}),
    ("Wir zahlen Ihnen den Betrag zurück.", [], {"action"}),
    ("Wij storten het bedrag terug.", [], {"action"}),
    ("A refund of 343.49 USD has been requested.", [ISSUED], {"amount"}),
    ("A refund of 343.49 has been requested.", [ISSUED], {"amount"}),
    ("A refund for order O-2289 has been requested.", [ISSUED], {"identifier"}),
    ("We approved your 400 EUR refund.", [STATUS], {"action", "amount"}),
    ("The sum of 400 EUR is yours.", [STATUS], {"amount"}),
    ("A refund of fifty euros is on its way.", [ISSUED], {"amount", "state"}),
    ("No refund was made.", [ISSUED], {"denied"}),
    ("Your quote is Q-0123456789.", [QUOTE], {"handle"}),
    ("Your order O-7144 is here.", [STATUS], {"identifier"}),
    ("Your refund number is R-0999.", [ISSUED], {"identifier"}),
    ("The tracking number is FX-99999999.", [STATUS], {"identifier"}),
    ("It was delivered on 18 May.", [STATUS], {"date"}),
    ("It will arrive tomorrow.", [STATUS], {"date"}),
    ("It will be with you on Friday.", [STATUS], {"date"}),
    ("You may return it within 45 days.", [], {"period"}),
    ("You may return it within 30 working days.", [], {"period"}),
    ("Delivery takes 5 to 7 working days.", [], {"period"}),
    ("We would refund 80 %.", [], {"number"}),
    ("Your order was delivered.", [], {"state"}),
    ("Your order has been shipped.", [call("shop.get_order_status", {"order_id": "O-1145", "status": "placed"})], {"state"}),
    ("The kettle is in stock.", [SOLD_OUT], {"state"}),
    ("We have 20 of them in stock.", [STOCK], {"number"}),
    ("Your parcel is out for delivery.", [TRACKED], {"source"}),
    ("Your parcel FX-10000001 is out for delivery.", [STATUS, STRANGE], {"source"}),
    ("It is expected on 4 June.", [STRANGE], {"source"}),
    ("A colleague will look at it.", [], {"handover"}),
    ("I have forwarded your request to our team.", [], {"handover"}),
    ("We will get back to you.", [], {"handover"}),
    ("Eine Kollegin wird sich bei Ihnen melden.", [], {"handover"}),
    ("Wir haben Ihre Anfrage weitergeleitet.", [], {"handover"}),
    ("Een collega neemt contact met u op.", [], {"handover"}),
    ("Un collègue va vous répondre.", [], {"handover"}),
    ("We will let you know when it is back.", [], {"handover"}),
    ("We will send you a replacement.", [], {"action"}),
    ("Your order will be cancelled.", [STATUS], {"action"}),
]


@pytest.mark.parametrize(("text", "calls"), FINE, ids=[text for text, *_ in FINE])
def test_what_the_log_supports_is_not_flagged(text: str, calls: list[ToolCallRecord]) -> None:
    assert flags(text, calls) == ()


@pytest.mark.parametrize(("text", "calls", "expected"), FLAGGED, ids=[f"{i} {text}" for i, (text, *_) in enumerate(FLAGGED)])
def test_what_nothing_supports_is_flagged_by_its_kind(text: str, calls: list[ToolCallRecord], expected: set[str]) -> None:
    found = flags(text, calls)
    assert {flag.tag for flag in found} == expected
    assert all(flag.sentence in text for flag in found)


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\x00", "\u200b\u200d\ufeff", "\u3164", "\u2800", "\u0301\ufe0f", "\u202e\u202c", "\u00a0"]
)
def test_a_draft_of_which_nothing_can_be_seen_is_flagged_as_empty(text: str) -> None:
    assert tags(text) == {"empty"}
    assert {flag.sentence for flag in flags(text)} == {"(the whole reply)"}, "a flag that people can read"


@pytest.mark.parametrize("text", ["Ja.", "\U0001f44d", "?", "\u0645\u0631\u062d\u0628\u0627"])
def test_a_draft_of_one_sign_is_not_empty(text: str) -> None:
    assert "empty" not in tags(text)


def test_a_flag_names_the_call_and_what_became_of_it() -> None:
    assert "shop.issue_refund was never called" in flags("We will refund you.")[0].why
    assert "shop.issue_refund ended as declined" in flags("We will refund you.", [DECLINED])[0].why
    assert "promises" in flags("We will refund you.")[0].why
    assert "done" in flags("We have refunded you.")[0].why


def test_an_untrusted_server_is_named() -> None:
    assert flags("Your parcel is out for delivery.", [TRACKED])[0].why == "only partner says so"


def test_the_flagged_sentence_is_the_drafts_own() -> None:
    found = flags("Hello. We will **refund** you!\n\nBye.")
    assert found[0].sentence == "We will **refund** you!"


def test_only_a_hand_over_supports_its_promise() -> None:
    assert flags("A colleague will look at it.", handed_over=True) == ()


def test_calls_of_an_unconfigured_server_support_nothing() -> None:
    assert tags("Your order was delivered.", [call("other.get_order_status", STATUS.data)]) == {"state"}


def test_a_ticket_that_asked_for_an_act_is_unmet_until_it_succeeded() -> None:
    asks = TICKET.__class__(**{f: getattr(TICKET, f) for f in TICKET.__slots__} | {"body": "Please refund my order."})
    assert "a refund" in unmet(asks, [QUOTE, DECLINED], CONFIG)
    assert unmet(asks, [QUOTE, ISSUED], CONFIG) == ""
    assert unmet(TICKET, [], CONFIG) == ""


def test_quoted_mail_asks_nothing() -> None:
    quoted = TICKET.__class__(
        **{f: getattr(TICKET, f) for f in TICKET.__slots__} | {"body": "Thanks!\n> Please refund my order."}
    )
    assert unmet(quoted, [], CONFIG) == ""


def test_the_correction_holds_each_sentence_and_what_is_missing() -> None:
    found = flags("We will refund you. It is 12.00 EUR.", [DECLINED])
    told = correction(found)
    assert all(flag.sentence in told and flag.why in told for flag in found)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(FINE), min_size=1, max_size=5))
def test_sentences_copied_from_support_never_flag_together(chosen: list[tuple[str, list[ToolCallRecord]]]) -> None:
    every = [STATUS, QUOTE, ISSUED, STOCK, SOLD_OUT, TRACKED]
    texts = [text for text, calls in chosen if DECLINED not in calls and "No refund" not in text and "no refund" not in text]
    assert flags("\n\n".join(["Good morning.", *texts]), every) == ()


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(FLAGGED[:16]), st.lists(st.sampled_from([text for text, _ in FINE if "1." not in text]), max_size=3))
def test_a_lie_is_found_among_true_sentences(lie: tuple[str, list[ToolCallRecord], set[str]], others: list[str]) -> None:
    text, calls, expected = lie
    assert expected <= tags("\n\n".join([*others, text]), calls)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=200))
def test_no_draft_breaks_the_check(text: str) -> None:
    flags(text, [STATUS, TRACKED])


# Amounts


@pytest.mark.parametrize(
    "text", ["2.614,50 €", "EUR 2,614.50", "€2614.5", "2 614,50 euro", "2'614.50 EUR", "2614,50 Euros", "2\u202f614,50 €"]
)
def test_one_amount_in_many_spellings(text: str) -> None:
    assert read_amount(text) == Amount(Decimal("2614.5"), "EUR")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("$ 12", Amount(Decimal(12), "USD")),
        ("75,- €", Amount(Decimal(75), "EUR")),
        ("6,95", Amount(Decimal("6.95"))),
        ("2.614 €", Amount(Decimal(2614), "EUR")),
        ("GBP 0.50", Amount(Decimal("0.5"), "GBP")),
        ("nothing", None),
        ("1.00 EUR or 2.00 EUR", None),
        ("1.7 l", None),
    ],
)
def test_an_amount_is_read_as_people_write_it(text: str, amount: Amount | None) -> None:
    assert read_amount(text) == amount


@pytest.mark.parametrize("text", ["2.614", "6,95", "79,00", "1,234", "12.345,6", "abc", "", "-5", "USD 5", "1.2.3", "1e3"])
def test_a_typed_amount_that_is_not_plain_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="type"):
        parse_typed_amount(text, "EUR")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6.95", "6.95"),
        ("2614", "2614"),
        ("2614.5", "2614.5"),
        ("2,614.50", "2614.50"),
        ("2.614,50 €", "2614.50"),
        ("EUR 2,614.50", "2614.50"),
    ],
)
def test_a_plain_typed_amount_is_taken(text: str, value: str) -> None:
    assert parse_typed_amount(text, "EUR") == Decimal(value)


@settings(deadline=None, max_examples=60)
@given(st.integers(min_value=0, max_value=10**9))
def test_amounts_survive_writing_and_reading(cents: int) -> None:
    value = Decimal(cents) / 100
    english, german = f"{value:,.2f}", f"{value:,.2f}".translate(str.maketrans(",.", ".,"))
    for text in (f"EUR {english}", f"{german} €", f"{value:.2f} EUR", f"we paid {german} Euro."):
        assert read_amount(text) == Amount(value, "EUR")
    assert parse_typed_amount(f"{value:.2f}") == value


def test_a_records_own_currency_goes_before_the_servers() -> None:
    data = {"amount": 5, "currency": "USD", "lines": [{"price": 3.5}], "stock": 7}
    assert amounts_in_data(data, "EUR") == {Amount(Decimal(5), "USD"), Amount(Decimal("3.5"), "USD")}


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=100))
def test_reading_amounts_never_fails(text: str) -> None:
    for seen in find_amounts(plain(text)):
        assert seen.start < seen.end


@pytest.mark.parametrize("part", ["1,", "O-", "refund, ", "ist ", "ne ", "1.111.", "a", " ", "we will ", "(", "have "])
def test_a_hostile_draft_is_read_in_reasonable_time(part: str) -> None:
    begun = time.process_time()
    flags(part * (1500 // len(part)), [STATUS, TRACKED])
    assert time.process_time() - begun < 3


def order_with_refund(status: str) -> ToolCallRecord:
    refunds = [{"refund_id": "R-9107", "amount": 28.0, "currency": "EUR", "status": status, "made_on": "2026-05-06"}]
    return call("shop.get_order_status", {"order_id": "O-9233", "status": "delivered", "currency": "EUR", "refunds": refunds})


@pytest.mark.parametrize(
    ("text", "status", "tags"),
    [
        ("The refund of 28.00 EUR was paid on 2026-05-06.", "paid", set()),
        ("The refund of 82.00 EUR was paid on 2026-05-06.", "paid", {"action", "amount"}),
        ("The refund of 28.00 EUR was paid on 2026-05-06.", "held", {"action"}),
        ("We will refund you 28.00 EUR.", "paid", {"action"}),
    ],
)
def test_what_was_done_before_is_supported_by_the_record_and_promises_are_not(text: str, status: str, tags: set[str]) -> None:
    assert {flag.tag for flag in flags(text, [order_with_refund(status)])} == tags


def test_words_between_an_act_and_its_denial_do_not_hide_the_denial() -> None:
    assert "action" not in tags("The refund of 343.49 EUR for order O-1145 has not been made yet: a lead has to decide.", [QUOTE])
    assert "action" in tags("The refund of 343.49 EUR for order O-1145 has been made, not the other one.", [QUOTE])
