"""A server with one tool for each thing a host must survive. `python bench.py [--http PORT]`; state lives in $BENCH_DIR."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import anyio
import uvicorn
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, RequestStateSecurity, Resolve
from mcp.types import Annotations, CallToolResult, TextContent
from pydantic import BaseModel, Field

KEY = os.environ.get("BENCH_KEY", "k" * 32)
TOKENS = dict(pair.split("=") for pair in os.environ.get("BENCH_TOKENS", "").split(",") if pair)


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        if token not in TOKENS:
            return None
        return AccessToken(token=token, client_id="deskhand", scopes=[], subject=TOKENS[token])


AUTH: dict[str, Any] = (
    {
        "token_verifier": Verifier(),
        "auth": AuthSettings(
            issuer_url="http://127.0.0.1:1/", resource_server_url="http://127.0.0.1:1/mcp", validate_token_resource=False
        ),
    }
    if TOKENS
    else {}
)
mcp = MCPServer(
    "Bench",
    version=os.environ.get("BENCH_VERSION", "1.0"),
    request_state_security=RequestStateSecurity(keys=[KEY], ttl=86400),
    cache_hints={"resources/read": CacheHint(ttl_ms=3_600_000, scope="private")},
    **AUTH,
)


class Sum(BaseModel):
    total: int


class Release(BaseModel):
    release: bool


@mcp.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(total=a + b)


@mcp.tool()
def whoami(ctx: Context) -> str:
    """Who acts, and with which ticket."""
    token = get_access_token()
    meta = ctx.request_context.meta or {}
    return f"{token.subject if token else 'nobody'} {meta.get('bench.example/ticket', '-')}"


@mcp.tool()
def regional(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Wants its argument in a header too."""
    return region


@mcp.tool()
def crash() -> str:
    """Breaks off in the middle."""
    raise MCPError(-32603, "the database did not answer")


@mcp.tool()
async def slow(seconds: float) -> str:
    """Takes its time."""
    await anyio.sleep(seconds)
    return "done"


@mcp.tool()
def stop(code: int = 1) -> str:
    """Ends the process in the middle of a call."""
    os._exit(code)


@mcp.tool()
def stop_once() -> str:
    """Ends the process the first time it is called, answers the second time."""
    marker = Path(os.environ["BENCH_DIR"]) / "stopped-once"
    if marker.exists():
        return "still here"
    marker.touch()
    os._exit(1)


@mcp.tool()
async def hang() -> str:
    """Blocks the whole process: nothing is read or answered any more."""
    while True:
        time.sleep(1)  # noqa: ASYNC251  blocking the loop is the point


async def ask_release(order: str) -> Elicit[Release]:
    return Elicit(f"Release {order}?", Release)


@mcp.tool()
async def release(order: str, answer: Annotated[ElicitationResult[Release], Resolve(ask_release)]) -> str:
    """Asks before it releases."""
    if isinstance(answer, AcceptedElicitation):
        return f"{order} released: {answer.data.release}"
    return f"{order} held: {answer.action}"


@mcp.tool(structured_output=False)
def declined() -> CallToolResult:
    """Says two things at once."""
    return CallToolResult(content=[TextContent(text="card declined")], structured_content={"ok": True}, is_error=True)


@mcp.tool()
def broken_promise() -> Annotated[CallToolResult, Sum]:
    """Breaks its own output schema."""
    return CallToolResult(content=[TextContent(text="x")], structured_content={"total": "many"})


@mcp.tool()
def flood() -> str:
    """Answers with too much."""
    return "x" * 300_000


@mcp.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool while it runs."""
    mcp.add_tool(grown, name="grown", description="New since.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


def grown() -> str:
    return "new"


@mcp.resource(
    "bench://terms", name="terms", mime_type="text/plain", annotations=Annotations(audience=["assistant"], priority=1.0)
)
def terms() -> str:
    """The terms."""
    return "Returns within 30 days."


@mcp.resource(
    "bench://minor", name="minor", mime_type="text/plain", annotations=Annotations(audience=["assistant"], priority=0.5)
)
def minor() -> str:
    """Less important."""
    return "Stock is counted on Mondays."


def noting(app: Any, log: Any) -> Any:
    """The same app, with every message that it is sent as a line in `log`."""

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        async def received() -> Any:
            message = await receive()
            if message.get("body"):
                log.write(message["body"] + b"\n")
            return message

        await app(scope, received, send)

    return noted


if __name__ == "__main__":
    if "--http" in sys.argv:
        with open(os.environ.get("BENCH_LOG", os.devnull), "ab", buffering=0) as log:
            app = noting(mcp.streamable_http_app(), log)
            uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[sys.argv.index("--http") + 1]), log_level="warning")
    else:
        mcp.run()
