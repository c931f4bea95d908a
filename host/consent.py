"""What people are asked about one call: may it run, what does its server want to know, what became of it (spec H8, H13, H18).

Stands between `dispatch`, which knows where a call is, and `questions`, where an answer counts. Refuses to send anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from host import journal
from host.asks import ONE, Needed, approvals_needed, ask_input, ask_what_became, headline
from host.calls import Allowed, Cleared, Context, Waiting
from host.config import HostConfig, ToolConfig
from host.forms import InputRequest
from host.history import CallLog
from host.lease import writing
from host.port import Clock
from host.questions import Ask, Questions, digest
from host.store import tickets
from host.store.engine import Store, Tx
from host.types import Outcome, OutcomeKind, QuestionKind, QuestionState, Run, Tool


class Consent:
    """Asks, and reads what was answered from the call's log. Holds no state of any call."""

    def __init__(self, store: Store, questions: Questions, config: HostConfig, clock: Clock) -> None:
        self._store, self._questions, self._config, self._clock = store, questions, config, clock

    async def person(self, context: Context, call: CallLog, cleared: Cleared) -> Allowed | Outcome | Waiting:
        """Consent, when the policy asks (spec H18): only an answer to exactly this, by as many as it needs, counts."""
        needed = approvals_needed(
            settings_of(self._config, cleared.tool), context.ticket, cleared.tool, cleared.arguments, cleared.provenance
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
                done = sum(1 for approved in call.approved if approved.question_id == question.question_id)
                words = f"{done} of {question.needed} approved it, and nobody else answered in time"
                return Outcome(OutcomeKind.EXPIRED, words if done else "nobody answered in time", step="person")
            case QuestionState.UNDELIVERABLE:
                return Outcome(OutcomeKind.UNDELIVERABLE, "the question did not reach anybody", step="person")
            case QuestionState.CANCELLED | QuestionState.OPEN:
                return Outcome(OutcomeKind.CANCELLED, closed.reason or "the run was stopped", step="person")

    def _covers(self, asked: journal.Asked, closed: journal.Closed, cleared: Cleared, bound: str, needed: Needed) -> bool:
        """Whether an approval is for exactly these arguments and this definition, by as many people as it takes now."""
        exact = (closed.digest if closed.content else asked.digest) == bound and asked.definition == cleared.tool.digest
        enough = len(set(closed.users or (closed.user,))) >= needed.people
        return exact and enough and set(asked.roles) <= set(needed.roles)

    async def _ask_consent(self, context: Context, call: CallLog, cleared: Cleared, bound: str, needed: Needed) -> Waiting:
        settings = settings_of(self._config, cleared.tool)
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
        earlier = call.latest(QuestionKind.CONSENT)
        async with self._writing(context.run) as tx:
            if earlier is not None and earlier[1] is not None and earlier[1].state is QuestionState.ANSWERED:
                why = "the call or what it needs changed since: people are asked once more"
                await self._questions.did_not_count(tx, earlier[0].question_id, why)
            await self._questions.ask(tx, context.run, ask)
        return Waiting()

    async def looks(self, context: Context, call: CallLog, unknown: Outcome) -> Outcome | Waiting:
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

    async def server_asks(
        self,
        context: Context,
        call: CallLog,
        tool: Tool,
        needed: journal.InputNeeded,
        requests: Sequence[InputRequest],
        anew: str,
    ) -> None:
        """Write down what the server asked, and ask people. `anew` says why earlier answers to it did not count (spec H15)."""
        assert call.intended is not None, "only a call that was begun is asked about"
        roles = self._config.servers[tool.server].input_roles
        async with self._writing(context.run) as tx:
            await journal.append(tx, context.ticket.id, context.run.id, self._clock.now(), needed)
            for asked, closed in call.inputs_answered() if anew else ():
                if closed.state is QuestionState.ANSWERED:
                    await self._questions.did_not_count(tx, asked.question_id, anew)
            for request in requests:
                ask = ask_input(call, call.intended, tool, roles, request, needed.round)
                await self._questions.ask(tx, context.run, ask)

    def _writing(self, run: Run) -> AbstractAsyncContextManager[Tx]:
        return writing(self._store, run, self._clock)


def settings_of(config: HostConfig, tool: Tool) -> ToolConfig:
    """What the operator says of a tool; the defaults where nothing is said."""
    server = config.servers.get(tool.server)
    return server.tools.get(tool.remote_name, ToolConfig()) if server else ToolConfig()
