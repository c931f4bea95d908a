"""The edge where Slack's payloads come in: acknowledge first, work in a kept task, answer every press in words (spec B8).

Each handler is a small function of (edge, click, actor); this module alone knows payload shapes, acknowledgements and forms. Why
the work never runs in Bolt's own listener task: a listener that raises within 10 ms after `ack()` loses its acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.cards import modals
from bot.cards.modals import View
from bot.cards.rendered import Rendered
from bot.cards.status import said
from bot.listeners.front import Front
from bot.roles import Clicker, Roles
from host.errors import HostError
from host.types import Actor, Answer, AnswerResult, Json, NotTaken, Taken

log = logging.getLogger(__name__)
Body = Mapping[str, Any]
_LOOKS, _LOOK_SECONDS = 20, 0.1
ANYTHING = re.compile(r"(?s).*")
_LOST = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError)


@dataclass(frozen=True, slots=True)
class Click:
    """What was pressed, by whom and where. `value` is an opaque id; nothing else of the message is looked at."""

    clicker: Clicker
    value: str = ""
    trigger_id: str = ""
    channel: str = ""
    thread_ts: str = ""
    response_url: str = ""
    view_id: str = ""
    values: Mapping[str, Mapping[str, Json]] | None = None


def click_from(body: Body) -> Click:
    """From the payload of a button, a form or a command. A person's own workspace counts, not where they pressed."""
    user = body.get("user") or {}
    team = user.get("team_id") or (body.get("team") or {}).get("id") or body.get("team_id") or ""
    view, message, container = body.get("view") or {}, body.get("message") or {}, body.get("container") or {}
    action: Mapping[str, Any] = next(iter(body.get("actions") or ()), {})
    state = (view.get("state") or {}).get("values") if body.get("type") == "view_submission" else None
    return Click(
        clicker=Clicker(str(user.get("id") or body.get("user_id") or ""), (str(team),) if team else ()),
        value=str(action.get("value") or "") if action else str(view.get("private_metadata") or ""),
        trigger_id=str(body.get("trigger_id") or ""),
        channel=str((body.get("channel") or {}).get("id") or body.get("channel_id") or container.get("channel_id") or ""),
        thread_ts=_thread(message),
        response_url=str(body.get("response_url") or ""),
        view_id=str(view.get("id") or ""),
        values=state,
    )


def _thread(message: Body) -> str:
    """The thread of a pressed reply; "" for a card in the channel, as its presser may not have the thread open."""
    thread = str(message.get("thread_ts") or "")
    return thread if thread != message.get("ts") else ""


class Background:
    """Tasks that outlive a handler: each is kept until it ends, and shutdown waits for them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def running(self) -> int:
        return len(self._tasks)

    async def drain(self, seconds: float = 10.0) -> None:
        """Wait for what runs, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        left = set(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class Edge:
    """What handlers work with. `channel` is where somebody is told something who pressed inside a form."""

    def __init__(
        self, *, host: Front, roles: Roles, web: AsyncWebClient, background: Background, channel: str, command: str
    ) -> None:
        self.host = host
        self.roles = roles
        self.web = web
        self.background = background
        self.channel = channel
        self.command = command
        self.schemas: OrderedDict[str, Mapping[str, Json]] = OrderedDict()

    def remember_schema(self, question_id: str, schema: Mapping[str, Json]) -> None:
        """So that a form's errors can stand beside its fields with no look-up before the acknowledgement. 200 are kept."""
        self.schemas[question_id] = schema
        self.schemas.move_to_end(question_id)
        while len(self.schemas) > 200:
            self.schemas.popitem(last=False)

    async def tell(self, click: Click, words: str) -> None:
        """Words only to the clicker, in the thread they pressed in."""
        await self.show(click, said(words))

    async def show(self, click: Click, card: Rendered) -> None:
        channel = click.channel or self.channel
        try:
            await self.web.chat_postEphemeral(
                channel=channel,
                user=click.clicker.user,
                text=card.text,
                blocks=list(card.blocks),
                parse="none",
                thread_ts=click.thread_ts or None,
            )
        except _LOST as error:
            if not click.response_url:
                log.error("answer_lost user=%s error=%s", click.clicker.user, type(error).__name__)
                return
            await self._respond(click, card)

    async def _respond(self, click: Click, card: Rendered) -> None:
        """By the payload's own address, which also works where the bot may not post."""
        webhook = AsyncWebhookClient(click.response_url, logger=quiet)
        try:
            answer = await webhook.send(
                text=card.text, blocks=list(card.blocks), response_type="ephemeral", replace_original=False
            )
        except _LOST as error:
            log.error("answer_lost user=%s error=%s", click.clicker.user, type(error).__name__)
        else:
            if answer.status_code != 200:
                log.error("answer_lost user=%s status=%s", click.clicker.user, answer.status_code)

    async def answer(self, click: Click, actor: Actor, answer: Answer) -> None:
        """A button's answer: what counts shows on the card, what doesn't is told to the clicker."""
        match await self.host.answer(click.value, actor, answer):
            case NotTaken(words=words):
                await self.tell(click, words)
            case Taken():
                pass


#: Slack's libraries write whole payloads at DEBUG; their loggers are held at INFO (spec H16).
quiet = logging.getLogger("deskhand.slack")
quiet.setLevel(logging.INFO)

Press = Callable[[Edge, Click, Actor], Awaitable[None]]
Fill = Callable[[Edge, Click, Actor], Awaitable[View]]
Check = Callable[[Edge, Click], Mapping[str, str]]
Work = Callable[[Edge, Click, Actor | None], Awaitable[None]]
Run = Callable[[Edge, Actor, str], Awaitable[Rendered]]


def on_button(app: AsyncApp, edge: Edge, action_id: str, press: Press) -> None:
    """A button without a form."""

    async def pressed(ack: AsyncAck, body: Body) -> None:
        await ack()
        edge.background.start(_worked(edge, body, action_id, press), action_id)

    app.action(action_id)(pressed)


def on_opening(app: AsyncApp, edge: Edge, action_id: str, title: str, fill: Fill) -> None:
    """A button that opens a form: a loading one at once (Slack gives three seconds), then what `fill` makes, or words."""

    async def press(edge: Edge, click: Click, _actor: Actor | None) -> None:
        try:
            opened = await edge.web.views_open(trigger_id=click.trigger_id, view=modals.loading(title, click.value))
        except SlackApiError:
            await edge.tell(click, "Slack did not let Deskhand open the form in time. Nothing was decided: please press again.")
            return
        view_id = str((opened.get("view") or {}).get("id") or "")
        await _show_in(edge, click, view_id, await _filled(edge, click, title, fill))

    async def pressed(ack: AsyncAck, body: Body) -> None:
        await ack()
        edge.background.start(_guarded(edge, body, action_id, press), action_id)

    app.action(action_id)(pressed)


def on_submit(app: AsyncApp, edge: Edge, callback_id: str, title: str, submit: Fill, check: Check | None = None) -> None:
    """A form's submit. `check` (pure, no waiting) puts errors beside fields; the answer's words replace the form."""

    async def submitted(ack: AsyncAck, body: Body) -> None:
        errors = _checked(edge, body, check)
        if errors:
            await ack(response_action="errors", errors=dict(errors))
            return
        name = secrets.token_hex(12)

        async def taken(edge: Edge, click: Click, _actor: Actor | None) -> None:
            await _show_named(edge, click, name, await _filled(edge, click, title, submit))

        waiting = {**modals.loading(title, str(body["view"].get("private_metadata") or "")), "external_id": name}
        await ack(response_action="update", view=waiting)
        edge.background.start(_guarded(edge, body, callback_id, taken), callback_id)

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
    async def judged_press(edge: Edge, click: Click, _actor: Actor | None) -> None:
        judged = await edge.roles.judge(click.clicker)
        if judged.refused:
            await edge.tell(click, judged.refused)
        else:
            await press(edge, click, judged.actor)

    await _guarded(edge, body, name, judged_press)


async def _guarded(edge: Edge, body: Body, name: str, work: Work) -> None:
    """The listener's edge: whatever goes wrong is logged by type and told to the clicker."""
    click = click_from(body)
    try:
        await work(edge, click, None)
    except HostError as error:
        log.info("listener_refused name=%s error=%s", name, type(error).__name__)
        await edge.tell(click, f"{error} Nothing was decided by this.")
    except Exception as error:  # noqa: BLE001 - an edge: nothing may be silently ignored
        log.error("listener_failed name=%s error=%s", name, type(error).__name__)
        await edge.tell(
            click, f"Something went wrong here ({type(error).__name__}). The card shows what counts; please try again."
        )


def _checked(edge: Edge, body: Body, check: Check | None) -> Mapping[str, str]:
    """Errors beside fields; a check that fails must not cost the acknowledgement, and the answer is judged afterwards anyway."""
    try:
        return check(edge, click_from(body)) if check else {}
    except Exception as error:  # noqa: BLE001 - an edge
        log.error("form_check_failed error=%s", type(error).__name__)
        return {}


def on_command(app: AsyncApp, edge: Edge, command: str, run: Run) -> None:
    """A slash command: `run` gets the text behind it; its answer is shown to the one who typed it."""

    async def typed(ack: AsyncAck, body: Body) -> None:
        await ack()

        async def press(edge: Edge, click: Click, actor: Actor) -> None:
            await edge.show(click, await run(edge, actor, str(body.get("text") or "").strip()))

        edge.background.start(_worked(edge, body, "command", press), "command")

    app.command(command)(typed)
