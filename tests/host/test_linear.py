"""What strangers write is read in time that grows with its length, and no faster: ratios within one run, no seconds."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import pytest

from host.config import GroundingRule, ReviewConfig
from host.evidence import from_text
from host.grounding import clean, facts_from_ticket
from host.review import review, unmet
from host.types import Ticket

_CONFIG = tomllib.loads((Path(__file__).parents[2] / "deskhand.toml").read_text(encoding="utf-8"))
GROUNDING = {name: GroundingRule(**rule) for name, rule in _CONFIG["grounding"].items()}
REVIEW = ReviewConfig(**_CONFIG["review"])
#: Text of one kind, over and over.
KINDS = {
    "amounts": "12,50 EUR ",
    "amounts without a currency": "12,50 und ",
    "groups of digits": "123 ",
    "digits": "7",
    "dots": "1.2.3.",
    "dates": "17 May 2026, ",
    "periods": "3-5 working days ",
    "shares": "50 % ",
    "weekdays": "tomorrow ",
    "one word": "hundred",
    "quoted mail": "> The kettle of O-1145 leaks\n",
    "marks of quotation": "> ",
    "openings": "On x\n",
    "blank lines": "\n",
    "orders": "The kettle of order O-1145 leaks. ",
    "emoji": "\U0001f600",
    "right to left": "שלום مرحبا ",
    "phrases in one character": "\ufdfa",
    "accents": "O\u0301\u0302\u0303",
}


def of_length(kind: str, length: int) -> str:
    return (KINDS[kind] * (length // len(KINDS[kind]) + 1))[:length]


def ticket(body: str) -> Ticket:
    return Ticket(
        id="T-9000",
        intake_key="test:9000",
        subject="A question",
        body=body,
        sender_mail="ines.moreau@example.com",
        sender_name="Ines Moreau",
        sender_verified=True,
        customer_id="C-0102",
        received_at=datetime(2026, 6, 2, 8, 0, tzinfo=UTC),
        language="en",
    )


def reads_ticket(text: str) -> None:
    facts_from_ticket(ticket(text), GROUNDING)
    from_text(text, "EUR")
    unmet(ticket(text), (), REVIEW)


def reviews_draft(text: str) -> None:
    review(text, ticket("Where is it?"), (), (), REVIEW, {}, GROUNDING)


def seconds(reads: Callable[[str], None], text: str) -> float:
    def once() -> float:
        begun = process_time()
        reads(text)
        return process_time() - begun

    return min(once() for _ in range(2))


@pytest.mark.parametrize(
    ("reads", "kind", "length"),
    [
        *((reads_ticket, kind, 5000) for kind in KINDS),
        *((reviews_draft, kind, 1000) for kind in ("weekdays", "amounts", "groups of digits")),
    ],
)
def test_four_times_the_text_takes_about_four_times_as_long(reads: Callable[[str], None], kind: str, length: int) -> None:
    reads(of_length(kind, length))  # what is compiled once is compiled
    short, long = (seconds(reads, of_length(kind, length * times)) for times in (1, 4))
    assert long < 8 * max(short, 0.0005), f"{long / short:.1f} times as long"


@pytest.mark.parametrize("char", ["\ufdfa", "\ufdfb", "\u3316", "\u33af", "\u2057"])
def test_no_character_makes_a_text_many_times_as_long_when_it_is_made_plain(char: str) -> None:
    assert len(clean(char * 1000)) <= 6000
