"""Modal views: a loading one to open at once, words, one-field reasons, the input form, whole texts and logs (spec B3-B5).

Pure. A form's `private_metadata` is the question's opaque id and nothing else; the channel to speak in comes from our settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.cards import ids
from bot.cards.consent import origin_parts
from bot.cards.differences import differences, in_words
from bot.cards.draft import log_rows
from bot.cards.elements import TITLE_TEXT, Block, Part, bullets, line, plain, pre, quote, rich, t
from bot.cards.forms import block_id, input_blocks
from bot.cards.resources import choice
from bot.cards.text import pieces
from bot.cards.words import record_lines, server_parts
from host.types import Json, ToolCallRecord
from host.views import QuestionView, ToolView

View = dict[str, Any]
_MOST_BLOCKS = 98
_PIECE = 2900
_FIELD = 3000
"""Characters that a field of a form can hold."""


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


def reason(
    title: str,
    callback_id: str,
    question_id: str,
    label: str,
    hint: str,
    submit: str,
    required: bool = True,
    further: Sequence[Block] = (),
) -> View:
    """One text field: why declined, why rejected, what to do differently; `further` fields stand below it."""
    element: Part = {"type": "plain_text_input", "action_id": ids.FIELD, "multiline": True, "max_length": 1500}
    block: Block = {
        "type": "input",
        "block_id": block_id(0),
        "label": plain(label, 200),
        "hint": plain(hint, 1900),
        "element": element,
        "optional": not required,
    }
    return view(title, [block, *further], callback_id, question_id, submit, "Back")


def work_with(ticket_id: str, listed: Mapping[str, str]) -> View:
    """Which listed resources the model reads for this ticket (spec H23); words where there are none."""
    asked = choice(listed, optional=False)
    if not asked:
        none = "No server lists a document that could be added. “Work this” works the ticket without."
        return words("Work with documents", none)
    return view("Work with documents", asked, ids.FORM_TICKET_WORK, ticket_id, "Work this", "Back")


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


def edit_arguments(
    question_id: str,
    arguments: Mapping[str, Json],
    editable: Iterable[str],
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    complaint: str = "",
) -> View:
    """The arguments that policy lets people change, as text fields (spec H21). What could not be taken comes back as it was
    `typed`, each error beside its field; `complaint` is what belongs to no field."""
    shown = shown_arguments(arguments, editable)
    beside = {block_id(n): f"{name}: {errors[name]}" for n, name in enumerate(shown) if errors and name in errors}
    blocks: list[Block] = [rich(line(t(complaint, 2000, bold=True)))] if complaint else []
    for block in input_blocks(edit_schema(shown), {**shown, **(typed or {})}, ids.FIELD):
        blocks.append(block)
        if why := beside.get(block.get("block_id", "")):
            blocks.append(rich(line(t(why, 2000, bold=True))))
    if left := [name for name in editable if name not in shown]:
        words = f"Too long to be edited here: {', '.join(left)}. Decline with a reason instead."
        blocks.append(rich(line(t(words, 1000))))
    if not shown:
        return view("Edit and approve", blocks or [rich(line(t("There is nothing to edit.")))], ids.FORM_WORDS, question_id)
    return view("Edit and approve", blocks, ids.FORM_CONSENT_EDIT, question_id, "Approve as edited", "Back")


def shown_arguments(arguments: Mapping[str, Json], editable: Iterable[str]) -> dict[str, str]:
    """The editable arguments as they are typed; those that no field can hold whole are left out."""
    texts = {name: value if isinstance(value := arguments.get(name, ""), str) else pretty(value) for name in editable}
    return {name: text for name, text in texts.items() if len(text) <= _FIELD}


def edit_schema(shown: Mapping[str, str]) -> Mapping[str, Json]:
    """The form's fields: what had a value needs one."""
    properties = {name: {"type": "string", "title": name, "maxLength": _FIELD} for name in shown}
    return {"properties": properties, "required": [name for name, text in shown.items() if text]}


def details(card: QuestionView | ToolView) -> View:
    """Everything about a question, whole: a tool's difference; or the address to open, arguments with where they came from, and
    the records behind them."""
    payload = card.question.payload
    if isinstance(card, ToolView):
        found = in_words(differences(payload.get("before"), payload.get("after")))
        return view("Details", _fitting(whole_text(found or "Nothing differs.")), ids.FORM_WORDS)
    blocks: list[Block] = [rich(line(t("Tool ", bold=True), t(str(payload.get("tool", "")), 300)))]
    if "url" in payload:
        blocks += [rich(line(t("The whole address", bold=True))), *whole_text(str(payload["url"]))]
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
