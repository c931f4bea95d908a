"""Facts, normal forms, and which call may hold which identifier (spec H9, M4)."""
# ruff: noqa: RUF001  (customers type such dashes, digits and letters, and these tests are about them)

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.config import GroundingRule
from host.grounding import (
    MOST_CHOICES,
    Grounded,
    Ungrounded,
    facts_from_result,
    facts_from_ticket,
    ground,
    mentions,
    narrow,
    normal_form,
    split_quoted,
    usable,
)
from host.types import Effect, Fact, OutcomeKind, Ticket, Tool, ToolCallRecord

CONFIG = (Path(__file__).parents[2] / "deskhand.toml").read_text(encoding="utf-8")
RULES: Mapping[str, GroundingRule] = {
    name: GroundingRule.model_validate(values) for name, values in tomllib.loads(CONFIG)["grounding"].items()
}
SHOP_TICKETS = Path(__file__).parents[2] / "servers/shop/data/tickets.jsonl"


def ticket(body: str = "", subject: str = "") -> Ticket:
    return Ticket(
        id="T-0900",
        intake_key="file:0900",
        subject=subject,
        body=body,
        sender_mail="nora.lindqvist@example.com",
        sender_name="Nora Lindqvist",
        sender_verified=True,
        customer_id="C-0900",
        received_at=datetime(2026, 6, 2, 9, 30, tzinfo=UTC),
    )


def tool(*params: str, effect: Effect = "read", server: str = "shop", required: tuple[str, ...] = (), schema: Any = None) -> Tool:
    schema = schema or {
        "type": "object",
        "properties": {name: {"type": "string", "description": f"The {name}."} for name in params},
        "required": list(required or params),
    }
    return Tool(
        name=f"{server}.look",
        server=server,
        remote_name="look",
        description="Looks.",
        schema=schema,
        full_schema=schema,
        digest="d",
        effect=effect,
    )


def result(data: Any = None, text: str = "", call_id: str = "c1", server: str = "shop", **more: Any) -> ToolCallRecord:
    return ToolCallRecord(
        name=more.pop("name", f"{server}.look"),
        arguments=more.pop("arguments", {}),
        ok=more.pop("ok", True),
        duration_ms=12,
        note="",
        call_id=call_id,
        data=data,
        server=server,
        text=text,
        **more,
    )


def found(text: str) -> list[str]:
    return [one.value for one in mentions(text, RULES)]


@pytest.mark.parametrize(
    "text",
    [
        "O-7144", "o7144", "o 7144", "O 7144", "O–7144", "O—7144", "O‑7144", "O - 7144", "O.7144", "o-7144.", "(O-7144)",
        "#7144", "# 7144", "order 7144", "Order #7144", "order no. 7144", "order number 7144", "order number is 7144",
        "Order-7144", "order: 7144", "Bestellung 7144", "Bestellnr. o-7144", "Bestellnummer 7144", "bestelnummer: 7144",
        "bestelling 7144", "commande 7144", "commande n° 7144", "numéro de commande : 7144", "my 7144 has a crack", "7144",
        "7144, please", "Is 7144 lost?", "７１４４", "O-７１４４", "O-71\u200b44", "O\u00ad-7144", "O\u2060-7144",
        "O-٧١٤٤", "0-7144", "07144", "О-7144", "O\u00a0-\u00a07144", "**O-7144**", "https://shop.example.com/?order=7144",
        "order 7144 2 pans", "order\n7144 is late", "ORDER 7144", "<O-7144>", "my orders: 7144", "№ 7144",
        "https://shop.example.com/orders/O-7144", "ORD-7144", "Order#O7144",
    ],
)  # fmt: skip
def test_an_order_number_is_read_however_a_customer_types_it(text: str) -> None:
    assert found(text) == ["O-7144"]


def test_a_letter_typed_for_a_zero_is_read_as_zero() -> None:
    assert found("O-1O45") == ["O-1045"]
    assert found("order 2oo4") == ["O-2004"]
    assert found("FX-6O318842") == ["FX-60318842"]
    assert normal_form("O-1O45", RULES["order_id"]) == "O-1045"


@pytest.mark.parametrize(
    "text",
    [
        "in May 2026", "since 1999", "1 June 2026 we moved", "on 2026-06-01 it", "am 01.06.2026 kam", "card exp 06/2026",
        "summer of 2026.",
        "1200 EUR", "1200 euros", "EUR 1200", "€1200", "€ 1200", "€1.745,00", "1.745,00 €", "1200€", "£1200", "1200,-",
        "1,200.00",
        "1200.50", "2.614", "1200 g of beans", "1500 ml", "2400 W", "1430 Uhr", "1000%", "1800mm",
        "0171 4455 2233", "+49 30 1234 5678", "call 555-1234", "(0171) 2345 678", "+31 6 1234 5678", "tel. 4455", "020 7946 0958",
        "1234 AB Utrecht", "1234AB", "postcode 1012 JS", "Hauptstr. 5, 1010 Wien", "Kerkstraat 12\n9000 Gent", "10115 Berlin",
        "07743 Jena", "07743, Jena",
        "O-20174", "order 20174", "O-71444", "O-714", "Q-7144", "R-7144", "XO-7144", "DO7144", "O-7144-1", "KL7144", "7144abc",
        "x7144", "1387@example.com", "D-58120", "4111 1111 1111 1111", "4111-1111-1111-1111", "card ending 4242",
        "card ending in 4242", "NL91 ABNA 0417 1643 00", "order Door", "o ooo oooo", "order oooo",
        "https://shop.example.com/p/1387",
    ],
)  # fmt: skip
def test_years_amounts_phones_postcodes_and_parts_of_other_numbers_are_no_order(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("fx 19473356", "FX-19473356"), ("FX19473356", "FX-19473356"), ("FX-1947 3356", "FX-19473356"),
        ("fx 1947-3356", "FX-19473356"), ("tracking number 19473356", "FX-19473356"), ("Sendungsnummer: 19473356", "FX-19473356"),
        ("parcel 19473356", "FX-19473356"), ("FX–19473356", "FX-19473356"), ("kg1034", "KG-1034"),
        ("KG 1034", "KG-1034"), ("kg-1034?", "KG-1034"), ("Artikel 1034", "KG-1034"),
        ("item no. 1034", "KG-1034"), ("SKU: KG-1034", "KG-1034"), ("Q-3f9a0b1c2d", "Q-3f9a0b1c2d"),
        ("q-3F9A0B1C2D", "Q-3f9a0b1c2d"), ("Q 3f9a0b1c2d", "Q-3f9a0b1c2d"), ("quote Q-3f9a0b1c2d, please", "Q-3f9a0b1c2d"),
    ],
)  # fmt: skip
def test_other_identifiers_are_read_and_not_also_as_an_order(text: str, value: str) -> None:
    assert found(text) == [value]


@pytest.mark.parametrize(
    "text", ["25kg parasol", "20 kg 1034 times", "FX-194733561", "19473356", "Q-3f9a0b1c2d4", "KG-10345", "AFX-19473356"]
)
def test_other_identifiers_are_not_read_into_quantities_or_longer_numbers(text: str) -> None:
    assert not [value for value in found(text) if not value.startswith("O-")]


def test_a_year_with_the_word_order_before_it_or_alone_on_its_line_is_an_order() -> None:
    assert found("order 2012") == ["O-2012"]
    assert found("It is this one:\n2020\nThanks") == ["O-2020"]


def test_several_identifiers_come_in_the_order_of_the_text() -> None:
    assert found("O-1387/O-1388, o1389 & 1390") == ["O-1387", "O-1388", "O-1389", "O-1390"]
    assert found("orders 1387 and 1388, parcel FX-10265368; KG-1006 of o1387") == [
        "O-1387",
        "O-1388",
        "FX-10265368",
        "KG-1006",
        "O-1387",
    ]


ATTRIBUTIONS = [
    "On 29 May 2026 Customer Care wrote:",
    "On Fri, 29 May 2026 at 10:04, Customer Care <care@example.com> wrote:",
    "On Fri, 29 May 2026 at 10:04, Customer Care\n<care@example.com>\nwrote:",
    "Am 29.05.2026 um 10:04 schrieb Kundendienst <care@example.com>:",
    "Am 29. Mai 2026 schrieb Kundendienst:",
    "Op vr 29 mei 2026 om 10:04 schreef Klantenservice <care@example.com>:",
    "Le 29 mai 2026 à 10:04, Service client a écrit :",
    "Le ven. 29 mai 2026 à 10:04, Service client\n<care@example.com> a écrit\u00a0:",
    "2026-05-29 10:04 GMT+02:00 Customer Care <care@example.com>:",
    "-----Original Message-----",
    "-----Ursprüngliche Nachricht-----",
    "-----Oorspronkelijk bericht-----",
    "-----Message d’origine-----",
    "———— Original Message ————",
    "---------- Forwarded message ---------",
    "Begin forwarded message:",
    "From: Customer Care <care@example.com>\nSent: Friday, 29 May 2026 10:04\nTo: Nora Lindqvist\nSubject: Your order",
    "*From:* Customer Care\n*Sent:* Friday, 29 May 2026 10:04",
    "From: Customer Care\nDate: 29 May 2026\nTo: Nora",
    "Von: Kundendienst\nGesendet: Freitag, 29. Mai 2026",
    "Van: Klantenservice\nVerzonden: vrijdag 29 mei 2026",
    "De : Service client\nEnvoyé : vendredi 29 mai 2026",
]


@pytest.mark.parametrize("opening", ATTRIBUTIONS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_older_mail_below_an_answer_is_quoted(opening: str, end: str) -> None:
    body = f"Hello,\n\nI mean O-1531.\n\n{opening}\nYour order O-1088 was delivered.\nRegards".replace("\n", end)
    assert [(fact.value, fact.source) for fact in facts_from_ticket(ticket(body), RULES)] == [
        ("O-1531", "ticket"),
        ("O-1088", "quoted"),
    ]


def test_lines_marked_as_quoted_are_quoted_and_what_stands_between_them_is_not() -> None:
    body = "> On 29 May 2026 Customer Care wrote:\n> order O-1088\n>> or O-1092?\nNo, O-1531.\n ＞ O-1104\nThanks"
    facts = facts_from_ticket(ticket(body), RULES)
    assert {fact.value: fact.source for fact in facts} == {
        "O-1531": "ticket", "O-1088": "quoted", "O-1092": "quoted", "O-1104": "quoted",
    }  # fmt: skip


def test_a_value_that_the_customer_also_writes_is_not_only_quoted() -> None:
    facts = facts_from_ticket(ticket("About O-1088:\n> O-1088 was delivered", subject="hello"), RULES)
    assert [(fact.value, fact.source) for fact in facts] == [("O-1088", "ticket")]


@pytest.mark.parametrize(
    "body",
    [
        "As promised, the poem my grandson wrote:\n\nO slug. O-1531",
        "From: my heart, thank you.\nO-1531",
        "On O-1531 I wrote to you twice.",
    ],
)  # fmt: skip
def test_ordinary_sentences_open_no_quotation(body: str) -> None:
    assert split_quoted(body)[1] == ""


def test_a_result_gives_each_identifier_with_the_innermost_record_that_knows_what_is_around_it() -> None:
    data = {
        "order_id": "O-1145", "currency": "EUR", "status": "delivered",
        "lines": [{"sku": "KG-1006", "quantity": 2}, {"sku": "KG-1007", "status": "missing"}],
        "shipment": {"ref": "FX-10265368"},
    }  # fmt: skip
    facts = facts_from_result(result(data), True, RULES)
    assert [(fact.param, fact.value, fact.source, fact.server, fact.trusted) for fact in facts] == [
        ("order_id", "O-1145", "c1", "shop", True),
        ("sku", "KG-1006", "c1", "shop", True),
        ("sku", "KG-1007", "c1", "shop", True),
        ("tracking_number", "FX-10265368", "c1", "shop", True),
    ]
    assert facts[0].record == data
    assert facts[1].record == {"sku": "KG-1006", "quantity": 2, "order_id": "O-1145", "currency": "EUR", "status": "delivered"}
    assert facts[2].record["status"] == "missing"
    assert facts[3].record["order_id"] == "O-1145"


def test_scalars_reach_through_several_levels_and_the_nearest_wins() -> None:
    data = {"order_id": "O-1145", "note": "outer", "a": {"note": "middle", "b": [{"sku": "KG-1006"}]}}
    sku = facts_from_result(result(data), True, RULES)[1]
    assert sku.record == {"sku": "KG-1006", "note": "middle", "order_id": "O-1145"}


@pytest.mark.parametrize(
    "call",
    [
        result({"order_id": "O-1145"}, ok=False, outcome=OutcomeKind.TOOL_ERROR),
        result({"order_id": "O-1145"}, ok=False, outcome=OutcomeKind.REFUSED),
        result({"order_id": "O-1145"}, outcome=OutcomeKind.MAY_HAVE_RUN),
        result({"order_id": "O-1145"}, ok=False),
        result({"order_id": "O-1145"}, name="desk.read_resource"),
        result({"customer_id": "O-1145"}),
        result({"order_id": None, "n": 1145, "b": True, "quantity": "1145", "postcode": "1387"}),
        result({"tracking_number": "O-1145"}),
        result(None),
    ],
)
def test_errors_refusals_the_desk_and_bare_numbers_ground_nothing(call: ToolCallRecord) -> None:
    assert facts_from_result(call, True, RULES) == ()


def test_a_number_under_an_identifiers_own_name_is_that_identifier() -> None:
    assert [fact.value for fact in facts_from_result(result({"order_id": 1145}), False, RULES)] == ["O-1145"]


def test_values_are_found_under_any_key_as_keys_in_lists_and_in_a_trusted_servers_sentences() -> None:
    data = {"id": "O-1145", "others": ["O-1146"], "stock": {"KG-1006": 3}, "note": "sent with FX-10265368 in 2026"}
    assert [fact.value for fact in facts_from_result(result(data), True, RULES)] == ["O-1145", "O-1146", "KG-1006", "FX-10265368"]
    assert [fact.value for fact in facts_from_result(result(data), False, RULES)] == ["O-1145", "O-1146", "KG-1006"]


def test_what_a_server_only_repeats_of_the_models_own_words_grounds_nothing() -> None:
    asked = {"query": "kg1034 or O-1145"}
    echo = {"note": "nothing found for KG-1034", "query": "O-1145", "products": [{"sku": "KG-1006"}]}
    assert [fact.value for fact in facts_from_result(result(echo, arguments=asked), True, RULES)] == ["KG-1006"]
    real = {"products": [{"sku": "KG-1034", "stock": 3}]}
    assert [fact.value for fact in facts_from_result(result(real, arguments=asked), True, RULES)] == ["KG-1034"]
    order = {"note": "O-1145 was sent"}
    assert [fact.value for fact in facts_from_result(result(order, arguments={"order_id": "O-1145"}), True, RULES)] == ["O-1145"]


def test_text_is_read_where_there_is_no_structured_content() -> None:
    as_json = facts_from_result(result(text='{"quote_id": "Q-3f9a0b1c2d", "amount": 12.5}'), True, RULES)
    assert as_json[0].record == {"quote_id": "Q-3f9a0b1c2d", "amount": 12.5}
    assert [fact.value for fact in facts_from_result(result(text="Order O-1145 was sent."), True, RULES)] == ["O-1145"]
    assert facts_from_result(result(text="Order O-1145 was sent."), False, RULES) == ()
    assert facts_from_result(result({"status": "none"}, text="O-1145"), True, RULES) == ()


def test_a_result_nested_without_end_is_survived() -> None:
    text = "[" * 100_000
    deep: Any = {"order_id": "O-1145"}
    for _ in range(500):
        deep = {"a": deep}
    assert facts_from_result(result(text=text), True, RULES) == ()
    assert facts_from_result(result(deep), True, RULES) == ()


TICKET_FACT = Fact("order_id", "O-1145", "ticket")
QUOTED = Fact("order_id", "O-1088", "quoted")
PARTNER = Fact("tracking_number", "FX-10265368", "c9", server="partner", trusted=False)


def test_an_untrusted_servers_word_grounds_only_its_own_arguments() -> None:
    assert usable([PARTNER], "tracking_number", tool("tracking_number", server="partner")) == (PARTNER,)
    assert usable([PARTNER], "tracking_number", tool("tracking_number", server="shop")) == ()
    outcome = ground(tool("tracking_number"), {"tracking_number": "FX-10265368"}, [PARTNER], RULES)
    assert isinstance(outcome, Ungrounded)
    assert "partner, which is not trusted" in outcome.why


def test_older_mail_grounds_reads_only() -> None:
    assert usable([QUOTED], "order_id", tool("order_id", effect="read")) == (QUOTED,)
    outcome = ground(tool("order_id", effect="effect"), {"order_id": "O-1088"}, [QUOTED], RULES)
    assert isinstance(outcome, Ungrounded)
    assert "older mail" in outcome.why
    seen = Fact("order_id", "O-1088", "c1", server="shop")
    assert isinstance(ground(tool("order_id", effect="effect"), {"order_id": "O-1088"}, [QUOTED, seen], RULES), Grounded)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"query": "O-9999"}, "query names O-9999"),
        ({"query": "9999"}, "query names O-9999"),
        ({"query": "my order no. 9999, and O-1145"}, "query names O-9999"),
        ({"reason": "as for o\u200b9999"}, "reason names O-9999"),
        ({"reason": "the article KG-1234 leaks"}, "reason names KG-1234"),
        ({"lines": [{"note": "see FX-12345678"}]}, "note names FX-12345678"),
        ({"lines": {"O-9999": 2}}, "lines names O-9999"),
        ({"O-9999": "leaks"}, "O-9999 names O-9999"),
    ],
)
@pytest.mark.parametrize("effect", ["read", "effect"])
def test_a_text_that_names_what_nothing_holds_is_refused_in_words(effect: Any, arguments: Any, named: str) -> None:
    outcome = ground(tool("order_id", "query", effect=effect), {"order_id": "O-1145", **arguments}, [TICKET_FACT], RULES)
    assert isinstance(outcome, Ungrounded)
    assert outcome.why == f"{named}, which neither the ticket nor a result holds: leave it out, or look it up first"


@pytest.mark.parametrize(
    "said",
    ["", "the kettle leaks", "order 1145 leaks", "O-1145", "1145", "bought in 2024 for 1200 EUR", "1500 W", "on 2026-05-17"],
)
def test_a_text_may_name_what_the_ticket_holds_and_say_what_it_likes(said: str) -> None:
    arguments = {"query": said}
    assert ground(tool("query"), arguments, [TICKET_FACT], RULES) == Grounded(arguments, {})


def test_a_text_may_name_what_older_mail_holds_and_not_what_a_stranger_says_to_another() -> None:
    named = {"query": "see O-1088"}
    assert ground(tool("query", effect="effect"), named, [QUOTED], RULES) == Grounded(named, {})
    rumour = Fact("order_id", "O-1088", "c1", server="partner", trusted=False)
    assert ground(tool("query", server="partner"), named, [rumour], RULES) == Grounded(named, {})
    outcome = ground(tool("query", server="shop"), named, [rumour], RULES)
    assert isinstance(outcome, Ungrounded)
    assert "not trusted for shop" in outcome.why


def test_a_reply_is_a_draft_and_is_judged_as_one() -> None:
    draft = {"text": "Your order O-9999 is on its way."}
    assert ground(tool("text", server="desk"), draft, [TICKET_FACT], RULES) == Grounded(draft, {})


@pytest.mark.parametrize("given", ["O-1145", "o1145", "1145", 1145, 1145.0, "#1145", "order 1145", " O–1145 ", "O-1145."])
def test_an_argument_is_brought_to_its_normal_form(given: Any) -> None:
    outcome = ground(tool("order_id", "reason"), {"order_id": given, "reason": "o1145"}, [TICKET_FACT], RULES)
    assert outcome == Grounded({"order_id": "O-1145", "reason": "o1145"}, {"order_id": TICKET_FACT})


@pytest.mark.parametrize(
    "given",
    [
        "O-9999",
        "",
        "the order",
        True,
        ["O-1145"],
        {"id": "O-1145"},
        1145.5,
        float("nan"),
        float("inf"),
        "1145" * 1000,
        "\ud800",
    ],
)
def test_anything_else_is_refused_and_told_which_values_exist(given: Any) -> None:
    outcome = ground(tool("order_id"), {"order_id": given}, [TICKET_FACT], RULES)
    assert isinstance(outcome, Ungrounded)
    assert outcome.param == "order_id"
    assert "known: O-1145" in outcome.why
    outcome.why.encode()


def test_a_number_too_long_to_write_is_refused() -> None:
    assert isinstance(ground(tool("order_id"), {"order_id": 10**5000}, [TICKET_FACT], RULES), Ungrounded)


def test_without_any_value_the_words_say_to_find_one() -> None:
    outcome = ground(tool("order_id"), {"order_id": "O-1145"}, [], RULES)
    assert isinstance(outcome, Ungrounded)
    assert outcome.why.startswith("no order_id is known in this ticket: use a tool that finds it")


@pytest.mark.parametrize("arguments", [{"customer_id": "C-0900"}, {"customer_id": None}, {"filter": [{"customer_id": "C-0900"}]}])
def test_a_customer_is_never_taken_from_the_model(arguments: Any) -> None:
    facts = [Fact("customer_id", "C-0900", "record")]
    rules = {**RULES, "customer_id": GroundingRule(find=r"(C-\d{4})", exact=r"C-\d{4}")}
    for configured in (RULES, rules):
        outcome = ground(tool("customer_id"), arguments, facts, configured)
        assert isinstance(outcome, Ungrounded)
        assert outcome.param == "customer_id"


def test_null_for_an_optional_identifier_names_nothing() -> None:
    assert ground(tool("sku"), {"sku": None}, [], RULES) == Grounded({"sku": None}, {})


def test_identifiers_inside_objects_and_arrays_are_grounded_with_their_path() -> None:
    schema = {"type": "object", "properties": {"lines": {"type": "array"}, "sku": {"type": "array", "items": {"type": "string"}}}}
    facts = [Fact("sku", "KG-1006", "c1"), Fact("sku", "KG-1007", "c1")]
    arguments: dict[str, Any] = {"lines": [{"sku": "kg1006", "n": 2}], "sku": ["KG-1006", "1007"]}
    outcome = ground(tool(schema=schema), arguments, facts, RULES)
    assert isinstance(outcome, Grounded)
    assert outcome.arguments == {"lines": [{"sku": "KG-1006", "n": 2}], "sku": ["KG-1006", "KG-1007"]}
    assert list(outcome.provenance) == ["lines.0.sku", "sku.0", "sku.1"]
    assert arguments["lines"][0]["sku"] == "kg1006", "the model's own arguments stay as they were"
    assert isinstance(ground(tool(schema=schema), {"lines": [{"sku": "KG-1099"}]}, facts, RULES), Ungrounded)


def test_arguments_nested_too_deeply_are_refused() -> None:
    deep: Any = {"order_id": "O-9999"}
    for _ in range(400):
        deep = [deep]
    outcome = ground(tool("a"), {"a": deep}, [TICKET_FACT], RULES)
    assert isinstance(outcome, Ungrounded)
    assert "deep" in outcome.why


def test_a_trusted_record_is_the_provenance_before_text_and_the_newest_first() -> None:
    old = Fact("order_id", "O-1145", "c1", server="shop", record={"status": "packed"})
    new = Fact("order_id", "O-1145", "c2", server="shop", record={"status": "sent"})
    stranger = Fact("order_id", "O-1145", "c3", server="partner", trusted=False, record={"status": "lost"})
    facts = [TICKET_FACT, old, new, stranger]
    outcome = ground(tool("order_id"), {"order_id": "O-1145"}, facts, RULES)
    own = ground(tool("order_id", server="partner"), {"order_id": "O-1145"}, [TICKET_FACT, stranger], RULES)
    assert isinstance(outcome, Grounded)
    assert outcome.provenance["order_id"] is new
    assert isinstance(own, Grounded)
    assert own.provenance["order_id"] is TICKET_FACT


def test_an_article_of_two_orders_is_shown_with_the_order_that_the_call_names() -> None:
    orders = {"orders": [{"order_id": "O-1145", "lines": [{"sku": "KG-1006", "price": 10}]},
                         {"order_id": "O-1146", "lines": [{"sku": "KG-1006", "price": 12}]}]}  # fmt: skip
    facts = facts_from_result(result(orders), True, RULES)
    for order, price in (("O-1145", 10), ("O-1146", 12)):
        outcome = ground(tool("order_id", "sku"), {"order_id": order, "sku": "KG-1006"}, facts, RULES)
        assert isinstance(outcome, Grounded)
        assert outcome.provenance["sku"].record["price"] == price


def test_narrow_offers_the_newest_results_first_then_the_ticket() -> None:
    facts = [
        Fact("order_id", "O-1001", "ticket"), QUOTED,
        Fact("order_id", "O-1002", "c1"), Fact("order_id", "O-1003", "c1"),
        Fact("order_id", "O-1004", "c2"), Fact("order_id", "O-1001", "c2"),
    ]  # fmt: skip
    schema = narrow(tool("order_id", "reason"), facts, RULES)
    assert schema is not None
    assert schema["properties"]["order_id"] == {
        "type": "string",
        "description": "The order_id.",
        "enum": ["O-1004", "O-1001", "O-1002", "O-1003", "O-1088"],
    }
    assert schema["properties"]["reason"] == {"type": "string", "description": "The reason."}
    effect = narrow(tool("order_id", effect="effect"), facts, RULES)
    assert effect is not None
    assert "O-1088" not in effect["properties"]["order_id"]["enum"]


def test_narrow_leaves_out_a_tool_whose_required_identifier_is_unknown_and_drops_an_optional_one() -> None:
    assert narrow(tool("order_id", "sku"), [TICKET_FACT], RULES) is None
    schema = narrow(tool("order_id", "sku", required=("order_id",)), [TICKET_FACT], RULES)
    assert schema is not None
    assert list(schema["properties"]) == ["order_id"]
    assert narrow(tool("customer_id"), [TICKET_FACT], RULES) is None
    assert narrow(tool("text"), [], RULES) == tool("text").schema


def test_narrow_reaches_into_objects_and_arrays_and_keeps_a_servers_own_choice() -> None:
    line = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": line},
            "order_id": {"enum": ["O-1145", "O-1"]},
            "sku": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "SKU"},
        },
    }
    facts = [TICKET_FACT, Fact("order_id", "O-1146", "ticket"), Fact("sku", "KG-1006", "c1")]
    narrowed = narrow(tool(schema=schema), facts, RULES)
    assert narrowed is not None
    assert narrowed["properties"]["lines"]["items"]["properties"]["sku"] == {"type": "string", "enum": ["KG-1006"]}
    assert narrowed["properties"]["order_id"]["enum"] == ["O-1145"]
    assert narrowed["properties"]["sku"] == {"title": "SKU", "type": "string", "enum": ["KG-1006"]}
    assert narrow(tool(schema={**schema, "required": ["lines"]}), [TICKET_FACT], RULES) is None
    without = narrow(tool(schema=schema), [TICKET_FACT], RULES)
    assert without is not None
    assert list(without["properties"]) == ["order_id"]


def test_narrow_offers_at_most_forty_values() -> None:
    facts = [Fact("order_id", f"O-{number}", "c1") for number in range(1000, 1100)]
    schema = narrow(tool("order_id"), facts, RULES)
    assert schema is not None
    assert len(schema["properties"]["order_id"]["enum"]) == MOST_CHOICES


# -- properties -----------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from([*RULES, "customer_id", "reason", "lines", "note"])
IDENTIFIERS = (
    st.from_regex(r"\A[Oo]?[ -–]?[0-9]{4}\Z") | st.from_regex(r"\AFX-?[0-9]{8}\Z") | st.from_regex(r"\A[Kk]G-[0-9]{4}\Z")
    | st.from_regex(r"\A[Qq]-[0-9a-fA-F]{10}\Z")
    | st.sampled_from(["O-1145", "o1145", "1145", "FX-10265368", "KG-1006", "Q-3F9A0B1C2D"])
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | IDENTIFIERS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(NAMES | st.text(max_size=5), JSON, max_size=5)
VALUES = {"order_id": "O-1145", "quote_id": "Q-3f9a0b1c2d", "tracking_number": "FX-10265368", "sku": "KG-1006"}
FACTS = st.lists(
    st.builds(
        lambda param, source, server, trusted: Fact(param, VALUES[param], source, server, trusted),
        st.sampled_from([*VALUES]),
        st.sampled_from(["ticket", "quoted", "record", "c1", "c2"]),
        st.sampled_from(["shop", "partner", ""]),
        st.booleans(),
    ),
    max_size=6,
)
TOOLS = st.builds(
    lambda effect, server: tool(*VALUES, "reason", effect=effect, server=server, required=("reason",)),
    st.sampled_from(["read", "effect"]),
    st.sampled_from(["shop", "partner"]),
)


def held(node: Any) -> list[tuple[str, Any]]:
    """Every value that stands under the name of an identifier."""
    if isinstance(node, dict):
        own = [(key, value) for key, value in node.items() if key in RULES or key == "customer_id"]
        return own + [pair for value in node.values() for pair in held(value)]
    return [pair for item in node for pair in held(item)] if isinstance(node, list) else []


@given(TOOLS, ARGUMENTS, FACTS)
def test_no_argument_makes_ground_return_an_identifier_that_is_not_usable(tool: Tool, arguments: Any, facts: list[Fact]) -> None:
    outcome = ground(tool, arguments, facts, RULES)
    if isinstance(outcome, Grounded):
        for param, value in held(outcome.arguments):
            assert value is None or value in {fact.value for fact in usable(facts, param, tool)}
            assert param != "customer_id"
        assert all(fact in usable(facts, fact.param, tool) for fact in outcome.provenance.values())
        again = ground(tool, outcome.arguments, facts, RULES)
        assert isinstance(again, Grounded)
        assert repr(again) == repr(outcome)  # by repr, as NaN differs from itself
    else:
        assert outcome.why


@given(JSON | IDENTIFIERS, st.sampled_from([*RULES]))
def test_the_normal_form_is_exact_and_its_own_normal_form(value: Any, param: str) -> None:
    normal = normal_form(value, RULES[param])
    if normal is not None:
        assert normal.isascii()
        assert normal_form(normal, RULES[param]) == normal


@given(TOOLS, FACTS)
def test_whatever_narrow_offers_is_grounded(tool: Tool, facts: list[Fact]) -> None:
    schema = narrow(tool, facts, RULES)
    assert schema is not None
    for param, node in schema["properties"].items():
        for value in node.get("enum", ()):
            assert isinstance(ground(tool, {param: value}, facts, RULES), Grounded)


@given(st.text(max_size=200) | st.lists(IDENTIFIERS | st.text(max_size=8), max_size=8).map(" ".join))
def test_any_text_is_read_and_gives_only_exact_values(text: str) -> None:
    for fact in facts_from_ticket(ticket(text, text), RULES):
        assert normal_form(fact.value, RULES[fact.param]) == fact.value


@given(JSON)
def test_any_result_is_read_and_holds_what_it_gives(data: Any) -> None:
    for fact in facts_from_result(result(data), False, RULES):
        assert normal_form(fact.value, RULES[fact.param]) == fact.value


@settings(deadline=2000)
@given(
    st.sampled_from(
        ["O-1145, ", "On wrote: ", "1387, ", "<a@b>:", "From: \n", "order " * 3, "FX 1 2 3 4 ", "0-", " 0 ", "kg 1034 "]
    )
)
def test_a_long_mail_takes_no_longer_than_its_length(piece: str) -> None:
    facts_from_ticket(ticket(piece * (40_000 // len(piece))), RULES)


def test_every_ticket_of_the_shop_gives_exactly_the_identifiers_that_stand_in_it() -> None:
    """What is written in full is found, and nothing is found whose digits don't stand there."""
    rows = [json.loads(line) for line in SHOP_TICKETS.read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        text = f"{row['subject']}\n{row['body']}"
        values = {fact.value for fact in facts_from_ticket(ticket(row["body"], row["subject"]), RULES)}
        assert all(value.partition("-")[2] in text for value in values)
        assert set(re.findall(r"\b(?:O-\d{4}|FX-\d{8}|KG-\d{4})\b", text)) <= values
    assert sum(any(fact.source == "quoted" for fact in facts_from_ticket(ticket(row["body"]), RULES)) for row in rows) >= 1
