"""The shop's HTTP API: JSON in, JSON out, over Records and Ledger. Served on loopback only.

Errors are `{"code", "error"}` with the words that say what to do next. Refuses to know MCP. Everything a ticket
needs lies below `/tickets/{ticket_id}/`: there the customer is the ticket's own (spec H10).

    GET  /tickets                                  TicketView[]
    POST /tickets                                  NewTicket → TicketView (201)
    GET  /tickets/{ticket_id}                      TicketView
    GET  /tickets/{ticket_id}/orders?query=        OrderList
    GET  /tickets/{ticket_id}/orders/{order_id}    OrderStatus
    POST /tickets/{ticket_id}/quotes               QuoteRequest → QuoteView (201)
    POST /tickets/{ticket_id}/refunds              RefundRequest → RefundView
    GET  /products?sku=&query=                     StockList
    GET  /customers   /quotes   /refunds           CustomerView[]   QuoteView[]   RefundRow[]
    POST /refunds/{refund_id}/release              ReleaseRequest → RefundView
    GET  /stats                                    counts: {"tickets", "customers", "quotes", "refunds": {status: n}}
"""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from servers.shop.errors import ShopError
from servers.shop.ledger import Ledger
from servers.shop.records import Records
from servers.shop.seed import seed_when_empty
from servers.shop.settings import ShopSettings
from servers.shop.shapes import NewTicket, Problem, QuoteRequest, RefundRequest, ReleaseRequest
from servers.shop.tables import open_engine

Body = TypeVar("Body", bound=BaseModel)


def build_api(settings: ShopSettings) -> Starlette:
    """The API over `settings.database`, which is created and seeded when empty."""
    engine = open_engine(settings.database)
    seed_when_empty(engine)
    endpoints = _Endpoints(Records(engine, settings), Ledger(engine, settings))
    return Starlette(
        routes=endpoints.routes(),
        exception_handlers={ShopError: _refuse},
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "shop"]),
            Middleware(_NoBrowsers),
        ],
    )


class _Endpoints:
    """Plain `def` endpoints run on Starlette's worker threads: SQLite blocks, the event loop must not."""

    def __init__(self, records: Records, ledger: Ledger) -> None:
        self._records = records
        self._ledger = ledger

    def routes(self) -> list[Route]:
        return [
            Route("/tickets", self.tickets),
            Route("/tickets", self.add_ticket, methods=["POST"]),
            Route("/tickets/{ticket_id}", self.ticket),
            Route("/tickets/{ticket_id}/orders", self.orders),
            Route("/tickets/{ticket_id}/orders/{order_id}", self.order),
            Route("/tickets/{ticket_id}/quotes", self.quote, methods=["POST"]),
            Route("/tickets/{ticket_id}/refunds", self.refund, methods=["POST"]),
            Route("/products", self.products),
            Route("/customers", self.customers),
            Route("/quotes", self.quotes),
            Route("/refunds", self.refunds),
            Route("/refunds/{refund_id}/release", self.release, methods=["POST"]),
            Route("/stats", self.stats),
        ]

    def tickets(self, _request: Request) -> Response:
        return _listed(self._records.tickets())

    def ticket(self, request: Request) -> Response:
        return _one(self._records.ticket(request.path_params["ticket_id"]))

    async def add_ticket(self, request: Request) -> Response:
        new = await _body(request, NewTicket)
        return _one(await run_in_threadpool(self._records.add_ticket, new), 201)

    def orders(self, request: Request) -> Response:
        return _one(self._records.find_orders(request.path_params["ticket_id"], request.query_params.get("query")))

    def order(self, request: Request) -> Response:
        return _one(self._records.order_status(request.path_params["ticket_id"], request.path_params["order_id"]))

    async def quote(self, request: Request) -> Response:
        wanted = await _body(request, QuoteRequest)
        return _one(await run_in_threadpool(self._ledger.quote, request.path_params["ticket_id"], wanted), 201)

    async def refund(self, request: Request) -> Response:
        wanted = await _body(request, RefundRequest)
        return _one(await run_in_threadpool(self._ledger.refund, request.path_params["ticket_id"], wanted))

    def products(self, request: Request) -> Response:
        return _one(self._records.stock(request.query_params.get("sku"), request.query_params.get("query")))

    def customers(self, _request: Request) -> Response:
        return _listed(self._records.customers())

    def quotes(self, _request: Request) -> Response:
        return _listed(self._ledger.quotes())

    def refunds(self, _request: Request) -> Response:
        return _listed(self._ledger.refunds())

    async def release(self, request: Request) -> Response:
        asked = await _body(request, ReleaseRequest)
        return _one(await run_in_threadpool(self._ledger.release, request.path_params["refund_id"], asked.acting))

    def stats(self, _request: Request) -> Response:
        refunds = Counter(row.status for row in self._ledger.refunds())
        return JSONResponse(
            {
                "tickets": len(self._records.tickets()),
                "customers": len(self._records.customers()),
                "quotes": len(self._ledger.quotes()),
                "refunds": {status: refunds[status] for status in ("held", "requested", "paid")},
            }
        )


class _NoBrowsers:
    """A page open on the same machine could post here without being asked; programs send no Origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and any(name == b"origin" for name, _ in scope["headers"]):
            app = _one(Problem(code="no_browsers", error="this API answers programs only: send no Origin"), 403)
        await app(scope, receive, send)


async def _body(request: Request, shape: type[Body]) -> Body:
    try:
        return shape.model_validate_json(await request.body() or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        raise ShopError(422, "unreadable", f"{where}: {first['msg']}") from None


def _one(view: BaseModel, status: int = 200) -> Response:
    return JSONResponse(view.model_dump(mode="json", by_alias=True), status)


def _listed(views: Sequence[BaseModel]) -> Response:
    return JSONResponse([view.model_dump(mode="json", by_alias=True) for view in views])


def _refuse(_request: Request, error: Exception) -> Response:
    if not isinstance(error, ShopError):
        raise error
    return _one(Problem(code=error.code, error=error.words), error.status)
