"""One person at a terminal as the host's desk: shows each question, reads the answer, goes through the front door (spec B12).

Implements `host.port.Desk`. Nothing is decided here: one person is one person, so that what takes two is refused by the host, or
here in words before anything is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from anyio import to_thread

from bot.cards.text import one_line
from bot.cards.words import OUTCOMES, seconds
from bot.cli.shared import foreign, out
from host.facade import Host
from host.forms import (
    ChoiceField,
    ChoicesField,
    Field,
    IntegerField,
    NumberField,
    TextField,
    YesNoField,
    read_answer,
    read_fields,
)
from host.types import (
    Actor,
    Answer,
    Flag,
    HostAnswer,
    Json,
    NotTaken,
    OutboxItem,
    OutboxKind,
    Question,
    QuestionKind,
    QuestionState,
)
from host.views import QuestionView, ToolView

Asker = Callable[[str], str]
"""Shows a prompt and returns what was typed; raises EOFError when nothing can be typed any more."""
_SHOWN_DEFAULTS = 120


class TerminalDesk:
    """Asks the moment a question's card is delivered. Drafts are for the end."""

    def __init__(self, host: Host, person: Actor | None, asker: Asker = input) -> None:
        """`person` is who sits there, None when nobody said: then questions are shown, and stay open."""
        self._host, self._person, self._asker = host, person, asker

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        if item.kind is OutboxKind.CARD and item.key.startswith("question:"):
            card = await self._host.card(item.key)
            match card:
                case ToolView():
                    _say(f"{card.headline}: see `deskhand servers pins`.")
                case QuestionView() if card.question.state is QuestionState.OPEN:
                    await self._decide(card)
                case _:
                    pass
        return {"receipt": "terminal"}

    async def _decide(self, card: QuestionView) -> None:
        question = card.question
        out.print(f"\n[bold]{foreign(question.server or 'desk')} asks:[/bold] {foreign(card.headline)}")
        if not card.ticket.sender_verified:
            out.print("[bold red]The sender is NOT verified.[/bold red]")
        _say(json.dumps(dict(question.payload.get("arguments") or {}), ensure_ascii=False))
        if self._person is None:
            _say("It stays open: nobody said who is here. Run this again with --as and your user id of [roles].")
            return
        allowed = await self._host.may_answer(question.id, self._person, declining=True)
        if not allowed.ok:
            _say(f"It stays open: {allowed.words}")
            return
        answer = await self._answer(question)
        if answer is None:
            return
        result = await self._host.answer(question.id, self._person, answer)
        _say(result.words)
        if isinstance(result, NotTaken) and answer.action in ("approve", "accept"):
            declined = await self._host.answer(question.id, self._person, Answer("decline", result.words))
            _say(f"So it is declined, and the run goes on. {declined.words}")

    async def _answer(self, question: Question) -> Answer | None:
        """None leaves the question open."""
        try:
            match question.kind:
                case QuestionKind.CONSENT:
                    return await self._consent(question)
                case QuestionKind.INPUT_REQUEST if "url" in question.payload:
                    return await self._address(question)
                case QuestionKind.INPUT_REQUEST:
                    return await self._form(question)
                case QuestionKind.MAY_HAVE_RUN:
                    return await self._ran(question)
                case QuestionKind.SIGN_OFF | QuestionKind.CHANGED_TOOL:
                    return None
                case _:
                    assert_never(question.kind)
        except EOFError:
            _say("\nNobody is there to answer: it stays open.")
            return None

    async def _consent(self, question: Question) -> Answer:
        if question.needed > 1:
            why = str(question.payload.get("needed_why") or f"it takes {question.needed} different people")
            _say(f"It can't be approved here: {why}, and at a terminal there is one. It is declined; Slack can ask several.")
            return Answer("decline", f"{why}; only one was there")
        if await self._yes("Allow it? [y/N] "):
            return Answer("approve")
        return Answer("decline", await self._ask("Why not? ") or "declined in the terminal")

    async def _address(self, question: Question) -> Answer:
        _say(str(question.payload["url"]))
        _say(f"It leads to {question.payload.get('domain') or '(no domain)'}. Deskhand does not open it.")
        for warning in question.payload.get("warnings") or ():
            out.print(f"[bold red]Warning:[/bold red] {foreign(str(warning))}")
        return await self._ended(await self._ask("Agree to open it? [y]es, [n]o, [c]ancel: "), {})

    async def _form(self, question: Question) -> Answer:
        """Every field in turn, those that could not be taken again, and once more the whole before it goes."""
        fields = read_fields(question.payload["schema"])
        if isinstance(fields, str):
            _say(f"It can't be shown: {fields}.")
            return Answer("cancel")
        said = await self._ask("Answer it? [y]es, [n]o, [c]ancel: ")
        typed: dict[str, Json] = {}
        left: Sequence[Field] = fields if _is_yes(said) else ()
        while left:
            for field in left:
                typed.update(await self._field(field))
            read = read_answer(fields, typed)
            for name, why in read.errors.items():
                out.print(f"[red]{foreign(name)}:[/red] {foreign(why)}")
            left = [field for field in fields if field.name in read.errors]
        content = read_answer(fields, typed).content if _is_yes(said) else {}
        if content:
            _say(json.dumps(dict(content), ensure_ascii=False))
            said = await self._ask("Send this answer? [y]es, [n]o, [c]ancel: ")
        return await self._ended(said, content)

    async def _ended(self, said: str, content: Mapping[str, Json]) -> Answer:
        if _is_yes(said):
            return Answer("accept", content=content)
        return Answer("cancel") if said.lower() in ("c", "cancel") else Answer("decline")

    async def _field(self, field: Field) -> Mapping[str, Json]:
        """What was typed for a field; nothing for an empty line, which takes the default."""
        if field.hint:
            _say(f"  ({field.hint})")
        for number, choice in enumerate(_choices(field), 1):
            _say(f"  {number}. {choice}")
        said = await self._ask(f"{field.title}{_note(field)}: ")
        return {field.name: _picked(field, said)} if said else {}

    async def _ran(self, question: Question) -> Answer | None:
        _say(f"May have run: {question.payload.get('why', '')}")
        said = (await self._ask("Did it run? [y]es, [n]o, or leave it open: ")).lower()
        if _is_yes(said):
            return Answer("it_ran")
        return Answer("it_did_not_run") if said in ("n", "no") else None

    async def _yes(self, prompt: str) -> bool:
        return _is_yes(await self._ask(prompt))

    async def _ask(self, prompt: str) -> str:
        """A server's words may stand in the prompt: on one line, with nothing in them that the terminal would obey."""
        return (await to_thread.run_sync(self._asker, f"{one_line(prompt, 400)} ")).strip()


def print_answer(answer: HostAnswer, flags: Sequence[Flag]) -> None:
    """The model's claim, what nothing supports in it, and what really ran (spec H14)."""
    out.print("\n[bold]Draft[/bold]")
    _say(answer.text or "(none)")
    for flag in flags:
        out.print(f"[red]flagged:[/red] {foreign(flag.sentence)}: {foreign(flag.why)}")
    out.print("\n[bold]What ran[/bold]")
    for call in answer.calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        note = f" · {call.note}" if call.note else ""
        _say(f"{call.name} {arguments}: {OUTCOMES[call.outcome]} · {seconds(call.duration_ms)}{note}")
    if not answer.calls:
        out.print("Nothing ran.")
    out.print(f"\n[bold]Stopped:[/bold] {answer.stop_reason.value.replace('_', ' ')}")


def _choices(field: Field) -> tuple[str, ...]:
    match field:
        case ChoiceField() | ChoicesField():
            return tuple(choice.title for choice in field.choices)
        case TextField() | NumberField() | IntegerField() | YesNoField():
            return ()
        case _:
            assert_never(field)


def _note(field: Field) -> str:
    match field:
        case YesNoField():
            kind = "yes or no"
        case ChoiceField():
            kind = "a number of the list"
        case ChoicesField():
            kind = "numbers of the list, separated by commas"
        case NumberField() | IntegerField():
            kind = "a number"
        case TextField():
            kind = field.format
        case _:
            assert_never(field)
    default = "" if field.default is None else f"empty: {str(field.default)[:_SHOWN_DEFAULTS]}"
    needed = "" if field.required else "optional"
    notes = ", ".join(one for one in (kind, needed, default) if one)
    return f" ({notes})" if notes else ""


def _picked(field: Field, said: str) -> Json:
    """A choice by its number; what is no number of the list goes on as it was typed, and is refused in words."""
    match field:
        case ChoiceField():
            return _by_number(field, said)
        case ChoicesField():
            return [_by_number(field, one.strip()) for one in said.split(",") if one.strip()]
        case _:
            return said


def _by_number(field: ChoiceField | ChoicesField, said: str) -> str:
    place = int(said) - 1 if said.isascii() and said.isdigit() else -1
    return field.choices[place].value if 0 <= place < len(field.choices) else said


def _is_yes(said: str) -> bool:
    return said.lower() in ("y", "yes")


def _say(words: str) -> None:
    out.print(foreign(words), soft_wrap=True)
