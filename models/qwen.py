"""Qwen2.5's ChatML, out and in: a `Request` to prompt segments, a raw reply to calls.  Pure; knows no tokens and no engine.

Out: the same characters as the model file's own `tokenizer.chat_template`.  Only the four control strings that *we* write are
marked special; everything else, the template's plain words included, is text in which no token of the template can hide
(spec M4).  Plain runs are kept joined so that the tokens are those the model was trained on.

In: only `<tool_call>{...}</tool_call>` makes a call (spec H8, M4).  JSON in prose or in a fence is prose.  Whatever cannot be
read exactly is `Reply.unreadable`, in words, and nothing of it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from models.port import Call, Message, Reply, Request, ToolSpec

START, END, CALL, CALL_END = "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"
DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
TOOLS_HEAD = (
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
# The doubled braces are the publisher's: the template in this model's file writes them so.
TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within ",
    " XML tags:\n",
    '\n{{"name": <function-name>, "arguments": <args-json-object>}}\n',
)
SPACE = " \t\r\n"


class Segment(NamedTuple):
    """A piece of the prompt. `special` is true for exactly one control string, written by us."""

    text: str
    special: bool = False


def render(request: Request) -> tuple[Segment, ...]:
    """The whole prompt, ending where the assistant's turn begins; plain runs joined."""
    joined: list[Segment] = []
    for piece in _pieces(request.messages, request.tools):
        if not piece.text:
            continue
        if joined and not piece.special and not joined[-1].special:
            joined[-1] = Segment(joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return tuple(joined)


def call_text(call: Call) -> str:
    """The JSON of a call as the template and the grammar write it: fixed key order, `, ` and `: ` between."""
    return f'{{"name": {_json(call.name)}, "arguments": {_json(call.arguments)}}}'


def raw_calls(calls: Sequence[Call]) -> str:
    """What the model would have written to make these calls."""
    return "\n".join(f"{CALL}\n{call_text(call)}\n{CALL_END}" for call in calls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pieces(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Segment]:
    has_system = bool(messages) and messages[0].role == "system"
    yield from _open("system")
    yield Segment("\n" + (messages[0].content if has_system else DEFAULT_SYSTEM))
    if tools:
        yield from _tools(tools)
    yield from _close()
    rest = messages[1:] if has_system else messages
    for index, message in enumerate(rest):
        before = rest[index - 1].role if index else None
        after = rest[index + 1].role if index + 1 < len(rest) else None
        yield from _message(message, before, after)
    yield from _open("assistant")
    yield Segment("\n")


def _open(role: str) -> Iterator[Segment]:
    yield Segment(START, special=True)
    yield Segment(role)


def _close() -> Iterator[Segment]:
    yield Segment(END, special=True)
    yield Segment("\n")


def _tools(tools: Sequence[ToolSpec]) -> Iterator[Segment]:
    yield Segment(TOOLS_HEAD)
    for tool in tools:
        function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        yield Segment("\n" + _json({"type": "function", "function": function}))
    yield Segment(TOOLS_TAIL[0])
    yield Segment(CALL, special=True)
    yield Segment(CALL_END, special=True)
    yield Segment(TOOLS_TAIL[1])
    yield Segment(CALL, special=True)
    yield Segment(TOOLS_TAIL[2])
    yield Segment(CALL_END, special=True)


def _message(message: Message, before: str | None, after: str | None) -> Iterator[Segment]:
    if message.role == "tool":
        if before != "tool":
            yield from _open("user")
        yield Segment(f"\n<tool_response>\n{message.content}\n</tool_response>")
        if after != "tool":
            yield from _close()
        return
    yield from _open(message.role)
    if message.content or not message.calls:
        yield Segment("\n" + message.content)
    for call in message.calls:
        yield Segment("\n")
        yield Segment(CALL, special=True)
        yield Segment(f"\n{call_text(call)}\n")
        yield Segment(CALL_END, special=True)
    yield from _close()


class _Unreadable(ValueError):
    """Its text says, in words, why a reply can't be read."""


def parse(raw: str) -> Reply:
    """Read a reply strictly. Never raises: what can't be read is said in `unreadable`, and `raw` is always whole."""
    try:
        text, calls = _read(raw)
    except _Unreadable as error:
        return Reply(raw=raw, unreadable=str(error))
    return Reply(raw=raw, text=text, calls=calls)


def _read(raw: str) -> tuple[str, tuple[Call, ...]]:
    head, wrapper, _ = raw.partition(CALL)
    if CALL_END in head:
        raise _Unreadable(f"a {CALL_END} without its {CALL}")
    if not wrapper and not head.strip():
        raise _Unreadable("the reply is empty")
    calls: list[Call] = []
    position = len(head)
    while position < len(raw):
        call, position = _wrapped(raw, position)
        calls.append(call)
    return head.strip(), tuple(calls)


def _wrapped(raw: str, position: int) -> tuple[Call, int]:
    """One wrapper that starts at `position`, and where the next would start."""
    if not raw.startswith(CALL, position):
        raise _Unreadable("words after a call")
    start = _skip(raw, position + len(CALL))
    value, end = _object(raw, start)
    end = _skip(raw, end)
    if not raw.startswith(CALL_END, end):
        rest = raw.find(CALL_END, end)
        raise _Unreadable("more than one object in a wrapper" if rest >= 0 else f"a call without its {CALL_END}")
    return _call(value), _skip(raw, end + len(CALL_END))


def _skip(raw: str, position: int) -> int:
    while position < len(raw) and raw[position] in SPACE:
        position += 1
    return position


def _object(raw: str, start: int) -> tuple[Any, int]:
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    try:
        value, end = decoder.raw_decode(raw, start)
    except _Unreadable:
        raise
    except RecursionError:
        raise _Unreadable("the call's JSON is nested too deep") from None
    except ValueError:
        raise _Unreadable("the call isn't valid JSON") from None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Unreadable("the call holds half a character") from None
    return value, end


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Unreadable("a key is written twice")
    return found


def _refuse(constant: str) -> Any:
    raise _Unreadable(f"{constant} is not a JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Unreadable("a number is out of range")
    return value


def _call(value: Any) -> Call:
    if not isinstance(value, Mapping):
        raise _Unreadable("the call isn't a JSON object")
    if "arguments" not in value:
        raise _Unreadable("the call has no arguments")
    if set(value) != {"name", "arguments"}:
        raise _Unreadable("a call holds exactly a name and arguments")
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not name:
        raise _Unreadable("the call names no tool")
    if not isinstance(arguments, Mapping):
        raise _Unreadable("the arguments aren't a JSON object")
    return Call(name=name, arguments=arguments)
