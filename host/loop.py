"""One run, one step at a time: the journal in, the next step out (spec H14, H15).

`steps.next_step` is pure. `Loop.advance` takes steps until the run waits for a person or ends; it keeps nothing between two of
them, so that this process or another goes on where the journal stands. Refuses to know servers (dispatch) and Slack.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

import anyio

from host import grounding, history, journal, prompt, review
from host.asks import edits_of
from host.calls import Away, Cleared, Context, Waiting
from host.catalog import Catalog
from host.checks import plain, unreadable_arguments
from host.config import HostConfig, Templates
from host.dispatch import Dispatcher
from host.errors import HostError, Unavailable
from host.history import RunLog, TurnLog
from host.known import facts
from host.lease import writing
from host.port import Clock
from host.questions import Ask, Questions, digest
from host.steps import STOPPED, Begin, CallModel, Review, RunCalls, Stop, next_step, over_limit, too_long
from host.store import outbox, servers, tickets
from host.store.engine import Store, Tx
from host.types import (
    Attached,
    Fact,
    Flag,
    Json,
    OutboxKind,
    Outcome,
    OutcomeKind,
    Question,
    QuestionKind,
    Run,
    StopReason,
    Ticket,
    TicketState,
    Tool,
    Turn,
)
from models.errors import ModelError, NotReadyError
from models.fingerprint import prefix_digest
from models.port import Model, ModelInfo, Reply, Request, Sampling, ToolSpec

logger = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=5)
"""How long a run is put off while its model is being made ready, or the server that people answered is not there."""

MAX_NAME = 200  # characters of a tool's name as a model may write it


class Loop:
    """Advances runs. One instance serves every ticket; it holds no state of any."""

    def __init__(
        self,
        store: Store,
        model: Model,
        catalog: Catalog,
        dispatcher: Dispatcher,
        questions: Questions,
        config: HostConfig,
        clock: Clock,
        sampling: Sampling,
    ) -> None:
        self._store, self._model, self._catalog = store, model, catalog
        self._dispatcher, self._questions = dispatcher, questions
        self._config, self._clock, self._sampling = config, clock, sampling

    async def advance(self, run: Run) -> None:
        """Take steps until the run waits or is done. Raises `StaleLease` when another worker took it over."""
        while True:
            async with self._store.read() as tx:
                ticket, _ = await tickets.ticket(tx, run.ticket_id)
                entries = await journal.entries(tx, run.ticket_id)
                cancelled = (await tickets.run(tx, run.id)).cancelled
            logs = history.runs(entries)
            log = next((one for one in logs if one.run_id == run.id), RunLog(run.id))
            if log.stopped is not None:
                async with self._store.write() as tx:
                    await tickets.finish(tx, run.id, log.stopped.reason)
                return
            match next_step(log, self._config.limits, cancelled):
                case Begin():
                    await self._begin(run)
                case CallModel(only_reply):
                    if not await self._call_model(run, ticket, logs, log, only_reply):
                        return
                case RunCalls(turn):
                    if await self._run_calls(run, ticket, logs, log, turn):
                        return
                case Review(text):
                    await self._review(run, ticket, logs, log, text)
                case Stop(reason, words):
                    await self._stop(run, ticket, logs, log, Stop(reason, words))
                    return

    async def _begin(self, run: Run) -> None:
        tools, attached = self._catalog.tools(), self._catalog.attached()
        stable = prompt.stable_messages(self._config.prompt, attached)
        seen = tuple(journal.ToolSeen(name=t.name, digest=t.digest, off=t.off) for t in tools)
        started = journal.Started(
            by=run.started_by.subject,
            user=run.started_by.user,
            model=self._model.info.name,
            tools=seen,
            prompt_digest=prefix_digest(stable, prompt.tool_specs(tools)),
            hint=run.hint,
            today=self._today().isoformat(),
            specs=prompt.tool_specs(tools),
            attached=attached,
            added=await self._added(run),
        )
        async with self._writing(run) as tx:
            await journal.append(tx, run.ticket_id, run.id, self._clock.now(), started)
            await tickets.set_ticket_state(tx, run.ticket_id, TicketState.WORKING)
            await self._redraw(tx, run)

    def _today(self) -> date:
        """The day that a prompt names, where people work; it stays the same inside a run (spec H24)."""
        zone = ZoneInfo(self._config.hours.zone) if self._config.hours else UTC
        return self._config.prompt.today or self._clock.now().astimezone(zone).date()

    async def _added(self, run: Run) -> tuple[Attached, ...]:
        """What a person added for this ticket (spec H23). One that can't be read any more stands there as a word about it."""
        found: list[Attached] = []
        async with self._store.read() as tx:
            frozen = await servers.frozen(tx)
        for uri in run.resources:
            try:
                if (server := self._catalog.server_of(uri)) in frozen:
                    raise Unavailable(f"{server} is frozen by {frozen[server]}")
                found += await self._catalog.read_listed((uri,))
            except HostError as error:
                found.append(Attached(uri=uri, server="desk", text=f"(it could not be read: {error})"))
        return tuple(found)

    # --- the model --------------------------------------------------------------------------------------------------

    async def _call_model(self, run: Run, ticket: Ticket, logs: list[RunLog], log: RunLog, only_reply: bool) -> bool:
        """One reply into the journal. False when the run ends here, or is put off because the model isn't there yet."""
        request, offered = await self._request(ticket, logs, log, only_reply)
        left = self._config.limits.deadline_seconds - log.busy_seconds
        reply: Reply | None = None
        try:
            with anyio.move_on_after(max(left, 0)):
                reply = await self._model.reply(request)
        except NotReadyError:
            async with self._writing(run) as tx:
                await tickets.put_off(tx, run.id, self._clock.now() + LOOK_AGAIN)
            return False
        except ModelError as error:
            await self._stop(run, ticket, logs, log, Stop(StopReason.FAILED, str(error)))
            return False
        if reply is None:
            await self._stop(run, ticket, logs, log, too_long(self._config.limits))
            return False
        entry = _replied(run, log, reply, only_reply, offered, model_words(self._model.info))
        async with self._writing(run) as tx:
            await journal.append(tx, run.ticket_id, run.id, self._clock.now(), entry)
        return True

    async def _request(
        self, ticket: Ticket, logs: list[RunLog], log: RunLog, only_reply: bool
    ) -> tuple[Request, tuple[str, ...]]:
        known = facts(ticket, history.records(logs), self._config)
        async with self._store.read() as tx:
            frozen = await servers.frozen(tx)
        turns = _turns(log)
        tools, specs, attached, added = self._held(log)
        unasked = review.unasked(ticket, log.started.hint if log.started else "", self._config.review)
        closed = {t.name for t in tools if t.server in frozen} | unasked
        narrowed = {t.name: None if t.name in closed else self._narrow(t, known) for t in tools if not t.off}
        may_reply = prompt.reply_allowed(ticket, known, turns, self._config.lookup_first)
        offers = prompt.offers(tools, narrowed, reply_allowed=may_reply, only_reply=only_reply)
        offers = offers or prompt.offers(tools, {}, reply_allowed=True, only_reply=True)
        messages = prompt.messages(
            self._config.prompt,
            attached,
            ticket,
            turns,
            date.fromisoformat(log.started.today) if log.started and log.started.today else self._today(),
            language=ticket.language or "",
            max_chars=self._config.limits.result_max_chars,
            added=added,
        )
        return Request(messages, specs, offers, self._sampling), tuple(offer.name for offer in offers)

    def _held(self, log: RunLog) -> tuple[tuple[Tool, ...], tuple[ToolSpec, ...], tuple[Attached, ...], tuple[Attached, ...]]:
        """The tools that may be offered, and the prompt's as they were when the run began: they never change inside it. What
        changed since, or is new, is not offered (spec H24)."""
        live, started = self._catalog.tools(), log.started
        if started is None or not started.specs:
            return live, prompt.tool_specs(live), self._catalog.attached(), ()
        seen = {tool.name: tool.digest for tool in started.tools if not tool.off}
        same = tuple(tool for tool in live if seen.get(tool.name) == tool.digest)
        return same, started.specs, started.attached, started.added

    def _narrow(self, tool: Tool, facts: tuple[Fact, ...]) -> Mapping[str, object] | None:
        return grounding.narrow(tool, facts, self._config.grounding)

    # --- calls ------------------------------------------------------------------------------------------------------

    async def _run_calls(self, run: Run, ticket: Ticket, logs: list[RunLog], log: RunLog, turn: TurnLog) -> bool:
        """One after the other, in order (spec H11). True when the run rests until a person answers."""
        for call in turn.calls:
            if call.ended is not None:
                continue
            context = Context(run, ticket, facts(ticket, history.records(logs), self._config), history.records(logs))
            refused = None if call.intended or call.asked else over_limit(log, turn, call, self._config.limits)
            if refused is not None:
                await self._dispatcher.refuse(context, call, refused)
                continue
            match await self._dispatcher.dispatch(context, call):
                case Waiting():
                    async with self._store.write() as tx:
                        return await tickets.wait(tx, run.id)
                case Away():
                    async with self._writing(run) as tx:
                        await tickets.put_off(tx, run.id, self._clock.now() + LOOK_AGAIN)
                    return True
                case Outcome():
                    pass
        return False

    async def leave_calls(self, tx: Tx, run: Run) -> None:
        """A run ends by an error of ours: what it began may have run, and is said so in the log (spec H13)."""
        log = history.fold(await journal.entries(tx, run.ticket_id), run.id)
        for call in log.calls:
            if call.intended is not None and call.ended is None:
                await self._dispatcher.leave(tx, run, call, call.intended)

    async def judge_edits(self, question: Question, edits: Mapping[str, Json]) -> Cleared | Outcome:
        """What the checkpoint says of a call whose arguments a person changed, before that counts as approved (spec H21)."""
        async with self._store.read() as tx:
            ticket, _ = await tickets.ticket(tx, question.ticket_id)
            run = await tickets.run(tx, question.run_id)
            logs = history.runs(await journal.entries(tx, question.ticket_id))
        call = next((c for log in logs for c in log.calls if c.written.id == question.call_id), None)
        if call is None:
            return Outcome(OutcomeKind.FAILED, "the call that this is about is gone")
        context = Context(run, ticket, facts(ticket, history.records(logs), self._config), history.records(logs))
        return await self._dispatcher.judge(context, call.written.name, {**call.written.arguments, **edits_of(call), **edits})

    # --- the draft --------------------------------------------------------------------------------------------------

    async def _review(self, run: Run, ticket: Ticket, logs: list[RunLog], log: RunLog, text: str) -> None:
        flags = self.flags(ticket, logs, text)
        final = not flags or log.corrections > 0
        drafted = journal.Drafted(text=text, flags=flags, final=final)
        async with self._writing(run) as tx:
            await journal.append(tx, run.ticket_id, run.id, self._clock.now(), drafted)

    def flags(self, ticket: Ticket, logs: list[RunLog], text: str) -> tuple[Flag, ...]:
        """What in a text nothing supports; also for texts that people edited (spec H26).

        A ticket whose request was not met goes to a person, so that saying so is true (spec H25).
        """
        records = history.records(logs)
        return review.review(
            text,
            ticket,
            records,
            (*self._catalog.attached(), *history.resources(logs)),
            self._config.review,
            self._config.servers,
            self._config.grounding,
            handed_over=bool(review.unmet(ticket, records, self._config.review)),
        )

    async def _stop(self, run: Run, ticket: Ticket, logs: list[RunLog], log: RunLog, stop: Stop) -> None:
        draft = history.last_draft(log)
        unmet = review.unmet(ticket, history.records(logs), self._config.review)
        if unmet and draft is not None and stop.reason is not StopReason.CANCELLED:
            stop = Stop(StopReason.NEEDS_PERSON, unmet)  # whatever the draft says (spec H25); without one, why it ended says more
        async with self._writing(run) as tx:
            if (await tickets.run(tx, run.id)).cancelled:  # by a person, a moment ago
                stop = STOPPED
            stopped = journal.Stopped(reason=stop.reason, words=stop.words)
            await journal.append(tx, run.ticket_id, run.id, self._clock.now(), stopped)
            await tickets.finish(tx, run.id, stop.reason)
            await self._questions.cancel(tx, run.id, "the run ended")
            untouched = log.started is None and all(one.run_id == run.id for one in logs)
            await tickets.set_ticket_state(tx, run.ticket_id, TicketState.NEW if untouched else TicketState.WAITING_FOR_US)
            if draft is not None and stop.reason is not StopReason.CANCELLED:
                flags = draft.flags if draft.final else self.flags(ticket, logs, draft.text)  # more may have run since
                await self._ask_sign_off(tx, run, ticket, draft.model_copy(update={"flags": flags}), stop)
            await self._redraw(tx, run)
        logger.info("run_ended run=%s stop=%s model_calls=%d", run.id, stop.reason.value, len(log.turns))

    async def _ask_sign_off(self, tx: Tx, run: Run, ticket: Ticket, draft: journal.Drafted, stop: Stop) -> None:
        text = prompt.wrap(draft.text, self._template(ticket), ticket.sender_name)
        payload = {
            "text": text,
            "flags": [{"sentence": f.sentence, "why": f.why, "tag": f.tag} for f in draft.flags],
            "stop_reason": stop.reason.value,
            "words": stop.words,
        }
        bound = digest(prompt.REPLY, {"text": text})
        await self._questions.ask(tx, run, Ask(QuestionKind.SIGN_OFF, "", "desk", ("staff", "lead"), bound, "", payload))

    def _template(self, ticket: Ticket) -> Templates:
        known = self._config.templates
        return known.get(ticket.language or "") or known.get("en") or Templates(greeting="Hello {name},", signature="")

    def _writing(self, run: Run) -> AbstractAsyncContextManager[Tx]:
        return writing(self._store, run, self._clock)

    async def _redraw(self, tx: Tx, run: Run) -> None:
        now = self._clock.now()
        await outbox.put(tx, OutboxKind.CARD, f"ticket:{run.ticket_id}", run.ticket_id, now)
        if run.queue_run:
            await outbox.put(tx, OutboxKind.CARD, f"progress:{run.queue_run}", "", now)


def _turns(log: RunLog) -> tuple[Turn, ...]:
    """What the model reads of this run: a person's hint first, then each turn with its outcomes and the host's word after it."""
    hint = log.started.hint if log.started else ""
    first = (Turn("", (), {}, note=f"A person looked at an earlier draft and asks: {hint}"),) if hint else ()
    return first + tuple(turn.turn(_note(turn)) for turn in log.turns)


def _note(turn: TurnLog) -> str:
    if turn.drafted is not None and not turn.drafted.final:
        return review.correction(turn.drafted.flags)
    return ""


def model_words(info: ModelInfo) -> str:
    """Who wrote a reply, so that a recorded one is never taken for a live one."""
    match info.kind:
        case "recorded":
            return f"{info.name}, from a recording"
        case "scripted":
            return "a script"
        case "llama" | "remote":
            return info.name


def _replied(run: Run, log: RunLog, reply: Reply, only_reply: bool, offered: tuple[str, ...], model: str) -> journal.Replied:
    first = len(log.calls) + 1
    calls = [(call.name, call.arguments) for call in reply.calls]
    if not calls and reply.text.strip() and not reply.unreadable:
        calls = [(prompt.REPLY, {"text": reply.text.strip()})]  # words without a call are a draft (spec M1)
    written = [_written(f"{run.id}.c{first + i}", name, arguments) for i, (name, arguments) in enumerate(calls)]
    return journal.Replied(
        raw=plain(reply.raw),
        text=plain(reply.text) if reply.calls else "",
        calls=tuple(written),
        unreadable=reply.unreadable or ("" if written else "the reply held neither a call nor words"),
        only_reply=only_reply,
        model=model,
        offered=offered,
        seconds=reply.usage.seconds,
        prompt_tokens=reply.usage.prompt_tokens,
        evaluated_tokens=reply.usage.evaluated_tokens,
        sampled_tokens=reply.usage.sampled_tokens,
        forced_tokens=reply.usage.forced_tokens,
    )


def _written(call_id: str, name: str, arguments: Json) -> journal.CallWritten:
    why = unreadable_arguments(arguments)
    kept = {} if why else arguments
    return journal.CallWritten(id=call_id, name=plain(name)[:MAX_NAME], arguments=kept, unreadable=why)
