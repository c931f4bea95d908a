"""The host and the models know no shop: no ticket's words, no identifier of its records and no tag of the expected answers
stands in host/, models/ or deskhand.toml.  Otherwise the figures of a run would measure what we wrote, not what it can do.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DATA = Path("servers/shop/data")
RUN = 6  # this many words in a row are a ticket's own
#: The file that reads the tags, after a run (spec H29).
READS_TAGS = "host/score.py"
#: Tags that are words of our own too, and what for.
OWN_WORDS = {
    "policy": "the checkpoint has a step of that name",
    "lost": "a connection's state",
}


@cache
def loaded(path: Path) -> Any:
    text = path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else json.loads(text)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def runs(text: str) -> set[tuple[str, ...]]:
    row = words(text)
    return {tuple(row[start : start + RUN]) for start in range(len(row) - RUN + 1)}


class Shop:
    """What must not be known, read from the shop's own data."""

    def __init__(self, root: Path) -> None:
        tickets, expected = loaded(root / DATA / "tickets.jsonl"), loaded(root / DATA / "expected.json")
        orders, customers = loaded(root / DATA / "orders.json"), loaded(root / DATA / "customers.json")
        products = loaded(root / DATA / "products.json")
        self.bodies = [f"{ticket['subject']}\n{ticket['body']}" for ticket in tickets]
        self.runs = set().union(*map(runs, (ticket["body"] for ticket in tickets)))
        self.ids = (
            {ticket["id"] for ticket in tickets}
            | {customer["customer_id"] for customer in customers}
            | {order["order_id"] for order in orders}
            | {order["tracking_number"] for order in orders if order["tracking_number"]}
            | {product["sku"] for product in products}
            | {customer["email"] for customer in customers}
            | {customer["name"] for customer in customers}
        )
        self.tags = {tag for row in expected.values() for tag in row["tags"]}
        self.tools = {row["first_tool"].partition(".")[2] for row in expected.values()} | {"issue_refund"}


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(Path(__file__).resolve().parents[2])


def ruled(tree) -> Iterator[tuple[str, str]]:
    """Every text file of host and models, and deskhand.toml, as (name, text)."""
    for package in ("host", "models"):
        for path in sorted((tree.root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(tree.root).as_posix(), path.read_text("utf-8", errors="replace")
    if (tree.root / "deskhand.toml").exists():
        yield "deskhand.toml", tree.text("deskhand.toml")


def quoted(tree, shop: Shop) -> list[str]:
    return [f"{name}: {' '.join(row)}" for name, text in ruled(tree) for row in sorted(runs(text) & shop.runs)]


def identified(tree, shop: Shop) -> list[str]:
    pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(one)}(?![\w-])" for one in sorted(shop.ids)), re.IGNORECASE)
    return [f"{name}: {found}" for name, text in ruled(tree) for found in pattern.findall(text)]


def strings(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from leaves(one)
        case dict():
            for key, one in value.items():
                yield key
                yield from leaves(one)


def tagged(tree, shop: Shop) -> list[str]:
    """Tags as whole strings. The configuration names the servers' tools, some of which give tags their names; code doesn't."""
    tags = shop.tags - OWN_WORDS.keys()
    found = [
        f"{name}:{line}: {text}"
        for name, module in tree.parsed("host", "models")
        if name != READS_TAGS
        for line, text in strings(module)
        if text in tags
    ]
    if (tree.root / "deskhand.toml").exists():
        configured = leaves(tomllib.loads(tree.text("deskhand.toml")))
        found += [f"deskhand.toml: {text}" for text in configured if text in tags - shop.tools]
    return found


def reads_tags(tree) -> list[str]:
    """Files of host and models that reach for an expected answer's tags: `x["tags"]`, `x.tags`, `x.get("tags")`."""
    found = set()
    for name, module in tree.parsed("host", "models"):
        for node in ast.walk(module):
            match node:
                case ast.Attribute(attr="tags") | ast.Constant(value="tags" | "first_tool" | "expected.json"):
                    found.add(name)
    return sorted(found)


def test_the_data_was_found(shop, tree):
    assert len(shop.bodies) == 48
    assert len(shop.runs) > 500
    assert len(shop.ids) > 200
    assert {"issue_refund", "quote_refund", "injected"} <= shop.tags
    assert set(OWN_WORDS) <= shop.tags
    assert {"host", "models", "deskhand.toml"} == {name.partition("/")[0] for name, _ in ruled(tree)}


def test_no_words_of_a_ticket_stand_in_host_models_or_configuration(tree, shop):
    assert quoted(tree, shop) == []


def test_no_identifier_of_the_shops_records_stands_there(tree, shop):
    assert identified(tree, shop) == []


def test_no_tag_stands_there(tree, shop):
    assert tagged(tree, shop) == []


def test_only_the_score_reads_tags(tree):
    assert reads_tags(tree) == [READS_TAGS]


@pytest.mark.parametrize("room", ["host/prompt.py", "models/grammar.py", "deskhand.toml"])
def test_a_planted_leak_is_found(tmp_path, tree, shop, room):
    planted = type(tree)(tmp_path)
    longest = max(shop.bodies, key=len)
    planted.plant(room, f"# {' '.join(words(longest)[10 : 10 + RUN + 1])}")
    assert quoted(planted, shop)
    for one in ("T-0009", "C-0129", "o-1744", "KG-1034"):
        other = type(tree)(tmp_path / one)
        other.plant(room, f"x = '{one}'")
        assert identified(other, shop), one
    planted.plant(room, "y = 'injected'")
    assert tagged(planted, shop)


def test_a_planted_look_at_the_tags_is_found(tmp_path, tree):
    planted = type(tree)(tmp_path)
    planted.plant("host/policy.py", "def f(ticket): return ticket.tags")
    planted.plant("models/recorded.py", "def f(row): return row['first_tool']")
    assert reads_tags(planted) == ["host/policy.py", "models/recorded.py"]
