"""What handlers work with: the host's front door, who is who, and a way to tell somebody something (spec B8)."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.cards.rendered import Rendered
from bot.cards.status import said
from bot.listeners.front import Front
from bot.listeners.payload import Body, Click, click_from
from bot.roles import Roles
from host.errors import HostError
from host.types import Actor, Answer, Json, NotTaken, Taken

log = logging.getLogger(__name__)


def _no_details(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO


#: Slack's libraries write whole payloads at DEBUG: their logger is held at INFO, whatever level somebody sets (spec H16). Bolt
#: copies the filter to the loggers that it makes of this one.
quiet = logging.getLogger("deskhand.slack")
quiet.setLevel(logging.INFO)
quiet.addFilter(_no_details)
_LOST = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError)


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

    async def guarded(self, body: Body, name: str, work: Work) -> None:
        """The edge of every handler: whatever goes wrong is logged by type and told to the clicker."""
        click = click_from(body)
        try:
            await work(click)
        except HostError as error:
            log.info("listener_refused name=%s error=%s", name, type(error).__name__)
            await self.tell(click, f"{error} Nothing was decided by this.")
        except Exception as error:  # noqa: BLE001 - an edge: nothing may be silently ignored
            log.error("listener_failed name=%s error=%s", name, type(error).__name__)
            await self.tell(click, f"Something went wrong here ({type(error).__name__}). The card shows what counts; try again.")

    def checked(self, body: Body, check: Check | None) -> Mapping[str, str]:
        """Errors beside fields; a check that fails must not cost the acknowledgement: the answer is judged afterwards anyway."""
        try:
            return check(self, click_from(body)) if check else {}
        except Exception as error:  # noqa: BLE001 - an edge
            log.error("form_check_failed error=%s", type(error).__name__)
            return {}

    async def answer(self, click: Click, actor: Actor, answer: Answer) -> None:
        """A button's answer: what counts shows on the card, what doesn't is told to the clicker."""
        match await self.host.answer(click.value, actor, answer):
            case NotTaken(words=words):
                await self.tell(click, words)
            case Taken():
                pass


Work = Callable[[Click], Awaitable[None]]
Check = Callable[[Edge, Click], Mapping[str, str]]
"""Errors by block id for what was typed; pure and without waiting, as it runs before the acknowledgement."""
