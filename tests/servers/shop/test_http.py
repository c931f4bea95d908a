"""The shop over real HTTP: its API alone, the MCP server in front of it, and bearer tokens."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from servers.shop.seed import DATA

pytestmark = pytest.mark.anyio

KEY = "a-key-for-tests-of-at-least-32-bytes"
TOKENS = {
    "token-of-staff": {"subject": "staff-0007", "tickets": "*"},
    "token-of-lead": {"subject": "lead-0002", "tickets": "*"},
    "token-of-trainee": {"subject": "staff-0031", "tickets": ["T-0012"]},
}


@asynccontextmanager
async def bearing(url: str, token: str | None) -> AsyncIterator[object]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=20) as http:
        yield streamable_http_client(f"{url}/mcp", http_client=http)


@pytest.fixture
async def api(over_http, database) -> AsyncIterator[str]:
    async with over_http("servers.shop", "api", "--database", str(database)) as url:
        yield url


async def test_the_api_takes_a_customer_s_new_ticket(api: str) -> None:
    async with httpx2.AsyncClient(base_url=api, timeout=20) as http:
        known = await http.post(
            "/tickets",
            json={"name": "Colin H", "email": "Colin.Hargreave@example.com", "subject": "hello", "body": "Any news of my order?"},
        )
        stranger = await http.post("/tickets", json={"name": "?", "email": "somebody@example.com", "body": "Hi"})
        bad = await http.post("/tickets", json={"name": "?", "email": "nonsense", "body": "Hi"})
        garbage = await http.post("/tickets", content=b"{")
        listed = (await http.get("/tickets")).json()
        orders = await http.get("/tickets/T-0050/orders")
    assert known.status_code == 201
    assert (known.json()["id"], known.json()["customer_id"], known.json()["sender_verified"]) == ("T-0049", "C-0129", True)
    assert known.json()["received_at"].startswith("2026-06-02T")
    assert (stranger.json()["id"], stranger.json()["customer_id"]) == ("T-0050", None)
    assert stranger.json()["sender_verified"] is False
    assert (bad.status_code, bad.json()["code"]) == (422, "unreadable")
    assert bad.json()["error"].startswith("email")
    assert garbage.status_code == 422
    assert set(listed[0]) == set(known.json())
    assert len(listed) == 50
    assert (orders.status_code, orders.json()["code"]) == (422, "no_customer")


async def test_the_api_s_tickets_are_those_of_the_export(api: str) -> None:
    async with httpx2.AsyncClient(base_url=api, timeout=20) as http:
        listed = (await http.get("/tickets")).json()
        stats = (await http.get("/stats")).json()
        foreign = await http.get("/tickets", headers={"Host": "shop.evil.example"})
        browser = await http.post("/refunds/R-0101/release", headers={"Origin": "http://127.0.0.1:8000"})
    export = (DATA / "tickets.jsonl").read_text(encoding="utf-8")
    assert listed == [json.loads(line) for line in export.splitlines()]
    assert stats == {"tickets": 48, "customers": 40, "quotes": 0, "refunds": {"held": 0, "requested": 0, "paid": 10}}
    assert foreign.status_code == 400
    assert browser.status_code == 403


async def test_the_mcp_server_speaks_to_an_api_elsewhere_and_stats_follow(api: str, connected, over_stdio) -> None:
    target = over_stdio("servers.shop", "mcp", "--api", api, env={"SHOP_STATE_KEY": KEY})
    async with connected(target) as call:
        quote = (await call("quote_refund", {"order_id": "O-1145"}, "T-0004")).structured_content
        question = await call("issue_refund", {"quote_id": quote["quote_id"], "idempotency_key": "k"}, "T-0004")
        assert question.input_requests
        async with httpx2.AsyncClient(base_url=api, timeout=20) as http:
            held = (await http.get("/stats")).json()["refunds"]
            released = await http.post("/refunds/R-0111/release", json={"acting": "lead-0002"})
            paid = await http.post("/refunds/R-0101/release", json={})
            missing = await http.post("/refunds/R-0999/release", json={})
            row = (await http.get("/refunds")).json()[-1]
    assert held == {"held": 1, "requested": 0, "paid": 10}
    assert released.json()["status"] == "requested"
    assert (paid.status_code, missing.status_code) == (409, 404)
    assert (row["requested_by"], row["released_by"], row["ticket_id"]) == ("staff-0007", "lead-0002", "T-0004")


async def test_an_api_that_is_gone_is_no_tool_error(connected, over_stdio) -> None:
    target = over_stdio("servers.shop", "mcp", "--api", "http://127.0.0.1:9", env={"SHOP_STATE_KEY": KEY})
    async with connected(target) as call:
        with pytest.raises(MCPError, match="did not answer"):
            await call("find_orders", {}, "T-0009")


async def test_a_bearer_token_decides_who_acts_and_on_which_tickets(over_http, database, connected, tmp_path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    environment = {"SHOP_TOKENS_FILE": str(tokens)}
    async with over_http("servers.shop", "mcp", "--http", "--database", str(database), env=environment) as url:
        async with bearing(url, "token-of-trainee") as target, connected(target) as call:
            own = await call("find_orders", {}, "T-0012")
            other = await call("find_orders", {}, "T-0004")
        async with bearing(url, "token-of-staff") as target, connected(target) as call:
            quote = (await call("quote_refund", {"order_id": "O-1864"}, "T-0048")).structured_content
            wanted = {"quote_id": quote["quote_id"], "idempotency_key": "k"}
            question = await call("issue_refund", wanted, "T-0048", acting="somebody-else")
        answer = {
            "input_responses": dict.fromkeys(question.input_requests, ElicitResult(action="accept", content={"release": True})),
            "request_state": question.request_state,
        }
        async with bearing(url, "token-of-lead") as target, connected(target) as call:
            with pytest.raises(MCPError):
                await call("issue_refund", wanted, "T-0048", **answer)
        async with bearing(url, "token-of-staff") as target, connected(target) as call:
            released = await call("issue_refund", wanted, "T-0048", **answer)
        for token in (None, "token-of-nobody"):
            async with bearing(url, token) as target:
                with pytest.raises((MCPError, ExceptionGroup)), anyio.fail_after(20):
                    async with Client(target, read_timeout_seconds=5) as client:
                        await client.list_tools()
    assert own.structured_content["orders"][0]["order_id"]
    assert other.is_error
    assert "staff-0031 may not handle this ticket" in other.content[0].text
    assert released.structured_content["status"] == "requested"
    async with over_http("servers.shop", "api", "--database", str(database)) as url, httpx2.AsyncClient(base_url=url) as http:
        row = (await http.get("/refunds")).json()[-1]
    assert (row["requested_by"], row["released_by"]) == ("staff-0007", "staff-0007")


async def test_a_withdrawn_token_stops_working_without_a_restart(over_http, database, connected, tmp_path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    environment = {"SHOP_TOKENS_FILE": str(tokens)}
    shop = over_http("servers.shop", "mcp", "--http", "--database", str(database), env=environment)
    async with shop as url, bearing(url, "token-of-staff") as target, connected(target) as call:
        assert not (await call("find_orders", {}, "T-0009")).is_error
        tokens.write_text(json.dumps({"token-of-lead": TOKENS["token-of-lead"]}))
        with pytest.raises(MCPError):
            await call("find_orders", {}, "T-0009")
        for unreadable in ("{", '{"token-of-staff": {"subject": "staff-0007"}}'):
            tokens.write_text(unreadable)
            async with httpx2.AsyncClient(headers={"Authorization": "Bearer token-of-staff"}) as http:
                assert (await http.post(f"{url}/mcp", json={})).status_code == 401
        tokens.write_text(json.dumps(TOKENS))
        assert not (await call("find_orders", {}, "T-0009")).is_error
