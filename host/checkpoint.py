"""The checks of the checkpoint, in their order, and the look taken once more before a call is sent (spec H8).

Stands between `dispatch`, which alone sends, and the pure judges: `checks`, `grounding`, `policy`. Refuses to know servers'
answers, and people: whoever passes here may still need one. In doubt the answer is no.
"""

from __future__ import annotations

from collections.abc import Mapping

from host import journal, policy
from host.calls import AWAY, Cleared, Context, refusal
from host.catalog import NOT_CONNECTED, UNSEEN, Catalog
from host.checks import invalid_arguments, unreadable_arguments, without_nulls
from host.config import HostConfig
from host.grounding import Ungrounded, ground
from host.history import CallLog
from host.known import what_ran
from host.port import Clock
from host.prompt import READ_RESOURCE, REPLY, reply_tool
from host.store import servers, tickets
from host.store.engine import Store, Tx
from host.types import Fact, Json, Outcome, OutcomeKind, Run, Tool


class Checkpoint:
    """*Cancelled or frozen?* → *readable?* → *known and pinned?* → *valid?* → *grounded?* → *policy*; holds no state."""

    def __init__(self, store: Store, catalog: Catalog, config: HostConfig, clock: Clock) -> None:
        self._store, self._catalog, self._config, self._clock = store, catalog, config, clock

    async def check(
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
        tool = self.known(name)
        if isinstance(tool, Outcome):
            return tool
        arguments = without_nulls(tool, arguments)
        invalid = invalid_arguments(tool, arguments)
        if invalid:
            return refusal(f"the arguments of {name} are not valid: {invalid}. Correct them and call again", "arguments")
        grounded = ground(tool, arguments, context.facts, self._config.grounding)
        if isinstance(grounded, Ungrounded):
            return refusal(grounded.why, "grounded")
        if tool.effect == "effect" and self._config.pilot:
            return refusal("this is a pilot: nothing with an effect runs", "pilot")
        async with self._store.read() as tx:
            verdict = await self.verdict(tx, context, tool, grounded.arguments, grounded.provenance)
        if verdict.decision == "deny":
            return refusal(f"the policy forbids this call ({verdict.why})", "policy")
        return Cleared(tool, grounded.arguments, grounded.provenance, verdict)

    async def _cancelled_or_frozen(self, run: Run, name: str) -> Outcome | None:
        async with self._store.read() as tx:
            return await self.stopped(tx, run, name)

    async def stopped(self, tx: Tx, run: Run, name: str) -> Outcome | None:
        frozen = await servers.frozen(tx)
        if (await tickets.run(tx, run.id)).cancelled:
            return Outcome(OutcomeKind.CANCELLED, "a person stopped this run; nothing ran", step="cancelled")
        tool = self._catalog.find(name)
        if tool is not None and tool.server in frozen:
            return refusal(f"the server {tool.server} is frozen by {frozen[tool.server]}", "frozen")
        return None

    def known(self, name: str) -> Tool | Outcome:
        tool = reply_tool() if name == REPLY else self._catalog.find(name)
        if tool is None:
            names = ", ".join([t.name for t in self._catalog.tools() if not t.off] + [REPLY])
            return Outcome(OutcomeKind.UNKNOWN_TOOL, f"there is no tool {name!r}. The tools are: {names}", step="known")
        if tool.off:
            return refusal(f"{name} is off: {tool.off}", AWAY if tool.off == NOT_CONNECTED else "pinned")
        return tool

    async def verdict(
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
        ran = await what_ran(tx, context.records, self._config, self._clock.now(), but)
        verdict = policy.decide(tool, arguments, provenance, ran, self._config.policy)
        if tool.name == READ_RESOURCE and verdict.rule_number is None:
            return policy.Verdict("allow", None, "its server's resources may be read, by configuration")
        return verdict

    async def look_again(self, run: Run, tool: Tool) -> Outcome | None:
        """A person may have taken a day: cancelled, frozen, pin and digest once more (spec H8)."""
        stopped = await self._cancelled_or_frozen(run, tool.name)
        if stopped is not None or tool.server == "desk":
            return stopped
        changed = await self._catalog.why_not_pinned(tool)
        if not changed:
            return None
        return refusal(changed, AWAY if changed.startswith((UNSEEN, NOT_CONNECTED)) else "pinned")

    async def still_allowed(self, context: Context, call: CallLog, intended: journal.Intended, tool: Tool) -> Outcome | None:
        """Before a later round: the last look, and whether the operator has forbidden meanwhile what was begun."""
        refused = await self.look_again(context.run, tool)
        if refused is not None:
            return refused
        if tool.effect == "effect" and self._config.pilot:
            return refusal("this is a pilot: nothing with an effect runs", "pilot")
        async with self._store.read() as tx:
            verdict = await self.verdict(tx, context, tool, intended.arguments, intended.provenance, but=call.written.id)
        return refusal(f"the policy forbids this call ({verdict.why})", "policy") if verdict.decision == "deny" else None
