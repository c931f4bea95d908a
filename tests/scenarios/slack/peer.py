"""The refund story against a stranger's Slack server, local-slack: `python peer.py BINARY STATE`, in a network of its own.

So that the bot isn't shaped by the mistakes of our own workspace. Nothing is asserted that this server is known to lack (message
metadata, limits, confirm dialogs, initial values, required fields, who sees a modal). Needs loopback alone; `test_peer.py` starts
it in a network namespace, because that server listens on all interfaces. Says what happened, ends with 0 when the story did.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import sqlite3
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
TOKENS = {"SLACK_BOT_TOKEN": "xoxb-local", "SLACK_APP_TOKEN": "xapp-local"}
CHANNEL, PORT, PATIENCE = "C_SUPPORT", 3900, 30
PEOPLE = {"U_MAYA": "Maya Okafor", "U_TOM": "Tom Hallberg", "U_LEA": "Lea Brandt", "U_IVO": "Ivo Petrov", "U_ADA": "Ada Nystrom"}


def loopback_up() -> None:
    """A new network namespace has its loopback down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh14x", b"lo", 0x1))  # SIOCSIFFLAGS, IFF_UP


def config() -> Json:
    app = {"appId": "A1", "botUserId": "U_BOT", "botName": "deskhand"}
    tokens = {"botToken": TOKENS["SLACK_BOT_TOKEN"], "appToken": TOKENS["SLACK_APP_TOKEN"]}
    users = [{"id": user, "name": name.split()[0].lower(), "real_name": name} for user, name in PEOPLE.items()]
    channel = {"id": CHANNEL, "name": "support", "members": [*PEOPLE, "U_BOT"]}
    team = {"name": "acme", "domain": "acme", "teamId": "T1"}
    return {"workspace": team, "apps": [{**app, **tokens}], "users": users, "channels": [channel]}


class Stranger:
    """People's hands on the other server."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http, self._url = http, f"http://127.0.0.1:{PORT}"

    async def snapshot(self) -> Json:
        """All that its page would show, from a fresh connection."""
        async with self._http.ws_connect(f"{self._url}/ui") as page:
            found: Json = (await page.receive_json(timeout=5))["state"]
            return found

    async def until(self, what: str, look: Callable[[Json], Any]) -> Any:
        """Look until it is there; says what was there instead."""
        seen: Json = {}
        for _ in range(PATIENCE * 10):
            try:
                seen = await self.snapshot()
            except (aiohttp.ClientError, OSError):
                seen = {}
            if seen and (found := look(seen)):
                return found
            await asyncio.sleep(0.1)
        texts = [m.get("text") for ms in (seen.get("messages") or {}).values() for m in _listed(ms)]
        raise SystemExit(f"peer: waited {PATIENCE} s for {what}; there was {json.dumps(texts, ensure_ascii=False)}")

    async def card(self, what: str, action_id: str = "", only_to: str = "") -> Json:
        """The newest message with these words and this button."""

        def look(seen: Json) -> Json | None:
            for message in reversed(_listed(seen["messages"].get(CHANNEL) or [])):
                words = json.dumps(message, ensure_ascii=False)
                if what in words and (not action_id or action_id in words) and message.get("ephemeral_to", "") == only_to:
                    return message
            return None

        found: Json = await self.until(f"“{what}” {action_id} {only_to}", look)
        return found

    async def press(self, user: str, message: Json, action_id: str) -> None:
        block, button = next(
            (block, element)
            for block in message["blocks"]
            for element in block.get("elements") or ()
            if element.get("action_id") == action_id
        )
        action = {**button, "block_id": block["block_id"], "action_ts": message["ts"]}
        order = {"channel": CHANNEL, "messageTs": message["ts"], "user": user, "action": action}
        async with self._http.post(f"{self._url}/_control/interact", json=order) as answer:
            assert answer.status == 200, await answer.text()

    async def modal(self, words: str) -> Json:
        def look(seen: Json) -> Json | None:
            return next((view for view in seen["modalStack"][-1:] if words in json.dumps(view, ensure_ascii=False)), None)

        found: Json = await self.until(f"a form with “{words}”", look)
        return found

    async def submit(self, user: str, values: Json) -> None:
        async with self._http.ws_connect(f"{self._url}/ui") as page:
            await page.receive_json(timeout=5)
            await page.send_json({"t": "view_submit", "user": user, "values": values})
            await page.receive_json(timeout=5)  # it tells every page of what it does


def _listed(messages: Any) -> list[Json]:
    return list(messages.values()) if isinstance(messages, dict) else list(messages)


async def story(them: Stranger, state: Path) -> None:
    card = await them.card("T-0004 · Mixer dead", "ticket.work")
    await them.press("U_MAYA", card, "ticket.work")
    consent = await them.card("Refund 343.49 EUR on order O-1145", "consent.approve")
    await them.press("U_ADA", consent, "consent.approve")
    await them.card("Only support staff or a lead may decide this", only_to="U_ADA")
    _expect(refunds(state) == [], "nothing is refunded before consent")
    await them.press("U_MAYA", consent, "consent.approve")
    asked = await them.card("Release it?", "input.answer")
    _expect([row[1] for row in refunds(state)] == ["held"], "the refund is held before its release")
    await them.press("U_LEA", asked, "input.answer")
    form = await them.modal("Release the refund")
    (field,) = [block for block in form["blocks"] if block["type"] == "input"]
    yes = next(option for option in field["element"]["options"] if option["value"] == "true")
    chosen = {field["element"]["action_id"]: {"type": "radio_buttons", "selected_option": yes}}
    await them.submit("U_LEA", {field["block_id"]: chosen})
    await them.modal("Your answer goes to the server")
    draft = await them.card("has been requested", "draft.send")
    await them.press("U_TOM", draft, "draft.send")
    await them.card("Delivered to the customer")
    await them.card("Answered: waiting for the customer.")
    rows, mails = refunds(state), list((state / "sent").glob("*.json"))
    _expect([row[1:] for row in rows] == [("requested", 34349)], f"one requested refund, not {rows}")
    _expect(len(mails) == 1, f"one reply, not {len(mails)}")
    sys.stdout.write(f"peer: refund {rows[0][0]} requested once, one reply sent\n")


def refunds(state: Path) -> list[tuple[str, str, int]]:
    with sqlite3.connect(state / "shop.db") as shop:
        query = "select refund_id, status, amount_cents from refunds where quote_id is not null"
        return [(row[0], row[1], row[2]) for row in shop.execute(query)]


def _expect(true: bool, words: str) -> None:
    if not true:
        raise SystemExit(f"peer: {words}")


def prepare(state: Path) -> None:
    """The other server's configuration, and one ticket for the bot."""
    state.mkdir(parents=True, exist_ok=True)
    (state / "local-slack.json").write_text(json.dumps(config()), "utf-8")
    lines = (ROOT / "servers/shop/data/tickets.jsonl").read_text("utf-8").splitlines()
    (state / "inbox.jsonl").write_text(next(line for line in lines if '"T-0004"' in line) + "\n", "utf-8")


async def main(binary: str, state: Path) -> None:
    command = (binary, "--config", str(state / "local-slack.json"), "--port", str(PORT), "--base-host", "127.0.0.1")
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    bot = None
    try:
        async with aiohttp.ClientSession() as http:
            them = Stranger(http)
            await them.until("local-slack's page", lambda seen: seen)
            driver = (str(Path(__file__).with_name("driver.py")), f"http://127.0.0.1:{PORT}/api/", str(state), CHANNEL)
            bot = await asyncio.create_subprocess_exec(sys.executable, *driver, env={**os.environ, **TOKENS})
            await story(them, state)
    finally:
        for process in (bot, server):
            if process is not None and process.returncode is None:
                process.send_signal(signal.SIGTERM)
                await process.wait()


if __name__ == "__main__":
    loopback_up()
    prepare(Path(sys.argv[2]))
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
