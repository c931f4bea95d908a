"""The four tools that look things up or quote; refunding.py holds the one that makes a refund.

Each speaks to the HTTP API through `ShopApi` and refuses to know the database. Descriptions show no id that could
exist: a reader must never take an example for a value (spec S4).
"""

from collections.abc import Awaitable
from typing import Annotated, Any, TypeVar

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import INTERNAL_ERROR
from pydantic import Field

from servers.shop.caller import caller_of
from servers.shop.client import ApiUnreachable, ShopApi
from servers.shop.errors import ShopError
from servers.shop.shapes import OrderList, OrderStatus, QuoteRequest, QuoteView, StockList

Answer = TypeVar("Answer")
ShopContext = Context[ShopApi, Any]


async def answered(call: Awaitable[Answer]) -> Answer:
    """The API's answer; its refusal as a tool error in its words; no answer as a protocol error, outcome unknown."""
    try:
        return await call
    except ShopError as error:
        raise ToolError(error.words) from error
    except ApiUnreachable as error:
        raise MCPError(INTERNAL_ERROR, f"the shop's API did not answer ({error}); the outcome is not known") from error


def api_of(ctx: ShopContext) -> ShopApi:
    return ctx.request_context.lifespan_context


async def find_orders(
    ctx: ShopContext,
    query: Annotated[
        str | None,
        Field(description="Optional: product words in English, a month, or an order number as the customer wrote it"),
    ] = None,
) -> OrderList:
    """Find the orders of this ticket's customer. Forgives typing errors; without a query it lists all of them."""
    return await answered(api_of(ctx).find_orders(caller_of(ctx).ticket_id, query))


async def get_order_status(
    ctx: ShopContext,
    order_id: Annotated[str, Field(description="The order's id, in the form O-<four digits>")],
) -> OrderStatus:
    """Get one order of this customer: status, dates, tracking number, lines, and the refunds already made for it."""
    return await answered(api_of(ctx).order_status(caller_of(ctx).ticket_id, order_id))


async def check_stock(
    ctx: ShopContext,
    sku: Annotated[str | None, Field(description="The product's SKU, in the form KG-<four digits>")] = None,
    query: Annotated[str | None, Field(description="Product words in English, when no SKU is known")] = None,
) -> StockList:
    """Check price, pieces in stock and next delivery date of a product, by SKU or by product words."""
    return await answered(api_of(ctx).stock(sku, query))


async def quote_refund(
    ctx: ShopContext,
    order_id: Annotated[str, Field(description="The order's id, in the form O-<four digits>")],
    sku: Annotated[
        str | None, Field(description="Only for one line of the order: its SKU. Leave out for the whole order")
    ] = None,
    reason: Annotated[str | None, Field(description="Why, in the customer's words")] = None,
) -> QuoteView:
    """Work out what a refund of an order would come to, line by line. Pays nothing; every refund starts with it."""
    wanted = QuoteRequest(order_id=order_id, sku=sku, reason=reason)
    return await answered(api_of(ctx).quote(caller_of(ctx).ticket_id, wanted))
