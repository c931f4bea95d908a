"""A fresh database per test, a connected client, and calls that name their ticket as a caller does."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, InputRequiredResult

TICKET = "shop.example/ticket_id"
ACTING = "shop.example/acting"

Answer = CallToolResult | InputRequiredResult
Call = Callable[..., Awaitable[Answer]]


async def _never(_ctx: ClientRequestContext, _params: ElicitRequestParams) -> ElicitResult:
    raise AssertionError("questions are driven by hand here")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "shop.sqlite"


@pytest.fixture
def connected() -> Callable[[Any], AbstractAsyncContextManager[Call]]:
    """`async with connected(target) as call: await call("find_orders", {...}, "T-0009", acting="staff-0007")`."""

    @asynccontextmanager
    async def connect(target: Any) -> AsyncIterator[Call]:
        with anyio.fail_after(60):
            async with Client(target, elicitation_callback=_never, read_timeout_seconds=20) as client:
                await client.list_tools()

                async def call(tool: str, arguments: dict[str, Any], ticket: str | None, acting: str = "staff-0007", **more: Any):
                    meta = {ACTING: acting} | ({TICKET: ticket} if ticket else {})
                    return await client.session.call_tool(tool, arguments, meta=meta, allow_input_required=True, **more)

                yield call

    return connect


@pytest.fixture
def shop(over_stdio: Callable[..., StdioServerParameters], database: Path) -> Callable[..., StdioServerParameters]:
    """The shop over stdio on this test's database."""

    def parameters(**env: str) -> StdioServerParameters:
        return over_stdio("servers.shop", "mcp", "--database", str(database), env=env)

    return parameters
