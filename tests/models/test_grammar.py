"""The grammar: an offered tool, its own arguments, an enum's values, and nothing else can be written (spec M4)."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from models.errors import GrammarError
from models.grammar import TEXT_LIMIT, build
from models.port import Call, Offer
from models.qwen import parse, raw_calls

STATUS = Offer(
    "shop.get_order_status",
    {
        "type": "object",
        "properties": {"order_id": {"type": "string", "enum": ["O-1744", 'O-2"x']}},
        "required": ["order_id"],
    },
)
REPLY = Offer("desk.reply", {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]})
FIND = Offer("shop.find_orders", {"type": "object"})
OFFERS = (STATUS, REPLY, FIND)


@pytest.fixture
def admits(real):
    """Whether a whole reply can be written under the grammar of some offers."""

    def check(raw: str, offers=OFFERS) -> bool:
        matcher = LLMatcher(real.grammar_tokens, build(offers), log_level=0)
        assert not matcher.is_error(), matcher.get_error()
        tokens = real.grammar_tokens.tokenize_str(raw, parse_special=True)
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

    return check


def made(name: str, **arguments: object) -> str:
    return raw_calls([Call(name, arguments)])


@pytest.mark.model
@pytest.mark.parametrize(
    "raw",
    [
        made("shop.get_order_status", order_id="O-1744"),
        made("shop.get_order_status", order_id='O-2"x'),
        made("shop.find_orders"),
        made("desk.reply", text='Grüße, "so" \\ 1.\n2.\t€ 🙂'),
        made("desk.reply", text="x" * TEXT_LIMIT),
    ],
)
def test_what_was_offered_can_be_written_as_the_template_writes_it(admits, raw):
    assert admits(raw)


@pytest.mark.model
@pytest.mark.parametrize(
    "raw",
    [
        made("shop.issue_refund", quote_id="Q-1"),
        made("shop.get_order_status", order_id="O-7144"),
        made("shop.get_order_status"),
        made("shop.get_order_status", order_id="O-1744", reason="x"),
        made("shop.find_orders", customer_id="C-0129"),
        made("desk.reply", text=""),
        made("desk.reply", text="x" * (TEXT_LIMIT + 1)),
        made("desk.reply", text=3),
        made("desk.reply", text="done<|im_end|>"),
        made("shop.find_orders").replace(": ", ":"),
        made("shop.find_orders") + "\n" + made("shop.find_orders"),
        "I have refunded you.",
        "",
    ],
)
def test_nothing_else_can_be_written(admits, raw):
    assert not admits(raw)


@pytest.mark.model
def test_all_but_the_values_is_forced(real):
    matcher = LLMatcher(real.grammar_tokens, build([STATUS]), log_level=0)
    forced = real.grammar_tokens.decode_str(matcher.compute_ff_tokens())
    assert forced.startswith('<tool_call>\n{"name": "shop.get_order_status", "arguments": {"order_id": "O')


@pytest.mark.model
@given(st.dictionaries(st.text("abc", min_size=1), st.text(), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_enum_is_obeyed_whatever_its_characters(admits, wanted):
    wanted = {key: value for key, value in wanted.items() if value.isprintable()}
    properties = {key: {"type": "string", "enum": [value]} for key, value in wanted.items()}
    offer = Offer("x", {"type": "object", "properties": properties, "required": list(wanted)})
    assert admits(made("x", **wanted), [offer])
    assert parse(made("x", **wanted)).calls[0].arguments == wanted


def test_an_optional_identifier_without_a_value_cannot_be_written():
    properties = {"sku": {"type": "string", "enum": []}, "reason": {"type": "string"}}
    assert '"sku"' not in build([Offer("x", {"type": "object", "properties": properties})])


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "must be a JSON object"),
        ({"type": "object", "properties": {"id": {"enum": []}}, "required": ["id"]}, "leave the tool out"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": []}}}, "required": ["a"]},
            "leave the tool out",
        ),
    ],
)
def test_an_offer_that_cannot_be_made_is_an_error_that_names_the_tool(schema, words):
    with pytest.raises(GrammarError, match=r"^shop\.quote_refund: .*" + words):
        build([FIND, Offer("shop.quote_refund", schema)])


def test_free_text_is_bounded_wherever_it_stands():
    inner = {"type": "object", "properties": {"note": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": inner},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "mine": {"type": "string", "maxLength": 9},
        },
    }
    found = json.loads(build([Offer("x", schema)]).split("%json ")[1])
    assert found["properties"]["lines"]["items"]["properties"]["note"]["maxLength"] == TEXT_LIMIT
    assert found["properties"]["either"]["anyOf"][0]["maxLength"] == TEXT_LIMIT
    assert found["properties"]["mine"]["maxLength"] == 9
