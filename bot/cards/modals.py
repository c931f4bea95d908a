"""Modal views: a loading one to open at once, words, one-field reasons, the input form, whole texts and logs (spec B3-B5).

Pure. A form's `private_metadata` is the question's opaque id and nothing else; the channel to speak in comes from our settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.cards import ids
from bot.cards.changed_tool import difference
from bot.cards.consent import origin_parts
from bot.cards.draft import log_rows
from bot.cards.elements import TITLE_TEXT, Block, Part, bullets, line, plain, pre, quote, rich, t
from bot.cards.forms import block_id, input_blocks
from bot.cards.text import pieces
from bot.cards.words import record_lines, server_parts
from host.types import Json, ToolCallRecord
from host.views import QuestionView

View = dict[str, Any]
_MOST_BLOCKS = 98
_PIECE = 2900


def view(
    title: str, blocks: Sequence[Block], callback_id: str, metadata: str = "", submit: str = "", close: str = "Close"
) -> View:
    made: View = {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": metadata,
        "title": plain(title, TITLE_TEXT),
        "close": plain(close, TITLE_TEXT),
        "blocks": list(blocks),
    }
    return {**made, "submit": plain(submit, TITLE_TEXT)} if submit else made


def loading(title: str, metadata: str = "") -> View:
    """Opened within the three seconds that Slack gives; filled afterwards."""
    return view(title, [rich(line(t("One moment…")))], ids.FORM_LOADING, metadata)


def words(title: str, said: str, metadata: str = "", kept: str = "") -> View:
    """An answer in words. `kept` is what a person had typed, shown so that it isn't lost when it could not be taken."""
    blocks = [rich(*(line(t(piece)) for piece in pieces(said or "Done.", _PIECE)))]
    if kept:
        blocks.append(rich(line(t("What you had written:", bold=True))))
        blocks += whole_text(kept)
    return view(title, blocks, ids.FORM_WORDS, metadata)


def reason(title: str, callback_id: str, question_id: str, label: str, hint: str, submit: str, required: bool = True) -> View:
    """One text field: why declined, why rejected, what to do differently."""
    element: Part = {"type": "plain_text_input", "action_id": ids.FIELD, "multiline": True, "max_length": 1500}
    block: Block = {
        "type": "input",
        "block_id": block_id(0),
        "label": plain(label, 200),
        "hint": plain(hint, 1900),
        "element": element,
        "optional": not required,
    }
    return view(title, [block], callback_id, question_id, submit, "Back")


def input_form(card: QuestionView, given: Mapping[str, Json] | None = None, complaint: str = "") -> View:
    """The server's own form, with its name and its message on top."""
    question = card.question
    asks = line(t("Server ", bold=True), *server_parts(question, card.server_claims), t(" asks:"))
    head: list[Block] = [rich(asks, quote(str(question.payload.get("message") or "(no message)"), 2500))]
    if complaint:
        head.append(rich(line(t(complaint, 2000, bold=True))))
    fields = input_blocks(question.payload.get("schema") or {}, given, ids.FIELD)
    return view("Answer", [*head, *fields], ids.FORM_INPUT, question.id, "Send answer", "Back")


def edit_reply(question_id: str, text: str, complaint: str = "", may_confirm: bool = False) -> View:
    """The reply in as many fields as its length needs, joined again by `joined`. After a complaint it comes back as it was typed,
    with a tick to send it all the same where that is configured (spec H25)."""
    parts = reply_parts(text)
    many = len(parts) > 1
    head: list[Block] = [rich(*(line(t(piece, bold=True)) for piece in pieces(complaint, _PIECE)))] if complaint else []
    labels = [f"Reply, part {n} of {len(parts)}" if many else "Reply to the customer" for n in range(1, len(parts) + 1)]
    blocks = [_reply_part(n, part, labels[n], many) for n, part in enumerate(parts)]
    tick = [_tick()] if complaint and may_confirm else []
    return view("Edit and send", [*head, *blocks, *tick], ids.FORM_DRAFT_EDIT, question_id, "Send", "Back")


def _reply_part(n: int, text: str, label: str, optional: bool) -> Block:
    element: Part = {"type": "plain_text_input", "action_id": ids.FIELD, "multiline": True, "max_length": 3000}
    filled = {**element, "initial_value": text} if text else element
    return {"type": "input", "block_id": block_id(n), "label": plain(label, 200), "element": filled, "optional": optional}


def _tick() -> Block:
    option = {"text": plain("Send it although nothing that ran supports these sentences", 75), "value": ids.CONFIRMED}
    element: Part = {"type": "checkboxes", "action_id": ids.FIELD, "options": [option]}
    return {
        "type": "input",
        "block_id": ids.CONFIRMED,
        "label": plain("Second confirmation", 200),
        "element": element,
        "optional": True,
    }


def ticked(values: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether the second confirmation was given."""
    entry = (values.get(ids.CONFIRMED) or {}).get(ids.FIELD) or {}
    return any(option.get("value") == ids.CONFIRMED for option in entry.get("selected_options") or ())


def reply_parts(text: str) -> list[str]:
    """Cut at blank lines into parts that a field can hold; a paragraph that is too long by itself is cut where it must be."""
    parts: list[str] = [""]
    for paragraph in text.split("\n\n"):
        joined = f"{parts[-1]}\n\n{paragraph}" if parts[-1] else paragraph
        if len(joined) <= 3000:
            parts[-1] = joined
        else:
            parts += [paragraph[at : at + 3000] for at in range(0, len(paragraph), 3000)]
    return [part for part in parts if part] or [""]


def joined(values: Mapping[str, Mapping[str, Json]]) -> str:
    """The edited reply from a form's values, its parts in order."""
    found = [(values.get(block_id(n)) or {}).get(ids.FIELD) or {} for n in range(len(values))]
    return "\n\n".join(text for entry in found if (text := str(entry.get("value") or "")))


def edit_arguments(question_id: str, arguments: Mapping[str, Json], editable: Iterable[str]) -> View:
    """The arguments that policy lets people change, as text fields (spec H21)."""
    schema = {
        "properties": {name: {"type": "string", "title": name, "default": str(arguments.get(name, ""))} for name in editable}
    }
    blocks = input_blocks(schema, None, ids.FIELD)
    return view("Edit and approve", blocks, ids.FORM_CONSENT_EDIT, question_id, "Approve as edited", "Back")


def details(card: QuestionView) -> View:
    """Everything about a question, whole: arguments with where they came from, and the records behind them."""
    payload = card.question.payload
    if "after" in payload:
        return view("Details", whole_text(difference(payload.get("before"), payload.get("after"))), ids.FORM_WORDS)
    blocks: list[Block] = [rich(line(t("Tool ", bold=True), t(str(payload.get("tool", "")), 300)))]
    for name, value in (payload.get("arguments") or {}).items():
        blocks.append(rich(line(t(f"{name}", 300, bold=True), *origin_parts(card, name))))
        blocks += whole_text(value if isinstance(value, str) else pretty(value))
    for name, origin in (payload.get("provenance") or {}).items():
        if record := origin.get("record"):
            blocks.append(rich(line(t(f"Record behind {name}", 300, bold=True)), bullets(record_lines(record, 60))))
    return view("Details", _fitting(blocks), ids.FORM_WORDS)


def call_log(calls: Sequence[ToolCallRecord]) -> View:
    """The whole log, each call in a block of its own."""
    blocks = [rich(bullets([row])) for row in log_rows(calls, 2500)] or [rich(line(t("Nothing ran.")))]
    return view("Call log", _fitting(blocks), ids.FORM_WORDS)


def whole(title: str, text: str) -> View:
    return view(title, _fitting(whole_text(text)), ids.FORM_WORDS)


def whole_text(text: str) -> list[Block]:
    """A long text in as many blocks as it needs."""
    return [rich(pre(piece, _PIECE)) for piece in pieces(text, _PIECE)] or [rich(line(t("(no text)")))]


def pretty(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def _fitting(blocks: list[Block]) -> list[Block]:
    if len(blocks) <= _MOST_BLOCKS:
        return blocks
    note = f"{len(blocks) - _MOST_BLOCKS} more parts don't fit into a Slack form; the journal has all of it."
    return [*blocks[:_MOST_BLOCKS], rich(line(t(note, bold=True)))]
