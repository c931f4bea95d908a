"""The single path to a tool call; its order reads top to bottom in `Dispatcher._advance` and `Checkpoint.check` (spec H8).

*cancelled or frozen?* → *readable?* → *known and pinned?* → *arguments valid?* → *grounded?* → *policy* → *person*, when asked →
cancelled, frozen and pin looked at once more → *run*, with a timeout. In doubt it refuses. Waiting for a person holds nothing in
memory: `dispatch` returns `Waiting` and is called again with what the journal holds then (spec H15).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from functools import partial

import anyio

from host import journal, policy
from host.asks import (
    as_answered,
    ask_input,
    edits_of,
    elicited,
    told_of_edits,
    unanswered,
)
from host.calls import (
    AWAY,
    Allowed,
    Away,
    Cleared,
    Context,
    Waiting,
    after_fault,
    anew_words,
    fill,
    key,
    log_line,
    lost_sight,
    refusal,
    row,
)
from host.catalog import Catalog
from host.checkpoint import Checkpoint
from host.checks import other_customers
from host.config import HostConfig, ReadBack
from host.consent import Consent, settings_of
from host.errors import Answered, BadResult, NotSent, ServerError, StaleLease, StateRefused, TimedOut, Unknown, where
from host.forms import read_requests
from host.history import CallLog
from host.lease import writing
from host.open_calls import OpenCall, OpenCalls
from host.port import Clock
from host.prompt import READ_RESOURCE, REPLY
from host.questions import Questions
from host.sessions import CANCEL, AskDuring, Sessions
from host.store import journal as journal_rows
from host.store import outbox, servers, tickets
from host.store.codec import dumps, iso
from host.store.engine import Store, Tx
from host.types import (
    Finished,
    Json,
    NeedsInput,
    OutboxKind,
    Outcome,
    OutcomeKind,
    Question,
    QuestionKind,
    QuestionState,
    Run,
    RunState,
    ServerReply,
    Ticket,
    Tool,
)

logger = logging.getLogger(__name__)


PATIENCE = timedelta(minutes=15)
"""How long an answer is kept for a server that is not there."""
LONGEST_PAUSE = 2.0
"""Seconds at most between two rounds of a server that asks nothing and only wants to be called again."""


class Dispatcher:
    """Everything that reaches a server as a call goes through `dispatch`, read-backs and the reply included."""

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        open_calls: OpenCalls,
        catalog: Catalog,
        questions: Questions,
        config: HostConfig,
        clock: Clock,
    ) -> None:
        self._store, self._sessions, self._open, self._catalog = store, sessions, open_calls, catalog
        self._questions, self._config, self._clock = questions, config, clock
        self._checkpoint = Checkpoint(store, catalog, config, clock)
        self._consent = Consent(store, questions, config, clock)

    async def dispatch(self, context: Context, call: CallLog) -> Outcome | Waiting | Away:
        """Bring a call to its outcome, or to the question it waits for. An error of ours in a check becomes an outcome.

        `Away`: people answered, and the server is not there just now. Their answer is kept for a while, and nothing is decided.
        """
        if call.ended is not None:
            return call.ended.outcome
        started = time.monotonic()
        try:
            result = await self._advance(context, call)
        except StaleLease:
            raise
        except Exception as error:  # noqa: BLE001  the dispatcher's edge: one bad call never stops the queue (spec H28)
            logger.error("dispatch failed: %s run=%s at %s", type(error).__name__, context.run.id, where(error))
            result = after_fault(call, error)
        if isinstance(result, Outcome) and result.step == AWAY and self._lately_answered(call):
            return Away()
        if isinstance(result, Outcome) and result.kind is OutcomeKind.MAY_HAVE_RUN:
            result = await self._consent.looks(context, call, result)
        if isinstance(result, Outcome):
            if call.intended is not None:  # it was begun: with what, the model is told whichever way it ended
                result = told_of_edits(result, call)
            await self._end(context, call, result, round((time.monotonic() - started) * 1000))
        return result

    def _lately_answered(self, call: CallLog) -> bool:
        return call.answered_at is not None and self._clock.now() - call.answered_at < PATIENCE

    async def refuse(self, context: Context, call: CallLog, outcome: Outcome) -> None:
        """End a call that the loop's limits forbid, before any check (spec H14)."""
        await self._end(context, call, outcome, 0)

    async def leave(self, tx: Tx, run: Run, call: CallLog, intended: journal.Intended) -> None:
        """Give a begun call up in the caller's transaction: its run ended by an error of ours."""
        self._open.drop(call.written.id)
        kind = OutcomeKind.MAY_HAVE_RUN if intended.effect == "effect" else OutcomeKind.FAILED
        outcome = Outcome(kind, "an error of the program ended the run before the answer was written down", step="run")
        now = self._clock.now()
        ended = journal.Ended(
            call_id=call.written.id,
            tool=intended.tool,
            server=intended.server,
            arguments=intended.arguments,
            outcome=outcome,
            allowed_by=intended.allowed_by,
        )
        await journal.append(tx, run.ticket_id, run.id, now, ended)
        await journal_rows.log_call(tx, row(run, ended.call_id, ended.tool, kind.value, 0, iso(now), intended))

    async def judge(self, context: Context, name: str, arguments: Mapping[str, Json]) -> Cleared | Outcome:
        """What the checkpoint says of a call, short of asking people; nothing is sent. For arguments that a person edits."""
        return await self._checkpoint.check(context, name, arguments)

    async def _advance(self, context: Context, call: CallLog) -> Outcome | Waiting:
        if call.intended is not None:
            return await self._resume(context, call, call.intended)
        arguments = {**call.written.arguments, **edits_of(call)}  # an edited call goes through the whole checkpoint (spec H21)
        cleared = await self._checkpoint.check(context, call.written.name, arguments, unreadable=call.written.unreadable)
        if isinstance(cleared, Outcome):
            return cleared
        allowed = await self._consent.person(context, call, cleared)
        if not isinstance(allowed, Allowed):
            return allowed
        refused = await self._checkpoint.look_again(context.run, cleared.tool)
        return refused or await self._run(context, call, cleared, allowed)

    # --- running it -------------------------------------------------------------------------------------------------

    async def _run(self, context: Context, call: CallLog, cleared: Cleared, allowed: Allowed) -> Outcome | Waiting:
        if cleared.tool.name == REPLY:
            return Outcome(OutcomeKind.RESULT, text=str(cleared.arguments["text"]))
        if cleared.tool.name == READ_RESOURCE:
            call.allowed_by = allowed.by
            return await self._read_resource(str(cleared.arguments["uri"]))
        intended = self._intended(context, call, cleared, allowed)
        now = self._clock.now()
        async with self._writing(context.run) as tx:  # a stop, a freeze or a limit comes before this write, or after the intent
            stopped = await self._checkpoint.stopped(tx, context.run, cleared.tool.name)
            if stopped is not None:
                return stopped
            id_, tool = call.written.id, cleared.tool
            verdict = await self._checkpoint.verdict(tx, context, tool, cleared.arguments, cleared.provenance, but=id_)
            if policy.STRICTNESS[verdict.decision] > policy.STRICTNESS[cleared.verdict.decision]:
                return refusal(f"what ran meanwhile made the policy stricter ({verdict.why})", "policy")
            await journal.append(tx, context.ticket.id, context.run.id, now, intended)
            if tool.effect == "effect":
                await journal_rows.log_call(tx, row(context.run, id_, tool.name, journal_rows.BEGUN, 0, iso(now), intended))
        call.intended = intended
        return await self._send(context, call, intended, cleared.tool)

    def _intended(self, context: Context, call: CallLog, cleared: Cleared, allowed: Allowed) -> journal.Intended:
        tool, settings = cleared.tool, settings_of(self._config, cleared.tool)
        amount = policy.amount_of(settings.amount, cleared.arguments, cleared.provenance) if settings.amount else None
        return journal.Intended(
            call_id=call.written.id,
            tool=tool.name,
            server=tool.server,
            arguments=cleared.arguments,
            effect=tool.effect,
            definition=tool.digest,
            allowed_by=allowed.by,
            acting=allowed.acting,
            approved_by=allowed.users[-1] if allowed.users else "",
            approvers=allowed.users,
            key=key(context.ticket, cleared) if tool.idempotency_param else "",
            generation=self._sessions.process(tool.server),
            provenance=cleared.provenance,
            amount="" if amount is None else str(amount),
        )

    async def _read_resource(self, uri: str) -> Outcome:
        """A resource that the host lets the model read (spec H23); it grounds nothing."""
        server = self._catalog.server_of(uri)
        async with self._store.read() as tx:
            frozen = await servers.frozen(tx)
        if server in frozen:
            return refusal(f"the server {server} is frozen by {frozen[server]}", "frozen")
        try:
            return Outcome(OutcomeKind.RESULT, text=await self._sessions.read_resource(server, uri))
        except ServerError as error:
            return Outcome(OutcomeKind.FAILED, str(error), step="run")

    async def _send(
        self,
        context: Context,
        call: CallLog,
        intended: journal.Intended,
        tool: Tool,
        responses: Mapping[str, Json] | None = None,
        state: str | None = None,
        anew: str = "",
    ) -> Outcome | Waiting:
        """One request of a call; whatever comes back becomes an outcome or the server's question. `anew` says why an earlier
        answer of a person did not count, where the call begins once more."""
        try:
            reply = await self._reply(context, call, intended, tool, responses, state)
        except StateRefused as error:
            if (state is None and responses is None) or len(call.inputs) >= self._config.limits.input_rounds:
                return Outcome(OutcomeKind.FAILED, str(error), step="run")
            why = f"{tool.server} no longer knew what this answered; the call did not run and was begun anew"
            return await self._send(context, call, intended, tool, anew=why)
        except NotSent as error:
            return Outcome(OutcomeKind.FAILED, f"{error}; nothing ran", step="run")
        except Answered as error:
            return Outcome(OutcomeKind.FAILED, str(error), step="run")
        except Unknown as error:
            return await self._uncertain(context, call, intended, tool, error)
        if reply is None:
            return Waiting()
        if isinstance(reply, NeedsInput):
            return await self._ask_input(context, call, intended, tool, reply, anew)
        return as_answered(self._outcome(context.ticket, tool, reply), call.unanswered)

    async def _reply(
        self,
        context: Context,
        call: CallLog,
        intended: journal.Intended,
        tool: Tool,
        responses: Mapping[str, Json] | None,
        state: str | None,
    ) -> ServerReply | None:
        """The server's reply; None when it asks people while the call stays open (spec H15: servers of the older protocol)."""
        opened = self._open.find(call.written.id)
        if opened is None:
            if not self._sessions.asks_during_calls(tool.server):
                return await self._request(context.ticket, intended, tool, responses, state)

            async def send(opened: OpenCall) -> ServerReply:
                ask = partial(self._ask_during, context, call, intended, tool, opened)
                try:
                    reply = await self._request(context.ticket, intended, tool, responses, state, ask)
                except ServerError:
                    await self._let_go(context.run)
                    raise
                await self._let_go(context.run)
                return reply

            opened = self._open.start(call.written.id, context.run, send)
        opened.run = context.run
        news = await opened.news()
        if news is None:
            return None
        self._open.forget(call.written.id)
        if isinstance(news, ServerError):
            raise news
        call.unanswered = opened.unanswered
        return news

    async def _let_go(self, run: Run) -> None:
        """An open call ended: a question that its server withdrew, or left behind, is nobody's any more, and the run goes on."""
        async with self._store.write() as tx:
            await self._questions.cancel(tx, run.id, "the server ended the call before it was answered")

    async def _request(
        self,
        ticket: Ticket,
        intended: journal.Intended,
        tool: Tool,
        responses: Mapping[str, Json] | None,
        state: str | None,
        ask: AskDuring | None = None,
    ) -> ServerReply:
        server = self._config.servers[tool.server]
        arguments = dict(intended.arguments)
        if tool.idempotency_param:
            arguments[tool.idempotency_param] = intended.key
        meta: dict[str, Json] = {}
        if "ticket" in server.meta:
            meta[server.meta["ticket"]] = ticket.id
        if "acting" in server.meta:
            meta[server.meta["acting"]] = intended.acting
        return await self._sessions.call(
            tool.server,
            tool.remote_name,
            arguments,
            meta=meta,
            subject=intended.acting,
            timeout=server.timeout_seconds,
            responses=responses,
            state=state,
            retry_reads=tool.effect == "read",
            ask=ask,
        )

    def _outcome(self, ticket: Ticket, tool: Tool, reply: Finished) -> Outcome:
        if reply.is_error:
            return Outcome(OutcomeKind.TOOL_ERROR, text=reply.text, step="run")
        strangers = self._config.servers[tool.server].record and other_customers(reply.data, ticket.customer_id)
        if strangers:
            kind = OutcomeKind.FAILED if tool.effect == "read" else OutcomeKind.MAY_HAVE_RUN
            return Outcome(kind, "the result belongs to another customer and was not read", step="run")
        return Outcome(OutcomeKind.RESULT, text=reply.text, data=reply.data)

    # --- the server's own questions (spec H15, H22) ------------------------------------------------------------------

    async def _ask_input(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, reply: NeedsInput, anew: str = ""
    ) -> Outcome | Waiting:
        number = len(call.inputs) + 1
        if number > self._config.limits.input_rounds:
            return Outcome(OutcomeKind.FAILED, f"{tool.server} asked more than {number - 1} times in one call", step="run")
        needed = journal.InputNeeded(call_id=call.written.id, round=number, pending=reply.pending)
        if reply.pending.get("requestState") and not reply.pending.get("inputRequests"):
            return await self._call_again(context, call, intended, tool, needed, anew)
        requests = read_requests(reply.pending)
        if isinstance(requests, str):
            return Outcome(OutcomeKind.UNDELIVERABLE, f"{tool.server} asks for something that can't be shown: {requests}")
        await self._consent.server_asks(context, call, tool, needed, requests, anew)
        call.inputs.append(needed)
        return Waiting()

    async def _call_again(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, needed: journal.InputNeeded, anew: str
    ) -> Outcome | Waiting:
        """The server asks nothing of people, it only wants to be called again, with its state (MCP 2026-07-28)."""
        refused = await self._checkpoint.still_allowed(context, call, intended, tool)
        if refused is not None:
            return refused
        await self._write(context, needed, journal.RoundSent(call_id=call.written.id, round=needed.round))
        call.inputs.append(needed)
        call.sent_rounds.add(needed.round)
        await anyio.sleep(min(LONGEST_PAUSE, 0.05 * 2.0**needed.round))
        return await self._send(context, call, intended, tool, None, needed.pending.get("requestState"), anew)

    async def _ask_during(
        self,
        context: Context,
        call: CallLog,
        intended: journal.Intended,
        tool: Tool,
        opened: OpenCall,
        params: Mapping[str, Json],
    ) -> Mapping[str, Json]:
        """A question of a server of the older protocol, while its call stays open. In doubt it is told "cancel" (spec H20)."""
        opened.rounds += 1
        most = self._config.limits.input_rounds
        if opened.rounds > 2 * most:  # told "cancel" again and again, and nothing else ends this call
            raise BadResult(f"{tool.server} asked more than {2 * most} times in one call and was given up")
        requests = read_requests({"inputRequests": {"question": {"method": "elicitation/create", "params": params}}})
        if isinstance(requests, str):
            why = f"{tool.server} asks for something that can't be shown: {requests}"
            opened.unanswered = Outcome(OutcomeKind.UNDELIVERABLE, why)
            return CANCEL
        if opened.rounds > most:
            opened.unanswered = Outcome(OutcomeKind.FAILED, f"{tool.server} asked more than {most} times in one call", step="run")
            return CANCEL
        roles = self._config.servers[tool.server].input_roles
        ask = replace(ask_input(call, intended, tool, roles, requests[0], opened.rounds), resumable=False)
        async with self._store.write() as tx:  # no worker's write: the call is this process's, whoever leased the run since
            run = await tickets.run(tx, context.run.id)
            if run.cancelled or run.state is RunState.DONE:
                opened.unanswered = unanswered(QuestionState.CANCELLED, "the run was stopped")
                return CANCEL
            question = await self._questions.ask(tx, opened.run, ask)
            for asked, closed in call.inputs_answered() if opened.rounds == 1 else ():  # to an earlier sending, which is lost
                if closed.state is QuestionState.ANSWERED and not asked.resumable:
                    await self._questions.did_not_count(tx, asked.question_id, anew_words(tool))
        opened.ask()
        try:
            ended = await self._questions.ended(question.id)
        except anyio.get_cancelled_exc_class():
            if not self._open.closing:  # else the program stops, and the next one finds out what became of the call
                await self._taken_back(question)
            raise
        if ended.state is not QuestionState.ANSWERED or ended.answer is None:
            opened.unanswered = unanswered(ended.state, ended.note)
            return CANCEL
        refused = await self._checkpoint.still_allowed(replace(context, run=opened.run), call, intended, tool)
        if refused is not None:
            opened.unanswered = refused
            return CANCEL
        return elicited(ended.payload, ended.answer.action, ended.answer.content)

    async def _taken_back(self, question: Question) -> None:
        """Its server no longer waits for this: nobody may answer into the void."""
        with anyio.CancelScope(shield=True):
            async with self._store.write() as tx:
                await self._questions.take_back(tx, question, "the server took its question back")

    async def _resume(self, context: Context, call: CallLog, intended: journal.Intended) -> Outcome | Waiting:
        """A call whose intent is written: answer the server's question, or find out what became of it."""
        tool, needed = self._checkpoint.known(intended.tool), call.open_input()
        held = self._catalog.find(intended.tool)
        if self._open.find(call.written.id) is not None and held is not None:  # it is under way, whatever became of its tool
            return await self._send(context, call, intended, held)
        if needed is None:
            if isinstance(tool, Outcome):
                return lost_sight(intended, tool)
            return await self._uncertain(context, call, intended, tool, None)
        responses: dict[str, Json] = {}
        for asked, closed in call.answers_to(needed):
            if closed is None:
                return Waiting()
            if closed.state is not QuestionState.ANSWERED:
                return unanswered(closed.state, closed.reason)
            responses[str(asked.payload["request_key"])] = elicited(asked.payload, closed.action, closed.content)
        if isinstance(tool, Outcome):
            return replace(tool, kind=OutcomeKind.REFUSED, why=f"{tool.why}; the answer was not sent")
        refused = await self._checkpoint.still_allowed(context, call, intended, tool)
        if refused is not None:
            return refused
        await self._write(context, journal.RoundSent(call_id=call.written.id, round=needed.round))
        call.sent_rounds.add(needed.round)
        if needed.pending.get("retry"):  # the server asked before it began: there is nothing to answer, it is called anew
            refused_by = [closed for _, closed in call.answers_to(needed) if closed is not None and closed.action != "accept"]
            kind = OutcomeKind.DECLINED if any(c.action == "decline" for c in refused_by) else OutcomeKind.CANCELLED
            reasons = "".join(f" ({closed.reason})" for closed in refused_by if closed.reason)
            words = f"a person did not agree to open the address{reasons}; the call did not run"
            return Outcome(kind, words, step="input") if refused_by else await self._send(context, call, intended, tool)
        state = needed.pending.get("requestState")
        return await self._send(context, call, intended, tool, responses, state)

    # --- may have run (spec H13) -------------------------------------------------------------------------------------

    async def _uncertain(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, error: ServerError | None
    ) -> Outcome | Waiting:
        """Nobody knows whether it ran: a read is simply read again, an effect is looked for, never blindly repeated."""
        why = str(error) if error else "the program stopped while the call was under way"
        if tool.effect == "read":
            if error is None:  # begun before a restart or a stop: what was decided since counts
                refused = await self._checkpoint.still_allowed(context, call, intended, tool)
                return refused or await self._send(context, call, intended, tool)
            kind = OutcomeKind.TIMED_OUT if isinstance(error, TimedOut) else OutcomeKind.FAILED
            return Outcome(kind, why, step="run")
        how = settings_of(self._config, tool).read_back
        if how is None or not intended.key:  # without a key nothing can be told apart
            return Outcome(OutcomeKind.MAY_HAVE_RUN, why, step="run")
        return await self._read_back(context, call, intended, tool, how, why)

    async def _read_back(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, how: ReadBack, why: str
    ) -> Outcome | Waiting:
        started = time.monotonic()
        item = await self._look_for(context, intended, tool, how)
        await self._noted(context, intended, tool, how, item, round((time.monotonic() - started) * 1000))
        if isinstance(item, Outcome):
            return Outcome(OutcomeKind.MAY_HAVE_RUN, f"{why}; looking for it failed: {item.why}", step="run")
        if item is not None and item.get(how.state_field) in how.settled:
            return Outcome(OutcomeKind.RESULT, "found by reading back", text=dumps(item), data=item)
        if call.latest(QuestionKind.MAY_HAVE_RUN) is not None:  # people were asked: nothing is sent any more
            return Outcome(OutcomeKind.MAY_HAVE_RUN, f"{why}; it was not found there", step="run")
        if not self._config.servers[tool.server].durable and not self._same_process(intended, tool):
            words = f"{why}; {tool.server} was started again since and may not remember, so it was not sent again"
            return Outcome(OutcomeKind.MAY_HAVE_RUN, words, step="run")
        refused = await self._checkpoint.still_allowed(context, call, intended, tool)
        if refused is None:
            return await self._send_again(context, call, intended, tool)
        if item is not None:
            return replace(refused, why=f"{refused.why}; at {tool.server} it is {item.get(how.state_field)}")
        return Outcome(OutcomeKind.MAY_HAVE_RUN, f"{why}; it was not found there and not sent again ({refused.why})", step="run")

    async def _noted(
        self,
        context: Context,
        intended: journal.Intended,
        tool: Tool,
        how: ReadBack,
        item: Mapping[str, Json] | Outcome | None,
        ms: int,
    ) -> None:
        """A look is a call too: in the journal, and one line in the log (spec H16, H31)."""
        name = f"{tool.server}.{how.tool}"
        arguments = {key: fill(value, intended.provenance) for key, value in how.arguments.items()}
        match item:
            case Outcome():
                found = f"it could not be looked: {item.why}"
            case None:
                found = "it is not there"
            case _:
                found = f"it is there, {item.get(how.state_field)}"
        await self._write(context, journal.LookedBack(call_id=intended.call_id, tool=name, arguments=arguments, found=found))
        keys, ok = ",".join(sorted(arguments)), not isinstance(item, Outcome)
        logger.info("tool_call name=%s arg_keys=[%s] ok=%s ms=%d note=read_back run=%s", name, keys, ok, ms, context.run.id)

    def _same_process(self, intended: journal.Intended, tool: Tool) -> bool:
        """Whether the server's process that gave the arguments is the one that runs now (spec H13)."""
        sources = [fact.process for fact in intended.provenance.values() if fact.server == tool.server]
        now = self._sessions.process(tool.server)
        return now != 0 and all(process == now for process in (*sources, intended.generation))

    async def _send_again(self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool) -> Outcome | Waiting:
        """Looked for and not found (or still open there): the same key makes a second sending one effect at most."""
        most = self._config.limits.input_rounds
        if sum(asked.question_kind is QuestionKind.INPUT_REQUEST for asked in call.asked) >= most:  # it asks, and dies of it
            words = f"{tool.server} asked {most} times in one call and did not come to an end"
            return Outcome(OutcomeKind.MAY_HAVE_RUN, words, step="run")
        try:
            reply = await self._reply(context, call, intended, tool, None, None)
        except ServerError as error:  # whatever became of this one, the first may have run
            return Outcome(OutcomeKind.MAY_HAVE_RUN, str(error), step="run")
        if reply is None:  # an older server asks people once more
            return Waiting()
        if isinstance(reply, NeedsInput):
            return await self._ask_input(context, call, intended, tool, reply, anew_words(tool))
        return as_answered(self._outcome(context.ticket, tool, reply), call.unanswered)

    async def _look_for(
        self, context: Context, intended: journal.Intended, tool: Tool, how: ReadBack
    ) -> Mapping[str, Json] | Outcome | None:
        """The item that carries our key, None when there is none, an outcome when it can't be told."""
        arguments = {name: fill(value, intended.provenance) for name, value in how.arguments.items()}
        cleared = await self._checkpoint.check(context, f"{tool.server}.{how.tool}", arguments, looking_back=True)
        if isinstance(cleared, Outcome):
            return cleared
        if cleared.verdict.decision != "allow" or cleared.tool.effect != "read":
            return refusal("the read-back is not allowed by the policy", "policy")
        reading = intended.model_copy(update={"arguments": cleared.arguments, "key": ""})
        try:
            reply = await self._request(context.ticket, reading, cleared.tool, None, None)
        except ServerError as error:
            return Outcome(OutcomeKind.FAILED, str(error))
        if not isinstance(reply, Finished) or reply.is_error or not isinstance(reply.data, Mapping):
            return Outcome(OutcomeKind.FAILED, "the read-back gave no usable result")
        items = reply.data.get(how.items, [])
        return next((item for item in items if item.get(how.key_field) == intended.key), None)

    # --- writing ----------------------------------------------------------------------------------------------------

    async def _end(self, context: Context, call: CallLog, outcome: Outcome, ms: int) -> None:
        tool = self._catalog.find(call.written.name)
        begun = call.intended.server if call.intended else ""
        server = "desk" if call.written.name.startswith("desk.") else (tool.server if tool else begun)
        ended = journal.Ended(
            call_id=call.written.id,
            tool=call.written.name,
            server=server,
            arguments=call.intended.arguments if call.intended else call.written.arguments,
            outcome=outcome,
            ms=ms,
            allowed_by=call.intended.allowed_by if call.intended else call.allowed_by,
            process=call.intended.generation if call.intended else 0,
        )
        now = self._clock.now()
        async with self._writing(context.run) as tx:
            await journal.append(tx, context.ticket.id, context.run.id, now, ended)
            if ended.tool != REPLY:
                kind = outcome.kind.value
                await journal_rows.log_call(tx, row(context.run, ended.call_id, ended.tool, kind, ms, iso(now), call.intended))
            if call.latest(QuestionKind.MAY_HAVE_RUN) is not None:  # found out meanwhile, or answered
                await self._questions.cancel(tx, context.run.id, "it was found out", QuestionState.SUPERSEDED)
            await self._questions.cancel(tx, context.run.id, "the call that this belongs to has ended")  # others of its round
            for asked in call.asked:
                await outbox.put(tx, OutboxKind.CARD, f"question:{asked.question_id}", context.ticket.id, now)
            await outbox.put(tx, OutboxKind.CARD, f"ticket:{context.ticket.id}", context.ticket.id, now)
        call.ended = ended
        shown = call.written.name if call.written.name in (REPLY, READ_RESOURCE) else tool.name if tool else "?"
        log_line(call, shown, tool, outcome, ms, context.run)

    async def _write(self, context: Context, *entries: journal.AnyEntry) -> None:
        async with self._writing(context.run) as tx:
            await journal.append(tx, context.ticket.id, context.run.id, self._clock.now(), *entries)

    def _writing(self, run: Run) -> AbstractAsyncContextManager[Tx]:
        return writing(self._store, run, self._clock)
