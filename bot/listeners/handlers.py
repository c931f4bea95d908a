"""How a handler is put into the app: acknowledge first, work in a kept task, answer every press in words (spec B8).

Each handler is a small function of (edge, click, actor); this module alone acknowledges. Why the work never runs in Bolt's own
listener task: a listener that raises within 10 ms after `ack()` loses its acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_sdk.errors import SlackApiError

from bot.cards import modals
from bot.cards.modals import View
from bot.cards.rendered import Rendered
from bot.listeners.edge import Check, Edge
from bot.listeners.payload import Body, Click
from host.errors import HostError
from host.types import Actor, AnswerResult, NotTaken, Taken

log = logging.getLogger(__name__)
_LOOKS, _LOOK_SECONDS = 20, 0.1

Press = Callable[[Edge, Click, Actor], Awaitable[None]]
Fill = Callable[[Edge, Click, Actor], Awaitable[View]]
Run = Callable[[Edge, Actor, str], Awaitable[Rendered]]


def on_button(app: AsyncApp, edge: Edge, action_id: str, press: Press) -> None:
    """A button without a form."""

    async def pressed(ack: AsyncAck, body: Body) -> None:
        await ack()
        edge.background.start(_worked(edge, body, action_id, press), action_id)

    app.action(action_id)(pressed)


def on_opening(app: AsyncApp, edge: Edge, action_id: str, title: str, fill: Fill) -> None:
    """A button that opens a form: a loading one at once (Slack gives three seconds), then what `fill` makes, or words."""

    async def press(click: Click) -> None:
        try:
            opened = await edge.web.views_open(trigger_id=click.trigger_id, view=modals.loading(title, click.value))
        except SlackApiError:
            await edge.tell(click, "Slack did not let Deskhand open the form in time. Nothing was decided: please press again.")
            return
        view_id = str((opened.get("view") or {}).get("id") or "")
        await _show_in(edge, click, view_id, await _filled(edge, click, title, fill))

    async def pressed(ack: AsyncAck, body: Body) -> None:
        await ack()
        edge.background.start(edge.guarded(body, action_id, press), action_id)

    app.action(action_id)(pressed)


def on_submit(app: AsyncApp, edge: Edge, callback_id: str, title: str, submit: Fill, check: Check | None = None) -> None:
    """A form's submit. `check` (pure, no waiting) puts errors beside fields; the answer's words replace the form."""

    async def submitted(ack: AsyncAck, body: Body) -> None:
        errors = edge.checked(body, check)
        if errors:
            await ack(response_action="errors", errors=dict(errors))
            return
        name = secrets.token_hex(12)

        async def taken(click: Click) -> None:
            await _show_named(edge, click, name, await _filled(edge, click, title, submit))

        waiting = {**modals.loading(title, str(body["view"].get("private_metadata") or "")), "external_id": name}
        await ack(response_action="update", view=waiting)
        edge.background.start(edge.guarded(body, callback_id, taken), callback_id)

    app.view(callback_id)(submitted)


def words_of(title: str, result: AnswerResult, kept: str = "") -> View:
    """An answer's fate as a view; what was typed stays readable when it was not taken."""
    match result:
        case Taken(words=said_words):
            return modals.words(title, said_words)
        case NotTaken(words=said_words, fields=fields):
            beside = "".join(f"\n{name}: {why}" for name, why in fields.items())
            return modals.words(title, f"{said_words}{beside}", kept=kept)


async def _filled(edge: Edge, click: Click, title: str, fill: Fill) -> View:
    judged = await edge.roles.judge(click.clicker)
    if judged.refused:
        return modals.words(title, judged.refused)
    try:
        return await fill(edge, click, judged.actor)
    except HostError as error:
        return modals.words(title, f"{error} Nothing was decided by this.")


async def _show_named(edge: Edge, click: Click, name: str, view: View) -> None:
    """Fill the view that the acknowledgement brought. It is found by its own name, so that we can't be faster than the
    acknowledgement, which would then cover our words with "One moment…" for ever."""
    for _ in range(_LOOKS):
        try:
            await edge.web.views_update(external_id=name, view=view)
        except SlackApiError as error:
            if not _is(error, "not_found"):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return
    await _show_in(edge, click, click.view_id, view)


async def _show_in(edge: Edge, click: Click, view_id: str, view: View) -> None:
    try:
        await edge.web.views_update(view_id=view_id, view=view)
    except SlackApiError as error:
        log.info("view_gone callback=%s error=%s", view["callback_id"], type(error).__name__)
        await edge.tell(click, _view_words(view))  # closed before the words came: they are said anyway


def _is(error: SlackApiError, code: str) -> bool:
    return bool(error.response) and error.response.get("error") == code


def _view_words(view: View) -> str:
    """What a view says in rich text, one line a part; its fields are left out."""
    rows = [row for block in view["blocks"] if block["type"] == "rich_text" for row in block["elements"]]
    lines = ["".join(part.get("text", "") for part in row["elements"]) for row in rows]
    return "\n".join(lines) or "The form was closed before Deskhand could fill it. Please open it again."


async def _worked(edge: Edge, body: Body, name: str, press: Press) -> None:
    async def judged_press(click: Click) -> None:
        judged = await edge.roles.judge(click.clicker)
        if judged.refused:
            await edge.tell(click, judged.refused)
        else:
            await press(edge, click, judged.actor)

    await edge.guarded(body, name, judged_press)


def on_command(app: AsyncApp, edge: Edge, command: str, run: Run) -> None:
    """A slash command: `run` gets the text behind it; its answer is shown to the one who typed it."""

    async def typed(ack: AsyncAck, body: Body) -> None:
        await ack()

        async def press(edge: Edge, click: Click, actor: Actor) -> None:
            await edge.show(click, await run(edge, actor, str(body.get("text") or "").strip()))

        edge.background.start(_worked(edge, body, "command", press), "command")

    app.command(command)(typed)
