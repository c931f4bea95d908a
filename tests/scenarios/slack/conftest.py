"""The real bot on a served workspace: people press through the control API, real servers answer, Slack calls come out.

Everything between the press and the message is the product's; only the model is scripted (`tests/scenarios/conftest.py`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from bot import settings as settings_file
from bot.app import SlackSettings
from bot.cli.up import serving
from bot.settings import Settings as BotSettings
from bot.wiring import Running
from models.port import Reply, Request
from models.scripted import ScriptedModel
from servers.workspace.app import serve
from servers.workspace.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
CHANNEL = "C_SUPPORT"
Json = dict[str, Any]
Script = Callable[[Request], Reply]
#: Longest wait for something to show, in seconds.
PATIENCE = 30


class RunningClock:
    """Implements `host.port.Clock`: the real time, put forward by a test."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def move(self, **by: float) -> None:
        self._ahead += timedelta(**by)


class Floor:
    """The workspace, the files around the bot, and people's hands."""

    def __init__(self, url: str, http: aiohttp.ClientSession, state: Path) -> None:
        self.url, self.state, self._http = url, state, http
        self.running: Running | None = None

    async def look_at_the_clock(self) -> None:
        """What the bot's timer does every quarter of a minute, now."""
        assert self.running is not None, "a bot is running"
        await self.running.queue.expire()

    # --- the control API ----------------------------------------------------------------------------------------------

    async def do(self, verb: str, **order: object) -> Json:
        async with self._http.post(f"{self.url}/control/{verb}", json=order) as response:
            answer: Json = await response.json()
            return answer

    async def everything(self) -> Json:
        async with self._http.get(f"{self.url}/control/state") as response:
            answer: Json = await response.json()
            return answer

    async def wait(self, **order: object) -> Json:
        answer = await self.do("wait", **{"timeout": PATIENCE, **order})
        assert answer["ok"], f"{answer['detail']}\n{await self._recent()}"
        return answer

    async def _recent(self) -> str:
        """What the channel and the people see, for a test that waits in vain."""
        seen = await self.everything()
        lines = [message["text"] for message in seen["channels"][CHANNEL]["messages"]]
        lines += [f"(only {one['to']}) {one['text']}" for one in seen["ephemerals"]]
        return "\n".join(["In the channel:", *lines])

    async def messages(self, thread: str | None = None) -> list[Json]:
        """The channel's messages, or one thread's without its first."""
        found: list[Json] = (await self.everything())["channels"][CHANNEL]["messages"]
        return [m for m in found if thread is None or (m.get("thread_ts") == thread and m["ts"] != thread)]

    async def card(self, text: str, **more: object) -> str:
        """The ts of the newest message that shows this text (or has this action_id), once it is there."""
        return str((await self.wait(what="message", text=text, **more))["message"]["ts"])

    async def shows(self, ts: str, text: str, **more: object) -> Json:
        """The message, once it shows this text."""
        found: Json = (await self.wait(what="message", ts=ts, text=text, **more))["message"]
        return found

    async def whispered(self, user: str, text: str) -> Json:
        """An answer that only this person sees."""
        found: Json = (await self.wait(what="ephemeral", user=user, text=text))["message"]
        return found

    async def press(self, user: str, ts: str, action_id: str, **more: object) -> Json:
        """Press a button that is there, as somebody who confirms what is asked."""
        answer = await self.do("click", user=user, ts=ts, action_id=action_id, **{"confirmed": True, **more})
        assert answer["ok"], answer
        assert answer["ms"] < 1000, f"acknowledged after {answer['ms']} ms (spec B8)"
        return answer

    async def open_form(self, user: str, ts: str, action_id: str, callback: str, text: str = "") -> Json:
        """Press a button that opens a form, and wait until the form is filled."""
        await self.press(user, ts, action_id)
        return await self.form(user, callback, text)

    async def form(self, user: str, callback: str, text: str = "") -> Json:
        """The person's form of this kind, once it shows this text."""
        found: Json = (await self.wait(what="modal", user=user, callback_id=callback, text=text))["view"]
        return found

    async def submit(self, user: str, view_id: str | None = None, **values: object) -> Json:
        """Submit the person's visible form with these fields (by action_id)."""
        return await self.do("submit", user=user, values=values, **({"view_id": view_id} if view_id else {}))

    async def slash(self, user: str, text: str) -> None:
        answer = await self.do("slash", user=user, command="/deskhand", text=text)
        assert answer["ok"], answer

    # --- files and books ----------------------------------------------------------------------------------------------

    async def write_tickets(self, *lines: str | Json) -> None:
        """Append lines to the ticket file that the bot reads."""
        await anyio.to_thread.run_sync(self._append, lines)

    def _append(self, lines: tuple[str | Json, ...]) -> None:
        self.state.mkdir(parents=True, exist_ok=True)
        with (self.state / "inbox.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)

    def refunds(self) -> list[Json]:
        """The shop's rows that came from a quote."""
        with sqlite3.connect(self.state / "shop.db") as shop:
            shop.row_factory = sqlite3.Row
            return [dict(row) for row in shop.execute("select * from refunds where quote_id is not null order by refund_id")]

    def sent(self) -> list[Json]:
        """Replies in the sent folder."""
        return [json.loads(path.read_text("utf-8")) for path in sorted((self.state / "sent").glob("*.json"))]

    async def asked(self, ticket_id: str) -> tuple[str, str]:
        """Bring a ticket in and have Maya work it; (the ticket card's ts, the consent card's ts)."""
        await self.write_tickets(ticket(ticket_id))
        ts = await self.card(f"{ticket_id} · ", action_id="ticket.work")
        await self.press("U_MAYA", ts, "ticket.work")
        return ts, await self.card("", action_id="consent.approve", thread_ts=ts)


def ticket(ticket_id: str) -> Json:
    """A ticket of the shop's own file, as its line says."""
    return _TICKETS[ticket_id]


_TICKETS: dict[str, Json] = {
    line["id"]: line for line in map(json.loads, (ROOT / "servers/shop/data/tickets.jsonl").read_text("utf-8").splitlines())
}


@pytest.fixture
def lines() -> Callable[[str], Json]:
    """Tickets as lines of a file, by id."""
    return ticket


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[Floor]:
    """A served workspace without a bot; the app's commands and scopes are those of its manifest."""
    state = tmp_path / "state"
    state.mkdir()
    async with (
        serve(Settings(manifest=ROOT / "manifest.yml", mail=state / "sent")) as running,
        aiohttp.ClientSession() as http,
    ):
        yield Floor(running.url, http, state)


Starting = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def running_clock() -> RunningClock:
    return RunningClock()


@pytest.fixture
def start_bot(floor: Floor, script: Any, running_clock: RunningClock) -> Starting:
    """`start_bot(script, change=settings → settings)`: the bot as `deskhand up` runs it, on this test's workspace and state."""

    @asynccontextmanager
    async def started(
        replies: Script = script.refund, *, change: Callable[[BotSettings], BotSettings] = lambda settings: settings
    ) -> AsyncIterator[ScriptedModel]:
        settings = change(settings_file.load(ROOT / "deskhand.toml", floor.state))
        model = ScriptedModel(replies)
        slack = SlackSettings("xoxb-local", "xapp-local", CHANNEL, f"{floor.url}/api/")
        async with serving(settings, slack, model, clock=running_clock) as running:
            floor.running = running
            await floor.wait(what="connected")
            yield model

    return started
