"""Which token a call bears, and how one is had (spec H3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from host.config import OAuthConfig, ServerConfig
from host.errors import StateRefused, Unavailable

pytestmark = pytest.mark.anyio


async def test_the_person_who_acts_decides_the_token_and_a_state_belongs_to_its_principal(wire: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "staff.json"
    tokens.write_text(json.dumps({"service": "t0", "staff-0007": "t7", "staff-0008": "t8"}))
    with wire.http(wire.BENCH, BENCH_TOKENS="t0=service,t7=staff-0007,t8=staff-0008") as (port, _process):
        await wire.listening(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp", staff_tokens_file=str(tokens))
        async with wire.connected(shop=config) as sessions:
            meta = {"bench.example/ticket": "T-0009"}
            assert (await wire.call(sessions, "shop", "whoami", subject="staff-0007", meta=meta)).text == "staff-0007 T-0009"
            with pytest.raises(Unavailable, match="no token for staff-0099"):
                await wire.call(sessions, "shop", "whoami", subject="staff-0099")
            asked = await wire.call(sessions, "shop", "release", arguments={"order": "O-1"}, subject="staff-0007")
            answer = wire.accept(asked, release=True)
            with pytest.raises(StateRefused):
                await wire.call(sessions, "shop", "release", arguments={"order": "O-1"}, subject="staff-0008", **answer)
            done = await wire.call(sessions, "shop", "release", arguments={"order": "O-1"}, subject="staff-0007", **answer)
            assert done.text == "O-1 released: True"


async def test_a_wrong_or_missing_token_is_named_as_the_reason(wire: Any) -> None:
    with wire.http(wire.BENCH, BENCH_TOKENS="t0=service") as (port, _process):
        await wire.listening(port)
        url = f"http://127.0.0.1:{port}/mcp"
        async with wire.connected(
            none=ServerConfig(url=url), unset=ServerConfig(url=url, token_env="BENCH_NO_TOKEN")
        ) as sessions:
            health = {item.prefix: item for item in sessions.health()}
            assert health["none"].state == "down"
            assert "token" in health["none"].why
            assert "set BENCH_NO_TOKEN" in health["unset"].why


async def test_a_fetched_token_is_kept_until_shortly_before_its_end(wire: Any) -> None:
    with (
        wire.http(wire.RAW) as (issuer, _issuing),
        wire.http(wire.BENCH, BENCH_TOKENS="oauth-1=robot,oauth-2=other") as (port, _serving),
    ):
        await wire.listening(issuer)
        await wire.listening(port)
        oauth = OAuthConfig(token_url=f"http://127.0.0.1:{issuer}/token", client_id="deskhand", secret_env="PATH")
        async with wire.connected(shop=ServerConfig(url=f"http://127.0.0.1:{port}/mcp", oauth=oauth)) as sessions:
            for _call in range(2):
                assert (await wire.call(sessions, "shop", "whoami")).text == "robot -"


async def test_a_failing_token_endpoint_is_named_as_the_reason(wire: Any) -> None:
    oauth = OAuthConfig(token_url=f"http://127.0.0.1:{wire.free_port()}/token", client_id="deskhand", secret_env="PATH")
    config = ServerConfig(url=f"http://127.0.0.1:{wire.free_port()}/mcp", oauth=oauth)
    async with wire.connected(shop=config) as sessions:
        assert "no token from" in sessions.health()[0].why
