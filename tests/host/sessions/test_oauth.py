"""OAuth client credentials: fetched once, renewed in time, had anew after a 401, found through the metadata (spec H3)."""

import logging
from base64 import b64encode
from pathlib import Path
from typing import Any

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from host.config import OAuthConfig, ServerConfig
from host.errors import Unavailable
from host.transports import HttpClients

pytestmark = pytest.mark.anyio

SECRET = "s3cret/4711"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_CLIENT_SECRET", SECRET)


def guarded(port: int, path: str = "/guard/mcp", **oauth: Any) -> ServerConfig:
    given = {"client_id": "deskhand", "secret_env": "DESK_CLIENT_SECRET", "token_url": f"http://127.0.0.1:{port}/token", **oauth}
    return ServerConfig(url=f"http://127.0.0.1:{port}{path}", oauth=OAuthConfig(**given))


async def test_a_token_is_fetched_once_for_many_calls(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=guarded(port, scope="tickets")) as sessions, anyio.create_task_group() as tasks:
            for _call in range(5):
                tasks.start_soon(wire.call, sessions, "web", "plain")
    fetched = [entry for entry in wire.entries(log) if entry["method"] == "token"]
    assert [entry["form"] for entry in fetched] == [{"grant_type": "client_credentials", "scope": "tickets"}]
    assert fetched[0]["authorization"] == "Basic " + b64encode(b"deskhand:s3cret%2F4711").decode()
    calls = [entry for entry in wire.entries(log) if entry["method"] == "tools/call"]
    assert {entry["authorization"] for entry in calls} == {"Bearer oauth-1"}
    ids = [entry["id"] for entry in wire.entries(log) if entry["method"].startswith(("tools", "server"))]
    assert len(ids) == len(set(ids)) > 5


async def test_a_token_is_renewed_before_its_end(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        short = guarded(port, token_url=f"http://127.0.0.1:{port}/token/1")
        async with wire.connected(web=short) as sessions:
            with anyio.fail_after(20):
                while wire.methods(log).count("token") < 3:
                    assert (await wire.call(sessions, "web", "plain")).text == "as text"
    assert not [entry for entry in wire.entries(log) if entry["method"] == "tools/call" and not entry["authorization"]]


async def test_a_token_that_is_refused_is_had_anew_and_the_call_sent_once_more(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=guarded(port)) as sessions:
            await wire.call(sessions, "web", "revoke")
            assert (await wire.call(sessions, "web", "plain")).text == "as text"
            assert sessions.health()[0].state == "connected"
    calls = [entry for entry in wire.entries(log) if entry["method"] == "tools/call" and entry["name"] == "plain"]
    assert [entry["authorization"] for entry in calls] == ["Bearer oauth-1", "Bearer oauth-2"]
    assert calls[0]["id"] != calls[1]["id"]


async def test_a_server_that_refuses_every_token_is_asked_twice_and_no_more(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=guarded(port, path="/status/401/mcp")) as sessions:
            with pytest.raises(Unavailable, match="HTTP 401"):
                await wire.call(sessions, "web", "plain", retry_reads=True)
    assert wire.methods(log).count("tools/call") == 2


async def test_a_revoked_token_at_the_start_is_had_anew_too(wire: Any) -> None:
    with wire.http(wire.RAW) as (port, _process):
        await wire.listening(port)
        async with wire.connected(web=guarded(port)) as sessions:
            await wire.call(sessions, "web", "revoke")
            assert "plain" in {tool.name for tool in await sessions.list_tools("web")}
            assert "plain" in {tool.name for tool in await sessions.list_tools("web")}


async def test_the_token_endpoint_is_found_where_the_servers_metadata_leads(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        async with wire.connected(
            web=guarded(port, token_url="", issuer=f"http://127.0.0.1:{port}/as", method="client_secret_post")
        ) as sessions:
            assert (await wire.call(sessions, "web", "plain")).text == "as text"
        places = [method for method in wire.methods(log) if method.startswith("GET")]
        assert places[:3] == ["GET /guard/mcp", "GET /about/guard", "GET /.well-known/oauth-authorization-server/as"]
        form = next(entry["form"] for entry in wire.entries(log) if entry["method"] == "token")
        assert form == {
            "grant_type": "client_credentials",
            "client_id": "deskhand",
            "client_secret": SECRET,
            "resource": f"http://127.0.0.1:{port}/guard/mcp",
        }


@pytest.mark.parametrize("kind", ["P-256", "RSA"])
async def test_a_client_proves_itself_with_a_signed_assertion_for_the_issuer(wire: Any, tmp_path: Path, kind: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "P-256" else rsa.generate_private_key(65537, 2048)
    key_file, log = tmp_path / "key.pem", tmp_path / "log"
    key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with wire.http(wire.RAW, RAW_LOG=str(log)) as (port, _process):
        await wire.listening(port)
        issuer = f"http://127.0.0.1:{port}/as"
        config = guarded(port, token_url="", issuer=issuer, method="private_key_jwt", key_file=str(key_file), secret_env="")
        async with wire.connected(web=config) as sessions:
            assert (await wire.call(sessions, "web", "plain")).text == "as text"
        form = next(entry["form"] for entry in wire.entries(log) if entry["method"] == "token")
        assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        algorithms = ["ES256" if kind == "P-256" else "RS256"]
        said = jwt.decode(form["client_assertion"], key.public_key(), algorithms=algorithms, audience=issuer)
        assert (said["iss"], said["sub"]) == ("deskhand", "deskhand")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"token_url": "", "issuer": "{here}/as", "path": "/liar/mcp"}, "its metadata is for https://other.example.com/mcp"),
        ({"token_url": "", "issuer": "{here}/as", "path": "/nowhere/mcp"}, "it names no authorization server; set token_url"),
        (
            {"token_url": "", "issuer": "https://issuer.example.com"},
            "and https://issuer.example.com is configured; no secret is sent",
        ),
        ({"token_url": "{here}/token/refuses"}, "HTTP 400; check client_id and its secret"),
        ({"secret_env": "DESK_NO_SECRET"}, "set DESK_NO_SECRET"),
        ({"method": "private_key_jwt", "key_file": "{tmp}/none.pem"}, "none.pem can't be read"),
        ({"method": "private_key_jwt", "key_file": "{tmp}/bad.pem"}, "bad.pem holds no private key in PEM"),
    ],
)
async def test_why_there_is_no_token_is_said_and_no_secret_with_it(
    wire: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, more: dict[str, str], words: str
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "bad.pem").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with wire.http(wire.RAW) as (port, _process):
        await wire.listening(port)
        given = {key: value.format(here=f"http://127.0.0.1:{port}", tmp=tmp_path) for key, value in more.items()}
        async with wire.connected(web=guarded(port, **given)) as sessions:
            health = sessions.health()[0]
            assert health.state == "down"
            assert words in health.why
            with pytest.raises(Unavailable):
                await wire.call(sessions, "web", "plain")
    assert SECRET not in caplog.text + health.why


async def test_a_client_whose_token_is_another_one_now_is_closed_once_nobody_uses_it() -> None:
    clients = HttpClients()
    async with clients.using("service", "one") as first:
        async with clients.using("service", "two") as second, clients.using("staff-0007", "seven") as third:
            assert len({first, second, third}) == 3
            assert not first.is_closed
        assert not first.is_closed
    assert first.is_closed
    assert not second.is_closed
    for number in range(20):
        async with clients.using("service", f"token-{number}"):
            pass
    assert len(clients) == 2
    assert second.is_closed
    await clients.aclose()
    assert third.is_closed
