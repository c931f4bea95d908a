"""The page with everything behind it: the shop's API and books, the workspace, the real bot on real servers, a scripted model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.text import TextReceiveStream
from playwright.async_api import Locator, Page, async_playwright, expect

from bot import settings as settings_file
from bot.app import SlackSettings
from bot.cli.up import serving
from models.port import Reply, Request
from models.scripted import ScriptedModel, call
from servers.workspace.app import serve
from servers.workspace.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]
LIE = "Thank you for your message. I have issued a refund of 25.00 EUR to your card, and it will arrive within two days."
#: Where screenshots go (docs/ for those of the README); without it none is taken.
SHOTS = os.environ.get("DESKHAND_SHOTS", "")
SIZE = {"width": 1400, "height": 900}
expect.set_options(timeout=20_000)


def model(request: Request) -> Reply:
    """Quotes and issues the refund of the order that the ticket names; about order 1387 it lies."""
    start = max(n for n, one in enumerate(request.messages) if one.role == "user" and one.content.startswith("Ticket:"))
    said = "\n".join(one.content for one in request.messages[start:] if one.role == "tool")
    order = re.search(r"O-\d{4}", request.messages[start].content)
    if order is None or order[0] == "O-1387":
        return call("desk.reply", text=LIE)
    quote = re.search(r"Q-[0-9a-f]{10}", said)
    if quote is None:
        return call("shop.quote_refund", order_id=order[0])
    if "shop.issue_refund:" not in said:
        return call("shop.issue_refund", quote_id=quote[0])
    amount = re.findall(r'"amount":([0-9.]+)', said)[-1]
    words = f"I am sorry about this. A refund of {float(amount):.2f} EUR for order {order[0]} has been requested."
    return call("desk.reply", text=words)


@dataclass(frozen=True)
class Story:
    """The page and what happened behind it."""

    page: Page
    state: Path
    complaints: list[str] = field(default_factory=list)

    async def become(self, user: str) -> None:
        await self.page.click(f'[data-user-id="{user}"]')

    async def place(self, name: str) -> None:
        await self.page.click(f'[data-place="{name}"]')

    def card(self, text: str) -> Locator:
        """The newest message of the channel that shows this text."""
        return self.page.locator("#messages > [data-ts]", has_text=text).last

    def answer(self, text: str) -> Locator:
        """The newest message of the open thread that shows this text."""
        return self.page.locator("#thread-messages > [data-ts]", has_text=text).last

    async def press(self, card: Locator, action_id: str) -> None:
        await card.locator(f'[data-action-id="{action_id}"]').click()

    async def confirm(self) -> None:
        await self.page.click("[data-confirm=confirm]")

    async def shot(self, name: str, place: Locator | None = None) -> None:
        """A picture for the documentation, only when somebody asks for pictures. One of a card has room for all of it."""
        if not SHOTS:
            return
        path = Path(SHOTS) / f"{name}.png"
        if place is None:
            await self.page.screenshot(path=path)
            return
        await self.page.set_viewport_size({"width": 1600, "height": 1700})
        await place.screenshot(path=path)
        await self.page.set_viewport_size(SIZE)


@asynccontextmanager
async def _shop_api(state: Path) -> AsyncIterator[str]:
    """The shop's HTTP API on its database, as its own process; yields its address."""
    command = [sys.executable, "-m", "servers.shop", "api", "--database", str(state / "shop.db"), "--port", "0"]
    async with await anyio.open_process(command, stderr=None, stdin=subprocess.DEVNULL) as shop:
        try:
            assert shop.stdout is not None
            with anyio.fail_after(20):
                line = await TextReceiveStream(shop.stdout).receive()
            yield line.split()[-1]
        finally:
            shop.terminate()


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        context = await browser.new_context(viewport=SIZE, reduced_motion="reduce", color_scheme="light", timezone_id="UTC")
        yield await context.new_page()
        await browser.close()


@pytest.fixture
async def story(page: Page, tmp_path: Path) -> AsyncIterator[Story]:
    state = tmp_path / "state"
    state.mkdir()
    told = Story(page, state)
    page.on("pageerror", lambda error: told.complaints.append(str(error)))
    page.on("console", lambda said: told.complaints.append(said.text) if said.type == "error" else None)
    settings = settings_file.load(ROOT / "deskhand.toml", state)
    async with _shop_api(state) as shop:
        inbox, manifest = state / "inbox.jsonl", ROOT / "manifest.yml"
        around: dict[str, Any] = {"shop": shop, "mail": state / "sent", "customer_intake": inbox, "manifest": manifest}
        async with serve(Settings(**around)) as running:
            slack = SlackSettings("xoxb-local", "xapp-local", "C_SUPPORT", f"{running.url}/api/")
            async with serving(settings, slack, ScriptedModel(model)):
                await page.goto(running.url)
                await page.wait_for_selector("body[data-ready]", timeout=10_000)
                yield told
    assert told.complaints == []
