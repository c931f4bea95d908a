"""Checks blocks and views as Slack does before it takes them: known types, limits, unique ids, size as a whole.

Limits are those of the published reference; the size of a whole message is undocumented (users measured about 13,200
characters counted after escaping, a header costing about 100 more), so 13,000 is this workspace's own line. Pure.
"""

import json
import secrets
import string
from collections.abc import Callable, Iterator

from servers.workspace.elements import (
    IN_ACTIONS,
    IN_INPUT,
    IN_SECTION,
    Problem,
    element_problems,
    string_problems,
    text_problems,
)
from servers.workspace.settings import Json
from servers.workspace.texts import counted

MOST_IN_MESSAGE, MOST_IN_VIEW, MOST_CHARACTERS = 50, 100, 13_000
_HEADER_COST = 100


def block_problems(blocks: object, most: int, at: str = "/blocks") -> Iterator[Problem]:
    """Everything wrong with a list of blocks."""
    if not isinstance(blocks, list):
        yield "must be an array of blocks", at
        return
    if len(blocks) > most:
        yield f"no more than {most} items allowed", at
    seen: set[str] = set()
    for n, block in enumerate(blocks):
        where = f"{at}/{n}"
        check = _CHECKS.get(block.get("type")) if isinstance(block, dict) else None
        if check is None:
            yield "unsupported type or not a block", f"{where}/type"
            continue
        yield from string_problems(block, "block_id", where, 255)
        if block.get("block_id") in seen:
            yield f"block_id {block['block_id']!r} already exists", f"{where}/block_id"
        seen.add(block.get("block_id") or f"\0{n}")
        yield from check(block, where)
        yield from _same_action_ids(block, where)


def characters(blocks: list[Json]) -> int:
    """The size of all blocks together, counted after escaping."""
    return sum(_size(block) + (_HEADER_COST if block.get("type") == "header" else 0) for block in blocks)


def with_ids(blocks: list[Json]) -> list[Json]:
    """The blocks exactly as sent, with a random block_id where none was given, as the app gets them back."""
    return [{**block, "block_id": block.get("block_id") or _random_id()} for block in blocks]


def view_problems(view: object, kind: str) -> Iterator[Problem]:
    """Everything wrong with a view of kind modal or home."""
    if not isinstance(view, dict) or view.get("type") != kind:
        yield f"view must be an object of type {kind}", "/view/type"
        return
    yield from block_problems(view.get("blocks"), MOST_IN_VIEW, "/view/blocks")
    yield from string_problems(view, "callback_id", "/view", 255)
    yield from string_problems(view, "private_metadata", "/view", 3000)
    yield from string_problems(view, "external_id", "/view", 255)
    if kind == "home":
        return
    yield from text_problems(view.get("title"), "/view/title", 24, ("plain_text",))
    for key in ("submit", "close"):
        if view.get(key) is not None:
            yield from text_problems(view[key], f"/view/{key}", 24, ("plain_text",))
    has_input = any(isinstance(block, dict) and block.get("type") == "input" for block in view.get("blocks") or [])
    if has_input and view.get("submit") is None:
        yield "`submit` is required when there is an input block", "/view/submit"


def messages(problems: list[Problem]) -> list[str]:
    """Problems in the words of response_metadata.messages."""
    return [f"[ERROR] {what} [json-pointer:{at}]" for what, at in problems]


def interactive(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Each (block, element) a person can act on, in order."""
    for block in blocks:
        match block.get("type"):
            case "actions":
                yield from ((block, element) for element in block.get("elements") or [])
            case "section" if isinstance(block.get("accessory"), dict) and block["accessory"].get("type") != "image":
                yield block, block["accessory"]
            case "input":
                yield block, block["element"]
            case _:
                pass


def with_action_ids(blocks: list[Json]) -> list[Json]:
    """The blocks with a random action_id on each interactive element that has none."""
    copied: list[Json] = json.loads(json.dumps(blocks))
    for _, element in interactive(copied):
        if not element.get("action_id"):
            element["action_id"] = _random_id()
    return copied


def _random_id() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(5))


def _size(value: object) -> int:
    if isinstance(value, list):
        return sum(_size(item) for item in value)
    if not isinstance(value, dict):
        return 0
    own = sum(counted(value[key], value.get("type", "")) for key in ("text", "alt_text") if isinstance(value.get(key), str))
    return own + sum(_size(item) for item in value.values())


def _same_action_ids(block: Json, at: str) -> Iterator[Problem]:
    ids = [element.get("action_id") for _, element in interactive([block]) if isinstance(element, dict)]
    named = [action_id for action_id in ids if action_id]
    if len(named) != len(set(named)):
        yield "`action_id` already exists for another element of this block", at


def _section(block: Json, at: str) -> Iterator[Problem]:
    fields = block.get("fields")
    if block.get("text") is None and not fields:
        yield "missing required field: text or fields", at
    if block.get("text") is not None:
        yield from text_problems(block["text"], f"{at}/text", 3000)
    if fields is not None and (not isinstance(fields, list) or not 1 <= len(fields) <= 10):
        yield "must have 1 to 10 fields", f"{at}/fields"
    for n, field in enumerate(fields if isinstance(fields, list) else []):
        yield from text_problems(field, f"{at}/fields/{n}", 2000)
    if block.get("accessory") is not None:
        yield from element_problems(block["accessory"], f"{at}/accessory", IN_SECTION)


def _header(block: Json, at: str) -> Iterator[Problem]:
    yield from text_problems(block.get("text"), f"{at}/text", 150, ("plain_text",))


def _actions(block: Json, at: str) -> Iterator[Problem]:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 25:
        yield "must have 1 to 25 elements", f"{at}/elements"
        return
    for n, element in enumerate(elements):
        yield from element_problems(element, f"{at}/elements/{n}", IN_ACTIONS)


def _context(block: Json, at: str) -> Iterator[Problem]:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 10:
        yield "must have 1 to 10 elements", f"{at}/elements"
        return
    for n, element in enumerate(elements):
        if isinstance(element, dict) and element.get("type") == "image":
            yield from _image(element, f"{at}/elements/{n}")
        else:
            yield from text_problems(element, f"{at}/elements/{n}", 3000)


def _input(block: Json, at: str) -> Iterator[Problem]:
    yield from text_problems(block.get("label"), f"{at}/label", 2000, ("plain_text",))
    if block.get("hint") is not None:
        yield from text_problems(block["hint"], f"{at}/hint", 2000, ("plain_text",))
    yield from element_problems(block.get("element"), f"{at}/element", IN_INPUT)


def _image(block: Json, at: str) -> Iterator[Problem]:
    if not isinstance(block.get("alt_text"), str) or not 1 <= len(block["alt_text"]) <= 2000:
        yield "alt_text must be 1 to 2000 characters", f"{at}/alt_text"
    if not block.get("image_url") and not block.get("slack_file"):
        yield "missing required field: image_url or slack_file", at
    yield from string_problems(block, "image_url", at, 3000)


def _rich_text(block: Json, at: str) -> Iterator[Problem]:
    elements = block.get("elements")
    if not isinstance(elements, list):
        yield "missing required field: elements", at
        return
    for n, element in enumerate(elements):
        if not isinstance(element, dict) or element.get("type") not in _RICH:
            yield "unsupported rich text element", f"{at}/elements/{n}"
        elif not isinstance(element.get("elements"), list):
            yield "missing required field: elements", f"{at}/elements/{n}"
        elif element["type"] == "rich_text_list":
            yield from _rich_text(element, f"{at}/elements/{n}")
        else:
            for m, leaf in enumerate(element["elements"]):
                yield from _rich_leaf(leaf, f"{at}/elements/{n}/elements/{m}")


def _rich_leaf(leaf: object, at: str) -> Iterator[Problem]:
    if not isinstance(leaf, dict) or leaf.get("type") not in _RICH_LEAVES:
        yield "unsupported rich text element", at
    elif leaf["type"] == "text" and (not isinstance(leaf.get("text"), str) or not leaf["text"]):
        yield "must be more than 0 characters", f"{at}/text"
    elif leaf["type"] == "link" and not isinstance(leaf.get("url"), str):
        yield "missing required field: url", at


def _markdown(block: Json, at: str) -> Iterator[Problem]:
    if not isinstance(block.get("text"), str) or len(block["text"]) > 12_000:
        yield "must be a string of less than 12001 characters", f"{at}/text"


def _anything(_block: Json, _at: str) -> Iterator[Problem]:
    yield from ()


_RICH = frozenset({"rich_text_section", "rich_text_preformatted", "rich_text_quote", "rich_text_list"})
_RICH_LEAVES = frozenset({"text", "link", "emoji", "user", "usergroup", "channel", "broadcast", "date", "color", "team"})
_TAKEN_UNCHECKED = (
    *("file", "call", "video", "table", "alert", "card", "carousel", "container", "task_card", "plan"),
    *("context_actions", "auth_provider", "data_table", "data_visualization"),
)
_CHECKS: dict[object, Callable[[Json, str], Iterator[Problem]]] = {
    "section": _section,
    "header": _header,
    "actions": _actions,
    "context": _context,
    "input": _input,
    "image": _image,
    "rich_text": _rich_text,
    "markdown": _markdown,
    "divider": _anything,
    **dict.fromkeys(_TAKEN_UNCHECKED, _anything),
}
