"""The MCP server's side of the shop's HTTP API, over a URL or over the same app mounted in this process.

Refuses to know the database and MCP. An answer of the API that isn't a success becomes a `ShopError` with its words;
no answer at all becomes `ApiUnreachable`, after which nothing is known about a write.
"""

from typing import Any, TypeVar
from urllib.parse import quote as escaped

import httpx2
from pydantic import BaseModel

from servers.shop.errors import ShopError
from servers.shop.shapes import (
    OrderList,
    OrderStatus,
    Problem,
    QuoteRequest,
    QuoteView,
    RefundRequest,
    RefundView,
    ReleaseRequest,
    StockList,
    TicketView,
)

View = TypeVar("View", bound=BaseModel)


class ApiUnreachable(Exception):
    """The shop's API gave no answer."""


class ShopApi:
    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def ticket(self, ticket_id: str) -> TicketView:
        return await self._get(f"/tickets/{escaped(ticket_id, safe='')}", TicketView)

    async def find_orders(self, ticket_id: str, query: str | None) -> OrderList:
        return await self._get(f"{_under(ticket_id)}/orders", OrderList, query=query)

    async def order_status(self, ticket_id: str, order_id: str) -> OrderStatus:
        return await self._get(f"{_under(ticket_id)}/orders/{escaped(order_id, safe='')}", OrderStatus)

    async def stock(self, sku: str | None, query: str | None) -> StockList:
        return await self._get("/products", StockList, sku=sku, query=query)

    async def quote(self, ticket_id: str, wanted: QuoteRequest) -> QuoteView:
        return await self._post(f"{_under(ticket_id)}/quotes", wanted, QuoteView)

    async def refund(self, ticket_id: str, wanted: RefundRequest) -> RefundView:
        return await self._post(f"{_under(ticket_id)}/refunds", wanted, RefundView)

    async def release(self, refund_id: str, acting: str | None) -> RefundView:
        return await self._post(f"/refunds/{refund_id}/release", ReleaseRequest(acting=acting), RefundView)

    async def _get(self, path: str, shape: type[View], **query: str | None) -> View:
        given = {key: value for key, value in query.items() if value is not None}
        return await self._send("GET", path, shape, params=given)

    async def _post(self, path: str, body: BaseModel, shape: type[View]) -> View:
        return await self._send("POST", path, shape, json=body.model_dump(mode="json"))

    async def _send(self, method: str, path: str, shape: type[View], **what: Any) -> View:
        try:
            response = await self._http.request(method, path, **what)
        except httpx2.TransportError as error:
            raise ApiUnreachable(type(error).__name__) from error
        if response.is_success:
            return shape.model_validate_json(response.content)
        if response.is_server_error:
            raise ApiUnreachable(f"HTTP {response.status_code}")
        problem = Problem.model_validate_json(response.content)
        raise ShopError(response.status_code, problem.code, problem.error)


def _under(ticket_id: str) -> str:
    return f"/tickets/{escaped(ticket_id, safe='')}"
