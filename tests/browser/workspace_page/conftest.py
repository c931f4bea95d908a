"""A served workspace, a foreign app connected to it, and a browser that has the page open."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from servers.workspace.app import serve
from servers.workspace.settings import Settings

Json = dict[str, Any]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]
expect.set_options(timeout=8000)


@dataclass(frozen=True)
class Desk:
    """The workspace, the app's client, what the app heard, and the page."""

    url: str
    client: AsyncWebClient
    page: Page
    heard: list[Json] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    async def post(self, *blocks: Json, text: str = "card", **more: Any) -> str:
        """Post as the app; returns the ts."""
        return str((await self.client.chat_postMessage(channel="C_SUPPORT", text=text, blocks=blocks or None, **more))["ts"])

    async def become(self, user_id: str) -> None:
        """Be another person."""
        await self.page.click(f'[data-user-id="{user_id}"]')


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for all tests of a module, so that they can share one browser."""
    return "asyncio"


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture
async def desk(browser: Browser) -> AsyncIterator[Desk]:
    async with _desk(browser, 1280, 800) as opened:
        yield opened


@pytest.fixture
async def narrow_desk(browser: Browser) -> AsyncIterator[Desk]:
    async with _desk(browser, 400, 800) as opened:
        yield opened


@contextlib.asynccontextmanager
async def _desk(browser: Browser, width: int, height: int) -> AsyncIterator[Desk]:
    async with serve(Settings(ack_seconds=0.8)) as running:
        client = AsyncWebClient(token="xoxb-local", base_url=f"{running.url}/api/", retry_handlers=[])
        context = await browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        page = await context.new_page()
        desk = Desk(running.url, client, page)
        page.on("pageerror", lambda error: desk.complaints.append(str(error)))
        page.on("console", lambda message: desk.complaints.append(message.text) if message.type == "error" else None)
        handler = AsyncSocketModeHandler(_foreign(client, desk.heard), "xapp-local")
        await handler.connect_async()
        try:
            await page.goto(running.url)
            await page.wait_for_selector("body[data-ready]", timeout=10_000)
            yield desk
            assert desk.complaints == []
        finally:
            await handler.close_async()
            await context.close()


def _foreign(client: AsyncWebClient, heard: list[Json]) -> AsyncApp:
    """Somebody else's app: every button is acknowledged and kept; `open` shows a form; the command answers."""
    app = AsyncApp(client=client)

    @app.action("open")
    async def show(ack: Any, body: Json) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=FORM)

    @app.action("whisper")
    async def whisper(ack: Any, respond: Any) -> None:
        await ack()
        await respond(text="not you, <@U_MAYA>")

    @app.action("silent")
    async def silent() -> None:
        pass  # never acknowledges

    @app.action("pay")
    async def keep(ack: Any, body: Json) -> None:
        await ack()
        heard.append(body)
        await client.chat_update(channel="C_SUPPORT", ts=body["message"]["ts"], text=f"paid by {body['user']['name']}")

    @app.view("form")
    async def submitted(ack: Any, body: Json) -> None:
        values = body["view"]["state"]["values"]
        if values["why"]["why"]["value"] == "because":
            await ack(response_action="errors", errors={"why": "That is no reason."})
            return
        await ack()
        heard.append(values)

    @app.command("/deskhand")
    async def command(ack: Any, command: Json) -> None:
        await ack(f"heard {command['text']}")

    return app


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def _field(block_id: str, element: Json, **more: Any) -> Json:
    named = {"action_id": block_id, **element}
    return {"type": "input", "block_id": block_id, "label": plain(block_id.title()), "element": named, **more}


CHOICES = [{"text": plain("Yes, release"), "value": "y"}, {"text": plain("No"), "value": "n"}]
#: More than boxes to tick may be: twelve, of which two may be chosen.
PAPERS = {
    "type": "multi_static_select",
    "placeholder": plain("Choose papers"),
    "options": [{"text": plain(f"Paper {n}"), "value": str(n)} for n in range(12)],
    "initial_options": [{"text": plain("Paper 3"), "value": "3"}],
    "max_selected_items": 2,
}
FORM = {
    "type": "modal",
    "callback_id": "form",
    "title": plain("A form"),
    "submit": plain("Answer"),
    "close": plain("Cancel"),
    "blocks": [
        _field("why", {"type": "plain_text_input", "multiline": True}, hint=plain("Goes to the journal")),
        _field("amount", {"type": "number_input", "is_decimal_allowed": True, "max_value": "150"}),
        _field("release", {"type": "radio_buttons", "options": CHOICES, "initial_option": CHOICES[0]}),
        _field("tags", {"type": "checkboxes", "options": CHOICES}, optional=True),
        _field("kind", {"type": "static_select", "options": CHOICES}),
        _field("papers", PAPERS),
        _field("day", {"type": "datepicker", "initial_date": "2026-12-01"}),
        _field("mail", {"type": "email_text_input"}, optional=True),
        _field("link", {"type": "url_text_input"}, optional=True),
    ],
}
