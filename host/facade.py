"""The host's front door: what listeners, the mailroom and the commands may ask of it.

Every permission is decided here or in `questions`; whoever calls only brings an `Actor` whose roles the configuration gave it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from host import history, journal, results
from host.amounts import parse_typed_number
from host.catalog import Catalog, ChangedTool
from host.checks import plain, too_deep
from host.config import HostConfig
from host.errors import NotFound
from host.grounding import says_nothing
from host.loop import Loop
from host.mask import mask_cards
from host.port import Clock, People
from host.questions import Questions, digest
from host.queue import Queue
from host.score import TicketResult
from host.shown import Health, Shown
from host.signal import Signal
from host.store import outbox, servers, tickets
from host.store import questions as question_rows
from host.store.engine import Store, Tx
from host.types import (
    Actor,
    Answer,
    AnswerResult,
    Flag,
    HostAnswer,
    Json,
    NotTaken,
    OutboxKind,
    Outcome,
    Question,
    QuestionKind,
    QuestionState,
    Taken,
    Ticket,
    TicketState,
    Tool,
)
from host.views import (
    Card,
    ReminderView,
    Said,
    StatusView,
    by_sentence,
)
from models.port import Model

MAX_SUBJECT, MAX_BODY = 1_000, 100_000  # characters
WORKERS = frozenset({"staff", "lead", "admin"})


class Host:
    """Everything the outside may do. Built by the wiring."""

    def __init__(
        self,
        *,
        store: Store,
        queue: Queue,
        loop: Loop,
        questions: Questions,
        catalog: Catalog,
        servers_health: Health,
        config: HostConfig,
        clock: Clock,
        changed: Signal,
        model: Model,
        people: People,
    ) -> None:
        self._store, self._queue, self._loop = store, queue, loop
        self._questions, self._catalog, self._health = questions, catalog, servers_health
        self._config, self._clock, self._changed, self._model = config, clock, changed, model
        self._shown = Shown(store, catalog, servers_health, config, model, people)

    # --- work -------------------------------------------------------------------------------------------------------

    async def intake(self, ticket: Ticket) -> bool:
        """Take a ticket in; False when its intake key is known already (spec B11): nothing is done then.

        What no database could hold is kept as its escape, card numbers are masked (spec H31), and of a body or a subject beyond
        all measure the beginning is kept.
        """
        texts = {name: plain(getattr(ticket, name)) for name in ("subject", "body", "sender_mail", "sender_name")}
        texts |= {name: mask_cards(texts[name]) for name in ("subject", "body", "sender_name")}
        texts["subject"], texts["body"] = _within(texts["subject"], MAX_SUBJECT), _within(texts["body"], MAX_BODY)
        return await self._queue.intake(replace(ticket, **texts))

    async def work(self, ticket_id: str, actor: Actor, resources: tuple[str, ...] = ()) -> Said:
        """Start a run over one ticket (staff, leads, admins), with listed resources added for it alone (spec H23)."""
        if not actor.roles & WORKERS:
            return Said(False, "Only support staff, leads and admins may start work on a ticket.")
        try:
            for uri in resources:
                self._catalog.server_of(uri)
        except NotFound as error:
            return Said(False, f"Nothing was started: {error}.")
        async with self._store.write() as tx:
            _, state = await tickets.ticket(tx, ticket_id)
            if state is TicketState.DONE:
                return Said(False, f"{ticket_id} is done already.")
            run = await self._queue.start(tx, ticket_id, actor, resources=resources)
        self._changed.ring()
        return Said(True, f"{ticket_id} is being worked.") if run else Said(False, f"{ticket_id} is under way already.")

    async def run_queue(self, actor: Actor, count: int | None) -> Said:
        """Start a queue run over `count` waiting tickets, None for all (admins)."""
        if "admin" not in actor.roles:
            return Said(False, "Only an admin may start a queue run.")
        queue_run = await self._queue.start_many(actor, count)
        if not queue_run.total:
            return Said(False, "No ticket is waiting to be worked.")
        return Said(True, f"Working {queue_run.total} ticket(s); the progress message in the channel tells how far it is.")

    async def stop(self, actor: Actor, ticket_id: str | None = None) -> Said:
        """Stop every run, or one ticket's, at once (admins)."""
        if "admin" not in actor.roles:
            return Said(False, "Only an admin may stop runs.")
        stopped = await self._queue.stop(actor, ticket_id)
        return Said(bool(stopped), f"Stopped {stopped} run(s)." if stopped else "Nothing is running.")

    async def freeze(self, server: str, actor: Actor) -> Said:
        return await self._set_frozen(server, actor, actor.name or actor.user)

    async def unfreeze(self, server: str, actor: Actor) -> Said:
        return await self._set_frozen(server, actor, "")

    async def _set_frozen(self, server: str, actor: Actor, by: str) -> Said:
        if "admin" not in actor.roles:
            return Said(False, "Only an admin may freeze or unfreeze a server.")
        if server not in self._config.servers:
            return Said(False, f"There is no server {server!r}. The servers are: {', '.join(self._config.servers)}.")
        async with self._store.write() as tx:
            await servers.freeze(tx, server, by)
            entry = journal.Freeze(server=server, by=actor.subject, frozen=bool(by))
            await journal.append(tx, journal.HOUSE, "", self._clock.now(), entry)
        return Said(True, f"{server} is frozen: no call reaches it." if by else f"{server} is in use again.")

    # --- questions --------------------------------------------------------------------------------------------------

    async def may_answer(self, question_id: str, actor: Actor, declining: bool = False) -> Said:
        """Whether this person may answer now; for opening a form. Checked again at submit. `declining`: who approved already, or
        may not release, may still say no."""
        refused = await self._questions.may_answer(question_id, actor, Answer("decline") if declining else None)
        return Said(refused is None, refused.words if refused else "")

    async def answer(self, question_id: str, actor: Actor, answer: Answer) -> AnswerResult:
        """Answer a question once (spec H18, H19): role, state and digests are checked here and nowhere else."""
        if too_deep(answer.content):
            return NotTaken("The answer is nested too deep to be read. Nothing was changed.")
        answer = replace(answer, reason=plain(answer.reason), text=plain(answer.text))
        async with self._store.read() as tx:
            question = await question_rows.get(tx, question_id)
        if question.kind is QuestionKind.SIGN_OFF:
            return await self._sign_off(question, actor, answer)
        if question.kind is QuestionKind.CHANGED_TOOL and answer.action == "accept":
            return await self._accept_tool(question_id, actor, answer)
        if question.kind is QuestionKind.CONSENT and answer.action == "approve" and answer.content:
            return await self._approve_edited(question, actor, answer)
        return await self._questions.answer(question_id, actor, answer)

    async def _approve_edited(self, question: Question, actor: Actor, answer: Answer) -> AnswerResult:
        """Edited arguments go through the whole checkpoint before they count as approved, and the approval is bound to what came
        out of it (spec H21)."""
        refused = await self._questions.may_answer(question.id, actor, answer)
        if refused is not None:
            return refused
        read = self._read_edits(question, answer.content)
        if isinstance(read, NotTaken):
            return read
        judged = await self._loop.judge_edits(question, read)
        if isinstance(judged, Outcome):
            return NotTaken(f"Not approved: {judged.why}.", dict.fromkeys(list(read)[:1], judged.why))
        bound = digest(judged.tool.name, judged.arguments)
        return await self._questions.answer(question.id, actor, replace(answer, content=read), bound=bound)

    def _read_edits(self, question: Question, typed: Mapping[str, Json]) -> Mapping[str, Json] | NotTaken:
        """What a person typed, as the tool wants it: an amount that could be read in two ways is refused (spec H21)."""
        tool = self._catalog.find(str(question.payload["tool"]))
        fields = tool.schema.get("properties", {}) if tool is not None else {}
        read: dict[str, Json] = {}
        for name, value in typed.items():
            if isinstance(value, str) and _a_number(fields.get(name, {})):
                try:
                    number = parse_typed_number(value)
                except ValueError as error:
                    return NotTaken(f"Not approved: {error}.", {name: str(error)})
                value = int(number) if number == int(number) else float(number)
            read[name] = value
        return read

    async def _sign_off(self, question: Question, actor: Actor, answer: Answer) -> AnswerResult:
        refused = await self._unfit_to_send(question, actor, answer) or self._unlisted(answer)
        if refused is not None:
            return refused
        return await self._questions.answer(question.id, actor, answer, self._after_sign_off(actor))

    def _unlisted(self, answer: Answer) -> NotTaken | None:
        """Resources that are added when a ticket is worked again have to be listed (spec H23)."""
        try:
            for uri in _added(answer):
                self._catalog.server_of(uri)
        except NotFound as error:
            return NotTaken(f"Nothing was started: {error}.", {"resources": str(error)})
        return None

    async def _unfit_to_send(self, question: Question, actor: Actor, answer: Answer) -> NotTaken | None:
        """A flagged text is refused, or needs a second confirmation; edited text is read again (spec H25, H26)."""
        if answer.action not in ("send", "edit_and_send"):
            return None
        not_allowed = await self._questions.may_answer(question.id, actor)
        if not_allowed is not None:
            return not_allowed
        if self._config.pilot:
            return NotTaken("This is a pilot: drafts are shown, nothing is sent.")
        text = answer.text if answer.action == "edit_and_send" else str(question.payload["text"])
        if says_nothing(text):
            return NotTaken("The reply is empty. Write what the customer should read.", {"text": "This is empty."})
        flags = await self._flags(question, text)
        if not flags or (self._config.review.on_flag == "confirm" and answer.content.get("confirmed") is True):
            return None
        words = "; ".join(f"“{flag.sentence}” ({flag.why})" for flag in by_sentence(flags))
        advice = "Edit the reply, or work the ticket again." if self._config.review.on_flag == "refuse" else "Confirm to send."
        return NotTaken(f"Not sent: the reply says what nothing supports: {words}. {advice}", {"text": words})

    async def _flags(self, question: Question, text: str) -> tuple[Flag, ...]:
        async with self._store.read() as tx:
            ticket, _ = await tickets.ticket(tx, question.ticket_id)
            logs = history.runs(await journal.entries(tx, question.ticket_id))
        return self._loop.flags(ticket, logs, text)

    def _after_sign_off(self, actor: Actor) -> Callable[[Tx, Question], Awaitable[None]]:
        async def then(tx: Tx, question: Question) -> None:
            assert question.answer is not None, "it was answered a moment ago"
            match question.answer.action:
                case "send" | "edit_and_send":
                    await self._put_mail(tx, question, question.answer.text or str(question.payload["text"]))
                case "work_again":
                    hint, resources = question.answer.reason, _added(question.answer)
                    await self._queue.start(tx, question.ticket_id, actor, hint=hint, resources=resources)
                case _:
                    await tickets.set_ticket_state(tx, question.ticket_id, TicketState.WAITING_FOR_US)

        return then

    async def _put_mail(self, tx: Tx, question: Question, text: str) -> None:
        ticket, _ = await tickets.ticket(tx, question.ticket_id)
        payload = {
            "question_id": question.id,
            "run_id": question.run_id,
            "to": ticket.sender_mail,
            "subject": ticket.subject if ticket.subject.lower().startswith("re:") else f"Re: {ticket.subject}",
            "text": text,
        }
        await outbox.put(tx, OutboxKind.MAIL, f"mail:{question.id}", ticket.id, self._clock.now(), payload)

    async def _accept_tool(self, question_id: str, actor: Actor, answer: Answer) -> AnswerResult:
        """Pins are written in a transaction of their own, so after the answer's. Killed in between, the tool stays off and people
        are asked once more. Refused when it changed again since it was shown."""
        async with self._store.read() as tx:
            question = await question_rows.get(tx, question_id)
        shown = (str(question.payload["tool"]), question.definition)
        if question.state is QuestionState.OPEN and shown not in [(c.name, c.digest) for c in self._catalog.pending_changes()]:
            return NotTaken(f"Nothing was accepted: {shown[0]} is no longer as it is shown here. A newer card comes.")
        result = await self._questions.answer(question_id, actor, answer)
        if isinstance(result, Taken):
            try:
                await self._catalog.accept(*shown)
            except NotFound as error:  # it changed in this very moment
                async with self._store.write() as tx:
                    await self._questions.did_not_count(tx, question_id, str(error))
                return NotTaken(f"Nothing was accepted: {error}.")
        return result

    # --- what is shown ----------------------------------------------------------------------------------------------

    async def tools(self) -> tuple[Tool, ...]:
        return self._catalog.tools()

    async def changed_tools(self) -> tuple[ChangedTool, ...]:
        """Tools that are off until somebody accepts what their server says of them now (spec H7)."""
        return self._catalog.pending_changes()

    async def accept_tool(self, change: ChangedTool, actor: Actor) -> Said:
        """Accept exactly the definition that was shown (admins)."""
        if "admin" not in actor.roles:
            return Said(False, "Only an admin may accept a changed tool.")
        await self._catalog.accept(change.name, change.digest)
        return Said(True, f"{change.name} is accepted as its server describes it now.")

    async def status(self) -> StatusView:
        return await self._shown.status()

    async def card(self, key: str) -> Card:
        """The state behind a card's key ("ticket:T-9001", "question:…", "progress:…"). Raises `NotFound`."""
        return await self._shown.card(key)

    async def reminder(self, question_id: str, number: int) -> ReminderView | None:
        """What a reminder says; None when its question has an end by now."""
        return await self._shown.reminder(question_id, number)

    async def answer_of(self, ticket_id: str) -> HostAnswer | None:
        """What the ticket's latest run gave: text, stop reason and call log; None while it is under way (spec H14)."""
        async with self._store.read() as tx:
            run = await tickets.latest_run(tx, ticket_id)
            entries = await journal.entries(tx, ticket_id)
        return history.answer(history.fold(entries, run.id)) if run is not None else None

    async def resources(self) -> Mapping[str, str]:
        """Every listed resource that a person may add for one ticket: its address and its server (spec H23)."""
        return self._catalog.listed_resources()

    async def results(self, ticket_ids: tuple[str, ...]) -> tuple[TicketResult, ...]:
        """What became of tickets, for the figures of a queue run (spec H29)."""
        async with self._store.read() as tx:
            return tuple([results.result(t, history.runs(await journal.entries(tx, t))) for t in ticket_ids])

    async def receipt_of(self, key: str) -> dict[str, object] | None:
        """Where a card was posted, None before it was."""
        async with self._store.read() as tx:
            found = await outbox.by_key(tx, key)
        return dict(found[0].receipt) if found and found[0].receipt else None


def _added(answer: Answer) -> tuple[str, ...]:
    listed = answer.content.get("resources", ())
    return tuple(str(uri) for uri in listed) if isinstance(listed, list | tuple) else (str(listed),)


def _within(text: str, most: int) -> str:
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]}\n[… {left:,} more characters came and were left out]"


def _a_number(field: Mapping[str, Json]) -> bool:
    """Whether a parameter takes numbers and no text; it may be optional."""
    branches = [field, *field.get("anyOf", ()), *field.get("oneOf", ())]
    kinds = [branch.get("type") for branch in branches if isinstance(branch, Mapping)]
    flat = {kind for each in kinds for kind in (each if isinstance(each, list) else [each])}
    return bool(flat & {"number", "integer"}) and "string" not in flat
