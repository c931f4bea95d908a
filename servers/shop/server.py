"""Builds the shop's MCP server: five tools, six policies, cache hints, sealed requestState.

Refuses to know transports; __main__.py runs it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import RequestStateSecurity
from mcp.server.mcpserver.resources import TextResource
from mcp.types import Annotations, ToolAnnotations
from pydantic import AnyHttpUrl

from servers.shop.auth import SCOPE, TokenFile
from servers.shop.client import ShopApi
from servers.shop.refunding import issue_refund
from servers.shop.seed import DATA
from servers.shop.settings import STATE_TTL_SECONDS
from servers.shop.tools import check_stock, find_orders, get_order_status, quote_refund

NAME = "kitchen-and-garden-shop"
VERSION = "1.0.0"
HOUR_MS = 3_600_000
POLICIES = ("refund", "returns", "shipping", "stock", "escalation", "data-handling")

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_QUOTES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_PAYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)


@dataclass(frozen=True)
class HttpAuth:
    """Bearer tokens for the HTTP transport, and the URL this server is reached at."""

    tokens: TokenFile
    url: str


def build_server(api: ShopApi, key: bytes, auth: HttpAuth | None = None) -> MCPServer[ShopApi]:
    """The server in front of `api`; `key` seals requestState over restarts (spec S6)."""
    hint = CacheHint(ttl_ms=HOUR_MS, scope="public")
    server: MCPServer[ShopApi] = MCPServer(
        NAME,
        title="Kitchen and garden shop",
        version=VERSION,
        instructions="Answers about the orders of one ticket's customer. Amounts are in euros.",
        lifespan=_lifespan(api),
        cache_hints={"tools/list": hint, "resources/list": hint, "resources/read": hint},
        request_state_security=RequestStateSecurity(keys=[key], ttl=STATE_TTL_SECONDS),
        token_verifier=auth.tokens if auth else None,
        auth=_auth_settings(auth.url) if auth else None,
        log_level="WARNING",
    )
    server.add_tool(find_orders, title="Find orders", annotations=_READS)
    server.add_tool(get_order_status, title="Get order status", annotations=_READS)
    server.add_tool(check_stock, title="Check stock", annotations=_READS)
    server.add_tool(quote_refund, title="Quote a refund", annotations=_QUOTES)
    server.add_tool(issue_refund, title="Issue a refund", annotations=_PAYS)
    for name in POLICIES:
        server.add_resource(_policy(name))
    return server


def _lifespan(api: ShopApi) -> Callable[[MCPServer[ShopApi]], AbstractAsyncContextManager[ShopApi]]:
    @asynccontextmanager
    async def lifespan(_server: MCPServer[ShopApi]) -> AsyncIterator[ShopApi]:
        yield api

    return lifespan


def _auth_settings(url: str) -> AuthSettings:
    return AuthSettings(
        issuer_url=AnyHttpUrl(url),
        resource_server_url=AnyHttpUrl(url),
        required_scopes=[SCOPE],
        validate_token_resource=False,  # the tokens of a file name no resource
    )


def _policy(name: str) -> TextResource:
    return TextResource(
        uri=f"shop://policies/{name}",
        name=f"{name}-policy",
        title=f"{name.replace('-', ' ').capitalize()} policy",
        mime_type="text/markdown",
        annotations=Annotations(audience=["assistant"], priority=1.0 if name == "refund" else 0.5),
        text=(DATA / "policies" / f"{name}.md").read_text(encoding="utf-8"),
    )
