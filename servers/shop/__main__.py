"""`python -m servers.shop api|mcp`: the process edge of the shop. Logs go to stderr, and only what went wrong.

python -m servers.shop api --database PATH --port N
python -m servers.shop mcp (--database PATH | --api URL) [--http --port N]

Over HTTP, port 0 takes any free one, and one line on stdout says `listening on http://127.0.0.1:PORT`.

Environment:
SHOP_DATABASE, SHOP_API  stand in for --database and --api
SHOP_TODAY               the shop's fixed day; default 2026-06-02, the day of the seed data; `system` for the real one
SHOP_QUOTE_SEED          makes quote ids repeatable: hashed from it, the order and the n-th quote of that order
SHOP_STATE_KEY           seals requestState, 32 bytes or more; default: a random key kept beside the database file
SHOP_TOKENS_FILE         bearer tokens for --http: {"<token>": {"subject": "staff-0007", "tickets": "*" or a list}}
"""

import argparse
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from sqlalchemy.exc import SQLAlchemyError

from servers.shop.api import build_api
from servers.shop.auth import TokenFile
from servers.shop.client import ShopApi
from servers.shop.listening import LOOPBACK, PortTaken, bound_socket, serve
from servers.shop.server import HttpAuth, build_server
from servers.shop.settings import SettingsError, shop_settings, state_key

_AsWritten = argparse.RawDescriptionHelpFormatter


def main() -> int:
    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="shop: %(levelname)s %(name)s: %(message)s")
    try:
        if arguments.role == "api":
            app = build_api(shop_settings(arguments.database, os.environ))
            anyio.run(serve, app, bound_socket(arguments.port))
        else:
            anyio.run(_serve_mcp, arguments)
    except (SettingsError, PortTaken) as error:
        print(f"shop: {error}", file=sys.stderr)
        return 2
    except SQLAlchemyError as error:
        print(f"shop: the database can't be used ({type(error).__name__}): check the path given", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m servers.shop", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    roles = parser.add_subparsers(dest="role", required=True)
    api = roles.add_parser("api", help="the HTTP API over the database")
    api.add_argument("--database", help="SQLite file, created and seeded when empty (or SHOP_DATABASE)")
    api.add_argument("--port", type=int, required=True)
    mcp = roles.add_parser("mcp", help="the MCP server, over stdio unless --http is given")
    mcp.add_argument("--database", help="mount the API over this file in the same process (or SHOP_DATABASE)")
    mcp.add_argument("--api", help="reach the API at this URL instead (or SHOP_API)")
    mcp.add_argument("--http", action="store_true", help="Streamable HTTP at http://127.0.0.1:PORT/mcp")
    mcp.add_argument("--port", type=int, default=8931)
    return parser


async def _serve_mcp(arguments: argparse.Namespace) -> None:
    async with _api(arguments) as api:
        key = state_key(arguments.database, os.environ)
        if not arguments.http:
            await build_server(api, key).run_stdio_async()
            return
        tokens, sock = os.environ.get("SHOP_TOKENS_FILE"), bound_socket(arguments.port)
        url = f"http://{LOOPBACK}:{sock.getsockname()[1]}"
        server = build_server(api, key, HttpAuth(TokenFile(Path(tokens)), url) if tokens else None)
        await serve(server.streamable_http_app(host=LOOPBACK), sock)


@asynccontextmanager
async def _api(arguments: argparse.Namespace) -> AsyncIterator[ShopApi]:
    """The API at --api or SHOP_API, else the same app in this process, spoken to in HTTP all the same."""
    url = arguments.api or (None if arguments.database else os.environ.get("SHOP_API"))
    if url:
        transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport()
    else:
        app = build_api(shop_settings(arguments.database, os.environ))
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=url or "http://shop", timeout=30.0) as http:
        yield ShopApi(http)


if __name__ == "__main__":
    sys.exit(main())
