"""/deskhand run [n | all | T-… [with ADDRESS …]] | status | stop [T-…] | freeze | unfreeze | tools | help (spec B6, H23).

The host decides who may.
"""

from __future__ import annotations

import re

from slack_bolt.async_app import AsyncApp

from bot.cards import status as cards
from bot.cards.rendered import Rendered
from bot.listeners.edge import Edge
from bot.listeners.handlers import on_command
from host.types import Actor
from host.views import Said

_MOST_AT_ONCE = 10_000


def register(app: AsyncApp, edge: Edge) -> None:
    on_command(app, edge, edge.command, run)


async def run(edge: Edge, actor: Actor, text: str) -> Rendered:
    """`text` is all that stands behind the command."""
    match text.split():
        case [] | ["help"]:
            return cards.help_text(edge.command)
        case ["status"]:
            return cards.status(await edge.host.status())
        case ["tools"]:
            return cards.tools(await edge.host.tools())
        case ["stop"]:
            return _said(await edge.host.stop(actor))
        case ["stop", ticket_id]:
            return _said(await edge.host.stop(actor, ticket_id))
        case ["freeze", server]:
            return _said(await edge.host.freeze(server, actor))
        case ["unfreeze", server]:
            return _said(await edge.host.unfreeze(server, actor))
        case ["run", ticket_id, "with", *resources] if resources:
            return _said(await edge.host.work(ticket_id, actor, tuple(_address(one) for one in resources)))
        case ["run", _, "with"]:
            return cards.said(f"With what? Name a document: {edge.command} run T-0009 with {await _examples(edge)}.")
        case ["run", *which] if len(which) <= 1:
            return await _run(edge, actor, which[0] if which else "all")
        case words:
            return cards.said(f"“{' '.join(words)}” is not a command: {edge.command} help lists them.")


async def _run(edge: Edge, actor: Actor, which: str) -> Rendered:
    if which == "all":
        return _said(await edge.host.run_queue(actor, None))
    if re.fullmatch(r"[0-9]{1,6}", which):
        count = int(which)
        if not 1 <= count <= _MOST_AT_ONCE:
            return cards.said(f"{count} is not a number of tickets: write 1 to {_MOST_AT_ONCE}, or all.")
        return _said(await edge.host.run_queue(actor, count))
    return _said(await edge.host.work(which, actor))


def _address(word: str) -> str:
    """An address as typed; Slack may have made a link of it: <shop://policies/returns|shop://policies/returns>."""
    return word.strip("<>,").partition("|")[0]


async def _examples(edge: Edge) -> str:
    """The addresses that may stand there."""
    listed = sorted(await edge.host.resources())
    return ", or ".join(listed[:20]) or "ADDRESS (no server lists one now)"


def _said(said: Said) -> Rendered:
    return cards.said(said.words)
