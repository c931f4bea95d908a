"""A token for each member of staff, against the shop and its own token verifier over HTTP (spec H3, H10): who acts, on which
ticket, in every round of a call, over a restart of ours in between."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host.config import ServerConfig
from host.errors import StateRefused, Unavailable
from host.types import NeedsInput

pytestmark = pytest.mark.anyio

KNOWN = {
    "token-of-service": {"subject": "service-desk", "tickets": "*"},
    "token-of-0007": {"subject": "staff-0007", "tickets": "*"},
    "token-of-0008": {"subject": "staff-0008", "tickets": "*"},
    "token-of-0031": {"subject": "staff-0031", "tickets": ["T-0012"]},
}
OURS = {
    "service": "token-of-service",
    "staff-0007": "token-of-0007",
    "staff-0008": "token-of-0008",
    "staff-0031": "token-of-0031",
}
ORDER = {"order_id": "O-1864"}


def about(ticket: str) -> dict[str, Any]:
    return {"meta": {"shop.example/ticket_id": ticket, "shop.example/acting": "somebody-else"}}


class Shop:
    """The shop over HTTP, and the files that each side reads its tokens from."""

    def __init__(self, folder: Path) -> None:
        self.database, self.known, self.ours = (folder / name for name in ("shop.sqlite", "known.json", "ours.json"))
        self.known.write_text(json.dumps(KNOWN))
        self.ours.write_text(json.dumps(OURS))
        self.url = ""

    @property
    def config(self) -> ServerConfig:
        return ServerConfig(url=f"{self.url}/mcp", staff_tokens_file=str(self.ours))

    def last_refund(self) -> tuple[str, str, str | None]:
        """Its status, who requested it and who released it."""
        database = sqlite3.connect(self.database)
        row = database.execute("select status, requested_by, released_by from refunds order by rowid desc limit 1").fetchone()
        database.close()
        return row[0], row[1], row[2]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    command = [sys.executable, "-m", "servers.shop", "mcp", "--http", "--port", "0", "--database", str(shop.database)]
    environment = {**os.environ, "SHOP_TOKENS_FILE": str(shop.known)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        shop.url = process.stdout.readline().split()[-1]
        yield shop
        process.kill()


async def begun(wire: Any, sessions: Any, subject: str) -> tuple[dict[str, Any], NeedsInput]:
    quote = await wire.call(sessions, "shop", "quote_refund", arguments=ORDER, subject=subject, **about("T-0048"))
    wanted = {"quote_id": quote.data["quote_id"], "idempotency_key": "key-1"}
    asked = await wire.call(sessions, "shop", "issue_refund", arguments=wanted, subject=subject, **about("T-0048"))
    assert isinstance(asked, NeedsInput)
    return wanted, asked


async def test_each_round_of_a_call_bears_the_token_that_began_it_over_a_restart_of_ours(
    wire: Any, memory: Any, shop: Shop
) -> None:
    async with wire.connected(memory, shop=shop.config) as sessions:
        wanted, asked = await begun(wire, sessions, "staff-0007")
    stored = NeedsInput(pending=json.loads(json.dumps(asked.pending)))
    answer = {**wire.accept(stored, release=True), **about("T-0048")}
    async with wire.connected(memory, shop=shop.config) as sessions:
        done = await wire.call(sessions, "shop", "issue_refund", arguments=wanted, subject="staff-0007", **answer)
    assert done.data["status"] == "requested"
    assert shop.last_refund() == ("requested", "staff-0007", "staff-0007")


@pytest.mark.parametrize("other", ["staff-0008", "service"])
async def test_a_state_is_its_principals_alone(wire: Any, shop: Shop, other: str) -> None:
    async with wire.connected(shop=shop.config) as sessions:
        wanted, asked = await begun(wire, sessions, "staff-0007")
        answer = {**wire.accept(asked, release=True), **about("T-0048")}
        with pytest.raises(StateRefused):
            await wire.call(sessions, "shop", "issue_refund", arguments=wanted, subject=other, **answer)
        assert shop.last_refund() == ("held", "staff-0007", None)
        done = await wire.call(sessions, "shop", "issue_refund", arguments=wanted, subject="staff-0007", **answer)
        assert done.data["status"] == "requested"


async def test_a_new_token_of_the_same_person_carries_the_call_on(wire: Any, shop: Shop) -> None:
    async with wire.connected(shop=shop.config) as sessions:
        wanted, asked = await begun(wire, sessions, "staff-0007")
        shop.known.write_text(json.dumps({**KNOWN, "renewed-0007": KNOWN["token-of-0007"]}))
        shop.ours.write_text(json.dumps({**OURS, "staff-0007": "renewed-0007"}))
        answer = {**wire.accept(asked, release=True), **about("T-0048")}
        done = await wire.call(sessions, "shop", "issue_refund", arguments=wanted, subject="staff-0007", **answer)
    assert done.data["status"] == "requested"


async def test_who_may_not_handle_a_ticket_is_told_so_whatever_the_call_claims(wire: Any, shop: Shop) -> None:
    async with wire.connected(shop=shop.config) as sessions:
        own = await wire.call(sessions, "shop", "find_orders", subject="staff-0031", **about("T-0012"))
        other = await wire.call(sessions, "shop", "find_orders", subject="staff-0031", **about("T-0004"))
    assert own.data["orders"]
    assert other.is_error
    assert "staff-0031 may not handle this ticket" in other.text


async def test_nobodys_token_stands_in_for_another_persons(wire: Any, shop: Shop) -> None:
    async with wire.connected(shop=shop.config) as sessions:
        with pytest.raises(Unavailable, match="no token for staff-0099"):
            await wire.call(sessions, "shop", "find_orders", subject="staff-0099", **about("T-0004"))
        shop.ours.write_text(json.dumps({**OURS, "staff-0008": ""}))
        with pytest.raises(Unavailable, match="must be a JSON object"):
            await wire.call(sessions, "shop", "find_orders", subject="staff-0008", **about("T-0004"))
        shop.ours.write_text(json.dumps({**OURS, "staff-0008": "made-up"}))
        with pytest.raises(Unavailable, match="HTTP 401"):
            await wire.call(sessions, "shop", "find_orders", subject="staff-0008", **about("T-0004"))
        assert (await wire.call(sessions, "shop", "find_orders", subject="staff-0007", **about("T-0004"))).data["orders"]
        assert sessions.health()[0].state == "connected"  # one person's bad token is nobody else's trouble


async def test_a_withdrawn_token_stops_its_holder_alone(wire: Any, shop: Shop) -> None:
    async with wire.connected(shop=shop.config) as sessions:
        wanted, asked = await begun(wire, sessions, "staff-0007")
        shop.known.write_text(json.dumps({token: holder for token, holder in KNOWN.items() if token != "token-of-0007"}))
        answer = {**wire.accept(asked, release=True), **about("T-0048")}
        with pytest.raises(Unavailable, match="HTTP 401"):
            await wire.call(sessions, "shop", "issue_refund", arguments=wanted, subject="staff-0007", **answer)
        assert (await wire.call(sessions, "shop", "find_orders", subject="staff-0008", **about("T-0004"))).data["orders"]
    assert shop.last_refund() == ("held", "staff-0007", None)
