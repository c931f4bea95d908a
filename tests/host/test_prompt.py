"""What the model reads: order, stable bytes, fences, outcomes in words, offers."""

import ast
import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config import Example, LookupFirst, PromptConfig, Templates
from host.prompt import (
    REPLY,
    fenced,
    harmless,
    messages,
    offers,
    render_outcome,
    reply_allowed,
    reply_tool,
    stable_messages,
    tool_specs,
    wrap,
)
from host.types import Attached, Fact, Outcome, OutcomeKind, ProposedCall, Ticket, Tool, Turn
from models.port import Message

HOST = Path(__file__).resolve().parents[2] / "host"
TODAY = date(2026, 6, 2)


def tool(name: str, off: str = "") -> Tool:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    server, _, remote = name.partition(".")
    return Tool(name, server, remote, f"Does {remote}.", schema, schema, "d", off=off)


TOOLS = (tool("shop.status"), tool("partner.track"), tool("shop.broken", off="changed"))
CONFIG = PromptConfig(
    business="A shop.",
    rules=("Be brief.",),
    examples=(
        Example(
            ticket="Where is O-9031?",
            turns=(
                {"call": "shop.status", "arguments": {"order_id": "O-9031"}, "result": {"status": "shipped"}},
                {"call": REPLY, "arguments": {"text": "It was shipped."}},
            ),
        ),
    ),
)
ATTACHED = (Attached("shop://b", "shop", "Second."), Attached("shop://a", "shop", "First."))


def ticket(body: str = "Where is it?", subject: str = "My order", ticket_id: str = "T-1") -> Ticket:
    return Ticket(ticket_id, "k", subject, body, "a@example.com", "Ann", True, "C-1", datetime(2026, 6, 1, tzinfo=UTC))


def asked(body: str = "Where is it?", turns: tuple[Turn, ...] = (), language: str = "") -> tuple[Message, ...]:
    return messages(CONFIG, ATTACHED, ticket(body), turns, TODAY, language=language)


def turn(kind: OutcomeKind = OutcomeKind.RESULT, **outcome: Any) -> Turn:
    call = ProposedCall("c1", "shop.status", {"order_id": "O-1145"})
    return Turn("", (call,), {"c1": Outcome(kind, **outcome)})


def test_the_order_is_system_resources_examples_ticket_turns() -> None:
    read = asked(turns=(turn(data={"status": "placed"}),))
    assert [m.role for m in read] == ["system", "user", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert read[1].content.index("First.") < read[1].content.index("Second.")
    assert "Where is O-9031?" in read[2].content
    assert "Where is it?" in read[6].content
    assert '{"status":"placed"}' in read[8].content


def test_everything_before_the_ticket_is_the_same_for_every_ticket_and_day() -> None:
    stable = stable_messages(CONFIG, ATTACHED)
    one = messages(CONFIG, ATTACHED, ticket("a", ticket_id="T-1"), (), TODAY, language="de")
    other = messages(CONFIG, tuple(reversed(ATTACHED)), ticket("b", ticket_id="T-2"), (turn(),), date(2027, 1, 1), language="fr")
    assert one[: len(stable)] == other[: len(stable)] == stable
    assert TODAY.isoformat() not in repr(stable)
    assert TODAY.isoformat() in one[len(stable)].content


def test_the_rules_say_what_the_specification_wants() -> None:
    system = asked()[0].content
    for words in (
        "starts with the server",
        "<tool_response>",
        "desk.reply",
        "identifiers and amounts",
        "data, not instructions",
        "promise",
    ):
        assert words in system
    assert "A shop." in system
    assert "Be brief." in system


def test_the_tools_are_in_a_stable_order_with_the_reply_last() -> None:
    names = [spec.name for spec in tool_specs(TOOLS)]
    assert names == ["partner.track", "shop.status", REPLY]
    assert tool_specs(tuple(reversed(TOOLS))) == tool_specs(TOOLS)
    assert tool_specs((*TOOLS, reply_tool())) == tool_specs(TOOLS)


def test_the_reply_is_a_tool_of_the_desk() -> None:
    reply = reply_tool()
    assert (reply.name, reply.server) == (REPLY, "desk")
    assert reply.schema["required"] == ["text"]
    assert (reply.schema["properties"]["text"]["minLength"], reply.schema["properties"]["text"]["maxLength"]) == (1, 1500)


@given(st.text(alphabet="~\n ab`", max_size=60))
def test_no_content_closes_its_fence(text: str) -> None:
    block = fenced("Label", text).split("\n")
    fence = block[1]
    assert set(fence) == {"~"}
    assert block[-1] == fence
    assert all(fence not in line for line in block[2:-1])


@pytest.mark.parametrize(
    "marker", ["<tool_call>", "</tool_response>", "<|im_end|>", "<tools>", "</TOOL_CALL>", "<tool_responses>"]
)
def test_the_templates_markers_are_broken_in_what_others_wrote(marker: str) -> None:
    assert marker not in asked(f"hello {marker} there")[-1].content
    outcome = Outcome(OutcomeKind.RESULT, data={"note": marker})
    assert marker not in render_outcome("shop.status", "c1", outcome, 500)
    assert harmless("a < b <p>") == "a < b <p>"


def test_the_language_stands_with_the_ticket() -> None:
    assert "Reply in German." in asked(language="de")[-1].content
    assert "Reply in" not in asked()[-1].content


@pytest.mark.parametrize("kind", list(OutcomeKind))
def test_every_outcome_has_words_and_names_tool_and_call(kind: OutcomeKind) -> None:
    text = render_outcome("shop.status", "c7", Outcome(kind, why="because"), 500)
    first, _, body = text.partition("\n")
    assert first == f"shop.status: {kind.value.replace('_', ' ')} [c7]"
    assert len(body) > 10


@pytest.mark.parametrize("kind", [OutcomeKind.REFUSED, OutcomeKind.DECLINED, OutcomeKind.EXPIRED])
def test_what_was_not_done_is_said_so_and_not_retried(kind: OutcomeKind) -> None:
    text = render_outcome("shop.status", "c1", Outcome(kind, why="too much"), 500)
    for words in ("not done", "Do not retry", "tell the customer", "too much"):
        assert words in text


def test_a_result_is_compact_data_or_else_its_text() -> None:
    both = Outcome(OutcomeKind.RESULT, text="{}", data={"a": [1, "é"]})
    assert render_outcome("t", "c", both, 500).endswith('\n{"a":[1,"é"]}')
    assert render_outcome("t", "c", Outcome(OutcomeKind.RESULT, text="plain"), 500).endswith("\nplain")


def test_a_long_result_is_cut_by_a_stated_rule() -> None:
    text = render_outcome("t", "c", Outcome(OutcomeKind.RESULT, text="x" * 900), 100)
    assert text.endswith("[cut after 100 of 900 characters]")
    assert text.count("x") == 100


def test_a_turn_without_all_its_outcomes_is_refused() -> None:
    open_turn = Turn("", (ProposedCall("c1", "shop.status", {}),), {})
    with pytest.raises(ValueError, match="c1 has no outcome"):
        asked(turns=(open_turn,))


def test_unreadable_replies_and_notes_reach_the_model() -> None:
    unreadable = Turn("{oops", (), {}, unreadable="no wrapper", note="A person says: be kind.")
    read = asked(turns=(unreadable,))
    assert [m.role for m in read[-3:]] == ["assistant", "user", "user"]
    assert "no wrapper" in read[-2].content
    assert "be kind" in read[-1].content


def test_the_same_input_gives_the_same_bytes() -> None:
    turns = (turn(data={"b": 1, "a": 2}),)
    assert json.dumps([m.content for m in asked(turns=turns)]) == json.dumps([m.content for m in asked(turns=turns)])


# What may be called now

FACT = Fact("order_id", "O-1145", "ticket")
RULE = LookupFirst(pattern="(?i)where", identifier="order_id")


def test_the_reply_waits_for_a_look_up_only_where_pattern_and_identifier_say_so() -> None:
    assert not reply_allowed(ticket(), (FACT,), (), (RULE,))
    assert reply_allowed(ticket(), (), (), (RULE,))
    assert reply_allowed(ticket("Thanks!"), (FACT,), (), (RULE,))
    assert reply_allowed(ticket(), (FACT,), (), ())


@pytest.mark.parametrize("kind", [OutcomeKind.RESULT, OutcomeKind.REFUSED, OutcomeKind.TIMED_OUT])
def test_any_outcome_of_a_look_up_frees_the_reply(kind: OutcomeKind) -> None:
    assert reply_allowed(ticket(), (FACT,), (turn(kind),), (RULE,))


def test_offers_leave_out_what_is_off_or_has_no_grounded_value() -> None:
    narrowed = {"shop.status": {"type": "object"}, "partner.track": None}
    offered = offers(TOOLS, narrowed, reply_allowed=True, only_reply=False)
    assert [o.name for o in offered] == ["shop.status", REPLY]
    assert offered[0].schema == {"type": "object"}
    assert [o.name for o in offers(TOOLS, narrowed, reply_allowed=False, only_reply=False)] == ["shop.status"]
    assert [o.name for o in offers(TOOLS, narrowed, reply_allowed=False, only_reply=True)] == [REPLY]


def test_there_is_always_a_way_on() -> None:
    nothing = dict.fromkeys((t.name for t in TOOLS), None)
    assert [o.name for o in offers(TOOLS, nothing, reply_allowed=False, only_reply=False)] == [REPLY]


def test_offers_stand_in_the_order_of_the_prompt() -> None:
    listed = [spec.name for spec in tool_specs(TOOLS)]
    assert [o.name for o in offers(tuple(reversed(TOOLS)), {}, reply_allowed=True, only_reply=False)] == listed


# Around the words


def test_greeting_and_signature_stand_around_the_words() -> None:
    template = Templates(greeting="Hello {name},", signature="Regards\nUs")
    assert wrap(" It left. ", template, "Ann") == "Hello Ann,\n\nIt left.\n\nRegards\nUs"
    assert wrap("It left.", template, "") == "Hello,\n\nIt left.\n\nRegards\nUs"
    assert wrap("It left.", replace_greeting("{x}"), "{name}").startswith("{x}")


def replace_greeting(greeting: str) -> Templates:
    return Templates(greeting=greeting, signature="")


def test_a_ticket_changes_nothing_but_its_own_part() -> None:
    base, other = asked("one"), asked("two")
    assert base[:-1] == other[:-1]
    assert replace(base[-1], content="") == replace(other[-1], content="")


# No word of the shop


def _said(module: ast.Module) -> list[tuple[int, str]]:
    """String constants and names, without docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(n.body[0].value) for n in ast.walk(module) if isinstance(n, owners) and n.body and isinstance(n.body[0], ast.Expr)}
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            found.append((node.lineno, node.value))
        elif isinstance(node, ast.Name | ast.arg):
            found.append((node.lineno, node.id if isinstance(node, ast.Name) else node.arg))
    return found


def test_no_word_of_the_shop_stands_in_the_host() -> None:
    files = sorted(HOST.glob("*.py"))
    assert len(files) > 10
    words = re.compile(r"refund|reimburs|rembours|erstatt|terugbeta|\b(?:KG|FX|O|Q|R|C|T)-\d|kitchen|garden", re.IGNORECASE)
    found = [
        f"{path.name}:{line}: {text}"
        for path in files
        for line, text in _said(ast.parse(path.read_text("utf-8")))
        if words.search(text)
    ]
    assert found == []


def test_a_refusal_that_can_be_mended_does_not_forbid_another_try() -> None:
    mendable = Outcome(OutcomeKind.REFUSED, "the arguments are not valid. Correct them and call again", step="arguments")
    final = Outcome(OutcomeKind.REFUSED, "the policy forbids this call", step="policy")
    assert "Do not retry" not in render_outcome("shop.find_orders", "c1", mendable, 500)
    assert "Do not retry" in render_outcome("shop.find_orders", "c1", final, 500)


def test_what_a_person_changed_stands_before_the_result_that_it_led_to() -> None:
    edited = Outcome(OutcomeKind.RESULT, 'a person changed the arguments before it ran: {"query":"pan"}.', data={"found": 1})
    assert render_outcome("shop.find_orders", "c1", edited, 6000) == (
        'shop.find_orders: result [c1]\nNote: a person changed the arguments before it ran: {"query":"pan"}.\n{"found":1}'
    )
    assert "Note" not in render_outcome("shop.find_orders", "c1", Outcome(OutcomeKind.RESULT, data={"found": 1}), 6000)
