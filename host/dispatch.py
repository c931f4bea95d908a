"""The single path to a tool call; the checkpoint's order reads top to bottom in `Dispatcher._check` and below (spec H8).

*cancelled or frozen?* → *readable?* → *known and pinned?* → *arguments valid?* → *grounded?* → *policy* → *person*, when asked →
cancelled, frozen and pin looked at once more → *run*, with a timeout. In doubt it refuses. Waiting for a person holds nothing in
memory: `dispatch` returns `Waiting` and is called again with what the journal holds then (spec H15).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from zoneinfo import ZoneInfo

import anyio

from host import journal, policy
from host.asks import (
    ONE,
    Needed,
    approvals_needed,
    as_answered,
    ask_input,
    ask_what_became,
    edits_of,
    elicited,
    headline,
    told_of_edits,
    unanswered,
)
from host.catalog import Catalog
from host.checks import invalid_arguments, other_customers, unreadable_arguments
from host.config import HostConfig, ReadBack, ToolConfig
from host.errors import Answered, NotSent, ServerError, StaleLease, StateRefused, TimedOut, Unknown, where
from host.forms import read_requests
from host.grounding import Ungrounded, ground
from host.history import CallLog
from host.lease import writing
from host.open_calls import OpenCall, OpenCalls
from host.port import Clock
from host.prompt import READ_RESOURCE, REPLY, reply_tool
from host.questions import Ask, Questions, digest
from host.sessions import AskDuring, Sessions
from host.store import journal as journal_rows
from host.store import outbox, servers, tickets
from host.store.codec import dumps, iso
from host.store.engine import Store, Tx
from host.types import (
    Fact,
    Finished,
    Json,
    NeedsInput,
    OutboxKind,
    Outcome,
    OutcomeKind,
    QuestionKind,
    QuestionState,
    Run,
    ServerReply,
    Ticket,
    Tool,
    ToolCallRecord,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The call waits for a person; nothing of it is in memory."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a call is judged by: its run and ticket, everything grounded so far, and what already ran in this ticket."""

    run: Run
    ticket: Ticket
    facts: Sequence[Fact]
    records: Sequence[ToolCallRecord]


@dataclass(frozen=True, slots=True)
class Cleared:
    """A call that passed every check but the person's."""

    tool: Tool
    arguments: Mapping[str, Json]
    provenance: Mapping[str, Fact]
    verdict: policy.Verdict


@dataclass(frozen=True, slots=True)
class Allowed:
    """Who allowed a call: `by` in words for the log, `acting` the subject it carries, `users` those who approved."""

    by: str
    acting: str
    users: tuple[str, ...] = ()


CANCEL: Mapping[str, Json] = {"action": "cancel"}
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

    async def dispatch(self, context: Context, call: CallLog) -> Outcome | Waiting:
        """Bring a call to its outcome, or to the question it waits for. An error of ours in a check becomes an outcome."""
        if call.ended is not None:
            return call.ended.outcome
        started = time.monotonic()
        try:
            result = await self._advance(context, call)
        except StaleLease:
            raise
        except Exception as error:  # noqa: BLE001  the dispatcher's edge: one bad call never stops the queue (spec H28)
            logger.error("dispatch failed: %s run=%s at %s", type(error).__name__, context.run.id, where(error))
            result = _after_fault(call, error)
        if isinstance(result, Outcome) and result.kind is OutcomeKind.MAY_HAVE_RUN:
            result = await self._person_looks(context, call, result)
        if isinstance(result, Outcome):
            if call.intended is not None:  # it was begun: with what, the model is told whichever way it ended
                result = told_of_edits(result, call)
            await self._end(context, call, result, round((time.monotonic() - started) * 1000))
        return result

    async def refuse(self, context: Context, call: CallLog, outcome: Outcome) -> None:
        """End a call that the loop's limits forbid, before any check (spec H14)."""
        await self._end(context, call, outcome, 0)

    async def judge(self, context: Context, name: str, arguments: Mapping[str, Json]) -> Cleared | Outcome:
        """What the checkpoint says of a call, short of asking people; nothing is sent. For arguments that a person edits."""
        return await self._check(context, name, arguments)

    async def _advance(self, context: Context, call: CallLog) -> Outcome | Waiting:
        if call.intended is not None:
            return await self._resume(context, call, call.intended)
        arguments = {**call.written.arguments, **edits_of(call)}  # an edited call goes through the whole checkpoint (spec H21)
        cleared = await self._check(context, call.written.name, arguments, unreadable=call.written.unreadable)
        if isinstance(cleared, Outcome):
            return cleared
        allowed = await self._person(context, call, cleared)
        if not isinstance(allowed, Allowed):
            return allowed
        refused = await self._look_again(context.run, cleared.tool)
        return refused or await self._run(context, call, cleared, allowed)

    # --- the checks -------------------------------------------------------------------------------------------------

    async def _check(
        self, context: Context, name: str, arguments: Mapping[str, Json], *, unreadable: str = "", looking_back: bool = False
    ) -> Cleared | Outcome:
        """`unreadable` says why the arguments as written could not be kept. `looking_back`: a read-back is not held up by a
        stop, for what was begun has to be found out."""
        stopped = await self._cancelled_or_frozen(context.run, name)
        if stopped is not None and not (looking_back and stopped.kind is OutcomeKind.CANCELLED):
            return stopped
        unreadable = unreadable or unreadable_arguments(arguments)
        if unreadable:
            return Outcome(OutcomeKind.UNREADABLE, unreadable, step="readable")
        tool = self._known(name)
        if isinstance(tool, Outcome):
            return tool
        invalid = invalid_arguments(tool, arguments)
        if invalid:
            return _refused(f"the arguments of {name} are not valid: {invalid}. Correct them and call again", "arguments")
        grounded = ground(tool, arguments, context.facts, self._config.grounding)
        if isinstance(grounded, Ungrounded):
            return _refused(grounded.why, "grounded")
        if tool.effect == "effect" and self._config.pilot:
            return _refused("this is a pilot: nothing with an effect runs", "pilot")
        async with self._store.read() as tx:
            verdict = await self._verdict(tx, context, tool, grounded.arguments, grounded.provenance)
        if verdict.decision == "deny":
            return _refused(f"the policy forbids this call ({verdict.why})", "policy")
        return Cleared(tool, grounded.arguments, grounded.provenance, verdict)

    async def _cancelled_or_frozen(self, run: Run, name: str) -> Outcome | None:
        async with self._store.read() as tx:
            return await self._stopped(tx, run, name)

    async def _stopped(self, tx: Tx, run: Run, name: str) -> Outcome | None:
        frozen = await servers.frozen(tx)
        if (await tickets.run(tx, run.id)).cancelled:
            return Outcome(OutcomeKind.CANCELLED, "a person stopped this run; nothing ran", step="cancelled")
        tool = self._catalog.find(name)
        if tool is not None and tool.server in frozen:
            return _refused(f"the server {tool.server} is frozen by {frozen[tool.server]}", "frozen")
        return None

    def _known(self, name: str) -> Tool | Outcome:
        tool = reply_tool() if name == REPLY else self._catalog.find(name)
        if tool is None:
            names = ", ".join([t.name for t in self._catalog.tools() if not t.off] + [REPLY])
            return Outcome(OutcomeKind.UNKNOWN_TOOL, f"there is no tool {name!r}. The tools are: {names}", step="known")
        if tool.off:
            return _refused(f"{name} is off: {tool.off}", "pinned")
        return tool

    async def _verdict(
        self,
        tx: Tx,
        context: Context,
        tool: Tool,
        arguments: Mapping[str, Json],
        provenance: Mapping[str, Fact],
        but: str = "",
    ) -> policy.Verdict:
        """The policy's word, with what ran in this ticket and today; the call `but` is not counted against itself."""
        if tool.name == REPLY:
            return policy.Verdict("allow", None, "a reply is a draft: people sign it off")
        verdict = policy.decide(tool, arguments, provenance, await self._history(tx, context, but), self._config.policy)
        if tool.name == READ_RESOURCE and verdict.rule_number is None:
            return policy.Verdict("allow", None, "its server's resources may be read, by configuration")
        return verdict

    async def _history(self, tx: Tx, context: Context, but: str) -> policy.History:
        zone = ZoneInfo(self._config.hours.zone if self._config.hours else "UTC")
        midnight = self._clock.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        today, amount = await journal_rows.ran_since(tx, iso(midnight), but)
        ticket: dict[str, int] = {"calls": len(context.records)}
        for record in context.records:
            if record.ok or record.outcome is OutcomeKind.MAY_HAVE_RUN:
                ticket[record.name] = ticket.get(record.name, 0) + 1
        return policy.History(ticket=ticket, today={**today, "amount": amount})

    # --- the person -------------------------------------------------------------------------------------------------

    async def _person(self, context: Context, call: CallLog, cleared: Cleared) -> Allowed | Outcome | Waiting:
        """Consent, when the policy asks (spec H18): only an answer to exactly this, by as many as it needs, counts."""
        needed = approvals_needed(
            self._settings(cleared.tool), context.ticket, cleared.tool, cleared.arguments, cleared.provenance
        )
        if cleared.verdict.decision == "allow" and needed == ONE:
            return Allowed(f"policy: {cleared.verdict.why}", context.run.started_by.subject)
        bound = digest(cleared.tool.name, cleared.arguments)
        asked = call.latest(QuestionKind.CONSENT)
        if asked is None:
            return await self._ask_consent(context, call, cleared, bound, needed)
        question, closed = asked
        if closed is None:
            return Waiting()
        match closed.state:
            case QuestionState.ANSWERED if closed.action == "decline":
                return Outcome(OutcomeKind.DECLINED, closed.reason or "no reason was given", step="person")
            case QuestionState.ANSWERED if self._covers(question, closed, cleared, bound, needed):
                edited = ", with edited arguments" if closed.content else ""
                return Allowed(f"{closed.by}{edited}", closed.by, closed.users or (closed.user,))
            case QuestionState.ANSWERED | QuestionState.SUPERSEDED:
                return await self._ask_consent(context, call, cleared, bound, needed)
            case QuestionState.EXPIRED:
                return Outcome(OutcomeKind.EXPIRED, "nobody answered in time", step="person")
            case QuestionState.UNDELIVERABLE:
                return Outcome(OutcomeKind.UNDELIVERABLE, "the question did not reach anybody", step="person")
            case QuestionState.CANCELLED | QuestionState.OPEN:
                return Outcome(OutcomeKind.CANCELLED, closed.reason or "the run was stopped", step="person")

    def _covers(self, asked: journal.Asked, closed: journal.Closed, cleared: Cleared, bound: str, needed: Needed) -> bool:
        """Whether an approval is for exactly these arguments and this definition, by as many people as it takes now."""
        exact = (closed.digest if closed.content else asked.digest) == bound and asked.definition == cleared.tool.digest
        return exact and len(set(closed.users or (closed.user,))) >= needed.people

    async def _ask_consent(self, context: Context, call: CallLog, cleared: Cleared, bound: str, needed: Needed) -> Waiting:
        settings = self._settings(cleared.tool)
        payload = {
            "tool": cleared.tool.name,
            "arguments": cleared.arguments,
            "provenance": {name: {"source": f.source, "record": dict(f.record)} for name, f in cleared.provenance.items()},
            "rule": cleared.verdict.why,
            "headline": headline(settings, cleared.tool.name, cleared.arguments, cleared.provenance),
            "may_edit": list(settings.may_edit) if needed.people == 1 else [],
            "needed_why": needed.why,
        }
        kind, tool = QuestionKind.CONSENT, cleared.tool
        ask = Ask(kind, call.written.id, tool.server, needed.roles, bound, tool.digest, payload, needed.people)
        async with self._writing(context.run) as tx:
            await self._questions.ask(tx, context.run, ask)
        return Waiting()

    async def _look_again(self, run: Run, tool: Tool) -> Outcome | None:
        """A person may have taken a day: cancelled, frozen, pin and digest once more (spec H8)."""
        stopped = await self._cancelled_or_frozen(run, tool.name)
        if stopped is not None or tool.server == "desk":
            return stopped
        changed = await self._catalog.why_not_pinned(tool)
        return _refused(changed, "pinned") if changed else None

    # --- running it -------------------------------------------------------------------------------------------------

    async def _run(self, context: Context, call: CallLog, cleared: Cleared, allowed: Allowed) -> Outcome | Waiting:
        if cleared.tool.name == REPLY:
            return Outcome(OutcomeKind.RESULT, text=str(cleared.arguments["text"]))
        if cleared.tool.name == READ_RESOURCE:
            return await self._read_resource(context, str(cleared.arguments["uri"]))
        intended = self._intended(context, call, cleared, allowed)
        now = self._clock.now()
        async with self._writing(context.run) as tx:  # a stop, a freeze or a limit comes before this write, or after the intent
            stopped = await self._stopped(tx, context.run, cleared.tool.name)
            if stopped is not None:
                return stopped
            id_, tool = call.written.id, cleared.tool
            verdict = await self._verdict(tx, context, tool, cleared.arguments, cleared.provenance, but=id_)
            if policy.STRICTNESS[verdict.decision] > policy.STRICTNESS[cleared.verdict.decision]:
                return _refused(f"what ran meanwhile made the policy stricter ({verdict.why})", "policy")
            await journal.append(tx, context.ticket.id, context.run.id, now, intended)
            if tool.effect == "effect":
                await journal_rows.log_call(tx, _row(context, id_, tool.name, journal_rows.BEGUN, 0, iso(now), intended))
        call.intended = intended
        return await self._send(context, call, intended, cleared.tool)

    def _intended(self, context: Context, call: CallLog, cleared: Cleared, allowed: Allowed) -> journal.Intended:
        tool, settings = cleared.tool, self._settings(cleared.tool)
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
            key=_key(context.ticket, cleared) if tool.idempotency_param else "",
            generation=self._sessions.process(tool.server),
            provenance=cleared.provenance,
            amount="" if amount is None else str(amount),
        )

    async def _read_resource(self, context: Context, uri: str) -> Outcome:
        """A resource that the host lets the model read (spec H23); it grounds nothing."""
        server = self._catalog.server_of(uri)
        async with self._store.read() as tx:
            frozen = await servers.frozen(tx)
        if server in frozen:
            return _refused(f"the server {server} is frozen by {frozen[server]}", "frozen")
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
                return await self._request(context.ticket, intended, tool, responses, state, ask)

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
            return await self._call_again(context, call, intended, tool, needed)
        requests = read_requests(reply.pending)
        if isinstance(requests, str):
            return Outcome(OutcomeKind.UNDELIVERABLE, f"{tool.server} asks for something that can't be shown: {requests}")
        roles = self._config.servers[tool.server].input_roles
        async with self._writing(context.run) as tx:
            await journal.append(tx, context.ticket.id, context.run.id, self._clock.now(), needed)
            for asked, closed in call.inputs_answered() if anew else ():
                if closed.state is QuestionState.ANSWERED:
                    await self._questions.did_not_count(tx, asked.question_id, anew)
            for request in requests:
                await self._questions.ask(tx, context.run, ask_input(call, intended, tool, roles, request, number))
        call.inputs.append(needed)
        return Waiting()

    async def _call_again(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, needed: journal.InputNeeded
    ) -> Outcome | Waiting:
        """The server asks nothing of people, it only wants to be called again, with its state (MCP 2026-07-28)."""
        refused = await self._still_allowed(context, call, intended, tool)
        if refused is not None:
            return refused
        await self._write(context, needed, journal.RoundSent(call_id=call.written.id, round=needed.round))
        call.inputs.append(needed)
        call.sent_rounds.add(needed.round)
        await anyio.sleep(min(LONGEST_PAUSE, 0.05 * 2.0**needed.round))
        return await self._send(context, call, intended, tool, None, needed.pending.get("requestState"))

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
        requests = read_requests({"inputRequests": {"question": {"method": "elicitation/create", "params": params}}})
        if isinstance(requests, str) or opened.rounds > self._config.limits.input_rounds:
            why = requests if isinstance(requests, str) else f"it asked more than {opened.rounds - 1} times in one call"
            opened.unanswered = Outcome(OutcomeKind.UNDELIVERABLE, f"{tool.server} asks for something that can't be shown: {why}")
            return CANCEL
        roles = self._config.servers[tool.server].input_roles
        ask = replace(ask_input(call, intended, tool, roles, requests[0], opened.rounds), resumable=False)
        async with self._writing(opened.run) as tx:
            question = await self._questions.ask(tx, opened.run, ask)
        opened.ask()
        ended = await self._questions.ended(question.id)
        if ended.state is not QuestionState.ANSWERED or ended.answer is None:
            opened.unanswered = unanswered(ended.state, ended.note)
            return CANCEL
        refused = await self._still_allowed(replace(context, run=opened.run), call, intended, tool)
        if refused is not None:
            opened.unanswered = refused
            return CANCEL
        return elicited(ended.payload, ended.answer.action, ended.answer.content)

    async def _resume(self, context: Context, call: CallLog, intended: journal.Intended) -> Outcome | Waiting:
        """A call whose intent is written: answer the server's question, or find out what became of it."""
        tool, needed = self._known(intended.tool), call.open_input()
        if self._open.find(call.written.id) is not None and isinstance(tool, Tool):
            return await self._send(context, call, intended, tool)
        if needed is None:
            if isinstance(tool, Outcome):
                return _lost_sight(intended, tool)
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
        refused = await self._still_allowed(context, call, intended, tool)
        if refused is not None:
            return refused
        await self._write(context, journal.RoundSent(call_id=call.written.id, round=needed.round))
        call.sent_rounds.add(needed.round)
        if needed.pending.get("retry"):  # the server asked before it began: there is nothing to answer, it is called anew
            not_opened = [answer["action"] for answer in responses.values() if answer["action"] != "accept"]
            kind = OutcomeKind.DECLINED if "decline" in not_opened else OutcomeKind.CANCELLED
            words = "a person did not agree to open the address; the call did not run"
            return Outcome(kind, words, step="input") if not_opened else await self._send(context, call, intended, tool)
        state = needed.pending.get("requestState")
        return await self._send(context, call, intended, tool, responses, state)

    async def _still_allowed(self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool) -> Outcome | None:
        """Before a later round: the last look, and whether the operator has forbidden meanwhile what was begun."""
        refused = await self._look_again(context.run, tool)
        if refused is not None:
            return refused
        if tool.effect == "effect" and self._config.pilot:
            return _refused("this is a pilot: nothing with an effect runs", "pilot")
        async with self._store.read() as tx:
            verdict = await self._verdict(tx, context, tool, intended.arguments, intended.provenance, but=call.written.id)
        return _refused(f"the policy forbids this call ({verdict.why})", "policy") if verdict.decision == "deny" else None

    # --- may have run (spec H13) -------------------------------------------------------------------------------------

    async def _uncertain(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, error: ServerError | None
    ) -> Outcome | Waiting:
        """Nobody knows whether it ran: a read is simply read again, an effect is looked for, never blindly repeated."""
        why = str(error) if error else "the program stopped while the call was under way"
        if tool.effect == "read":
            if error is None:  # begun before a restart or a stop: what was decided since counts
                refused = await self._still_allowed(context, call, intended, tool)
                return refused or await self._send(context, call, intended, tool)
            kind = OutcomeKind.TIMED_OUT if isinstance(error, TimedOut) else OutcomeKind.FAILED
            return Outcome(kind, why, step="run")
        how = self._settings(tool).read_back
        if how is None or not intended.key:  # without a key nothing can be told apart
            return Outcome(OutcomeKind.MAY_HAVE_RUN, why, step="run")
        return await self._read_back(context, call, intended, tool, how, why)

    async def _read_back(
        self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool, how: ReadBack, why: str
    ) -> Outcome | Waiting:
        item = await self._look_for(context, intended, tool, how)
        if isinstance(item, Outcome):
            return Outcome(OutcomeKind.MAY_HAVE_RUN, f"{why}; looking for it failed: {item.why}", step="run")
        if item is not None and item.get(how.state_field) in how.settled:
            return Outcome(OutcomeKind.RESULT, "found by reading back", text=dumps(item), data=item)
        if not self._config.servers[tool.server].durable and not self._same_process(intended, tool):
            words = f"{why}; {tool.server} was started again since and may not remember, so it was not sent again"
            return Outcome(OutcomeKind.MAY_HAVE_RUN, words, step="run")
        refused = await self._still_allowed(context, call, intended, tool)
        if refused is None:
            return await self._send_again(context, call, intended, tool)
        if item is not None:
            return replace(refused, why=f"{refused.why}; at {tool.server} it is {item.get(how.state_field)}")
        return Outcome(OutcomeKind.MAY_HAVE_RUN, f"{why}; it was not found there and not sent again ({refused.why})", step="run")

    def _same_process(self, intended: journal.Intended, tool: Tool) -> bool:
        """Whether the server's process that gave the arguments is the one that runs now (spec H13)."""
        sources = [fact.process for fact in intended.provenance.values() if fact.server == tool.server]
        now = self._sessions.process(tool.server)
        return now != 0 and all(process == now for process in (*sources, intended.generation))

    async def _send_again(self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool) -> Outcome | Waiting:
        """Looked for and not found (or still open there): the same key makes a second sending one effect at most."""
        try:
            reply = await self._request(context.ticket, intended, tool, None, None)
        except ServerError as error:  # whatever became of this one, the first may have run
            return Outcome(OutcomeKind.MAY_HAVE_RUN, str(error), step="run")
        if isinstance(reply, NeedsInput):
            why = (
                f"the program stopped while the answer was on its way; {tool.server} had not carried the call out and asks again"
            )
            return await self._ask_input(context, call, intended, tool, reply, why)
        return self._outcome(context.ticket, tool, reply)

    async def _person_looks(self, context: Context, call: CallLog, unknown: Outcome) -> Outcome | Waiting:
        """The program can't find out: a person looks at the server and says which (spec H13)."""
        async with self._store.read() as tx:
            stopped = (await tickets.run(tx, context.run.id)).cancelled
        if stopped or call.intended is None:
            return unknown
        asked = call.latest(QuestionKind.MAY_HAVE_RUN)
        if asked is None:
            async with self._writing(context.run) as tx:
                await self._questions.ask(tx, context.run, ask_what_became(call, call.intended, unknown))
            return Waiting()
        closed = asked[1]
        if closed is None:
            return Waiting()
        match closed.action:
            case "it_ran":
                return Outcome(OutcomeKind.RESULT, f"{closed.by} looked: it ran", text="A person looked at the server: it ran.")
            case "it_did_not_run":
                return Outcome(OutcomeKind.FAILED, f"{closed.by} looked: it did not run", step="run")
            case _:
                return replace(unknown, why=f"{unknown.why}; nobody looked ({closed.state.value})")

    async def _look_for(
        self, context: Context, intended: journal.Intended, tool: Tool, how: ReadBack
    ) -> Mapping[str, Json] | Outcome | None:
        """The item that carries our key, None when there is none, an outcome when it can't be told."""
        arguments = {name: _fill(value, intended.provenance) for name, value in how.arguments.items()}
        cleared = await self._check(context, f"{tool.server}.{how.tool}", arguments, looking_back=True)
        if isinstance(cleared, Outcome):
            return cleared
        if cleared.verdict.decision != "allow" or cleared.tool.effect != "read":
            return _refused("the read-back is not allowed by the policy", "policy")
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
            allowed_by=call.intended.allowed_by if call.intended else "",
            process=self._sessions.process(server) if tool is not None else 0,
        )
        now = self._clock.now()
        async with self._writing(context.run) as tx:
            await journal.append(tx, context.ticket.id, context.run.id, now, ended)
            if ended.tool != REPLY:
                kind = outcome.kind.value
                await journal_rows.log_call(tx, _row(context, ended.call_id, ended.tool, kind, ms, iso(now), call.intended))
            if call.latest(QuestionKind.MAY_HAVE_RUN) is not None:  # found out meanwhile, or answered
                await self._questions.cancel(tx, context.run.id, "it was found out", QuestionState.SUPERSEDED)
            for asked in call.asked:
                await outbox.put(tx, OutboxKind.CARD, f"question:{asked.question_id}", context.ticket.id, now)
            await outbox.put(tx, OutboxKind.CARD, f"ticket:{context.ticket.id}", context.ticket.id, now)
        call.ended = ended
        ours = (REPLY, READ_RESOURCE)
        _log(call, call.written.name if call.written.name in ours else tool.name if tool else "?", tool, outcome, ms, context.run)

    async def _write(self, context: Context, *entries: journal.AnyEntry) -> None:
        async with self._writing(context.run) as tx:
            await journal.append(tx, context.ticket.id, context.run.id, self._clock.now(), *entries)

    def _writing(self, run: Run) -> AbstractAsyncContextManager[Tx]:
        return writing(self._store, run, self._clock)

    def _settings(self, tool: Tool) -> ToolConfig:
        server = self._config.servers.get(tool.server)
        return server.tools.get(tool.remote_name, ToolConfig()) if server else ToolConfig()


def _key(ticket: Ticket, cleared: Cleared) -> str:
    """One effect for a ticket and exact arguments, whichever run asks: the server returns the first one (spec H13).

    Derived, not drawn, so that a run can be replayed byte for byte (spec M7).
    """
    return digest(f"{ticket.id} {cleared.tool.name}", cleared.arguments)[:32]


def _refused(why: str, step: str) -> Outcome:
    return Outcome(OutcomeKind.REFUSED, why, step=step)


def _after_fault(call: CallLog, error: Exception) -> Outcome:
    """A fault of ours: after the intent it may have run, before it nothing did."""
    if call.intended is not None and call.intended.effect == "effect":
        return Outcome(OutcomeKind.MAY_HAVE_RUN, f"an error of the program ({type(error).__name__})", step="run")
    return Outcome(OutcomeKind.FAILED, f"an error of the program ({type(error).__name__}); nothing ran", step="run")


def _lost_sight(intended: journal.Intended, unusable: Outcome) -> Outcome:
    """A call was begun and its tool can't be used any more: a read did not run, an effect may have."""
    if intended.effect == "read":
        return unusable
    return Outcome(OutcomeKind.MAY_HAVE_RUN, f"the program stopped while the call was under way; {unusable.why}", step="run")


def _fill(value: str, provenance: Mapping[str, Fact]) -> Json:
    """ "$quote_id.order_id" → that field of the record the argument came from."""
    if not value.startswith("$"):
        return value
    name, _, field = value[1:].partition(".")
    fact = provenance.get(name)
    if fact is None:
        return None
    return fact.record.get(field) if field else fact.value


def _row(
    context: Context, call_id: str, tool: str, outcome: str, ms: int, at: str, intended: journal.Intended | None
) -> dict[str, object]:
    return {
        "call_id": call_id,
        "ticket_id": context.ticket.id,
        "run_id": context.run.id,
        "tool": tool,
        "outcome": outcome,
        "ms": ms,
        "at": at,
        "amount": intended.amount if intended else "",
    }


def _log(call: CallLog, name: str, tool: Tool | None, outcome: Outcome, ms: int, run: Run) -> None:
    """One line a call: keys, never values (spec H16). A name or key that no tool has is a model's text: "?" stands for it."""
    known = tool.full_schema.get("properties", {}) if tool else ("text",)
    keys = ",".join(sorted(key if key in known else "?" for key in call.written.arguments))
    note = outcome.kind.value + (f"/{outcome.step}" if outcome.step else "")
    logger.info("tool_call name=%s arg_keys=[%s] ok=%s ms=%d note=%s run=%s", name, keys, outcome.ok, ms, note, run.id)
