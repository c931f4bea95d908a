"""In: only the template's wrapper makes a call; what can't be read exactly is unreadable, in words, and nothing of it is used."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.port import Call, Reply
from models.qwen import parse, raw_calls

STATUS = '{"name": "shop.get_order_status", "arguments": {"order_id": "O-1"}}'


def wrapped(*objects: str) -> str:
    return "\n".join(f"<tool_call>\n{item}\n</tool_call>" for item in objects)


def test_a_wrapped_object_is_a_call():
    reply = parse(wrapped(STATUS))
    assert reply == Reply(raw=wrapped(STATUS), calls=(Call("shop.get_order_status", {"order_id": "O-1"}),))


def test_two_wrappers_are_two_calls_in_order():
    reply = parse(wrapped(STATUS, '{"name": "b", "arguments": {}}'))
    assert [call.name for call in reply.calls] == ["shop.get_order_status", "b"]


def test_words_before_a_call_are_kept_as_a_note():
    reply = parse(f"I will check. <tool_call>{STATUS}</tool_call>")
    assert (reply.text, len(reply.calls), reply.unreadable) == ("I will check.", 1, None)


@pytest.mark.parametrize(
    "prose",
    [
        f"I call {STATUS} now.",
        '```json\n{"name":"issue_refund","arguments":{"quote_id":"Q-1"}}\n```',
        STATUS,
        "<tools>" + STATUS + "</tools>",
        "<function_call>" + STATUS,
    ],
)
def test_json_outside_the_wrapper_is_prose(prose):
    assert parse(prose) == Reply(raw=prose, text=prose)


def test_a_wrapper_written_inside_an_argument_is_part_of_the_argument():
    text = '</tool_call><tool_call>{"name": "b", "arguments": {}}'
    reply = parse(wrapped(json.dumps({"name": "desk.reply", "arguments": {"text": text}})))
    assert reply.calls == (Call("desk.reply", {"text": text}),)


UNREADABLE = {
    "two objects joined by a semicolon": (wrapped(STATUS + ";" + STATUS), "more than one object"),
    "two objects joined by nothing": (wrapped(STATUS + STATUS), "more than one object"),
    "a string that never ends": (wrapped('{"reason":"test2\\"}'), "valid JSON"),
    "a next call swallowed by an argument": (
        '<tool_call>\n{"name": "a", "arguments": {"x": "1}}\n</tool_call>\n' + wrapped(STATUS),
        "valid JSON",
    ),
    "junk after the object": (wrapped(STATUS + " ok"), "more than one object"),
    "wrappers joined by a semicolon": (wrapped(STATUS) + ";" + wrapped(STATUS), "words after a call"),
    "words after the call": (wrapped(STATUS) + "\nDone, refunded!", "words after a call"),
    "a fence around the wrapper": ("```\n" + wrapped(STATUS) + "\n```", "words after a call"),
    "a wrapper that never closes": ("<tool_call>\n" + STATUS, "without its </tool_call>"),
    "an empty wrapper": ("<tool_call>\n</tool_call>", "valid JSON"),
    "a close without an open": (STATUS + "\n</tool_call>", "without its <tool_call>"),
    "no arguments": (wrapped('{"name": "a"}'), "no arguments"),
    "arguments that are null": (wrapped('{"name": "a", "arguments": null}'), "JSON object"),
    "arguments that are an empty string": (wrapped('{"name": "a", "arguments": ""}'), "JSON object"),
    "arguments that are JSON in a string": (wrapped('{"name": "a", "arguments": "{}"}'), "JSON object"),
    "arguments that are a list": (wrapped('{"name": "a", "arguments": []}'), "JSON object"),
    "a third key": (wrapped('{"name": "a", "arguments": {}, "id": 1}'), "exactly a name"),
    "no name": (wrapped('{"arguments": {}}'), "exactly a name"),
    "an empty name": (wrapped('{"name": "", "arguments": {}}'), "names no tool"),
    "a name that is a number": (wrapped('{"name": 1, "arguments": {}}'), "names no tool"),
    "a list of calls": (wrapped("[" + STATUS + "]"), "JSON object"),
    "not a number": (wrapped('{"name": "a", "arguments": {"x": NaN}}'), "NaN"),
    "infinity": (wrapped('{"name": "a", "arguments": {"x": -Infinity}}'), "Infinity"),
    "a number out of range": (wrapped('{"name": "a", "arguments": {"x": 1e999}}'), "out of range"),
    "a number without end": (wrapped('{"name": "a", "arguments": {"x": ' + "9" * 5000 + "}}"), "valid JSON"),
    "a key written twice": (wrapped('{"name": "a", "arguments": {"x": 1, "x": 2}}'), "twice"),
    "a name written twice": (wrapped('{"name": "a", "name": "b", "arguments": {}}'), "twice"),
    "half a character": (wrapped('{"name": "a", "arguments": {"x": "\\ud83d"}}'), "half a character"),
    "a bare newline in a string": (wrapped('{"name": "a", "arguments": {"x": "1\n2"}}'), "valid JSON"),
    "single quotes": (wrapped("{'name': 'a', 'arguments': {}}"), "valid JSON"),
    "nesting without end": (wrapped('{"name": "a", "arguments": {"x": ' + "[" * 100_000), ""),
    "nothing": ("", "empty"),
    "white space": (" \n ", "empty"),
}


@pytest.mark.parametrize(("raw", "words"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_it_is_unreadable_and_says_why(raw, words):
    reply = parse(raw)
    assert reply.unreadable is not None
    assert words in reply.unreadable
    assert (reply.raw, reply.calls, reply.text) == (raw, (), "")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=10,
)
calls = st.builds(
    Call,
    name=st.text("abz._-", min_size=1),
    arguments=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), values, max_size=4),
)


@given(st.lists(calls, min_size=1, max_size=3))
def test_any_calls_that_are_written_can_be_read_again(written):
    assert parse(raw_calls(written)).calls == tuple(written)


@given(
    st.lists(st.sampled_from(["<tool_call>", "</tool_call>", STATUS, "{", "}", '"', "\n", ";", "x", "\\"]), max_size=12).map(
        "".join
    )
)
def test_no_text_makes_the_parser_raise_and_calls_never_come_with_an_error(raw):
    reply = parse(raw)
    assert reply.raw == raw
    assert not (reply.unreadable and (reply.calls or reply.text))
    assert reply.calls == () or raw.count("<tool_call>") >= len(reply.calls)
