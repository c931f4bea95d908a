"""`python -m servers.partner [--http --port N] [--variant NAME] [--state FILE]`: the partner's process edge.

Environment: PARTNER_STATE (as --state), PARTNER_TODAY (a date, default 2026-06-02).
"""

import argparse
import logging
import os
import sys
from datetime import date
from pathlib import Path

import anyio

from servers.partner.listening import LOOPBACK, PortTaken, bound_socket, serve
from servers.partner.variants import VARIANTS, PartnerSettings

DEFAULT_DAY = "2026-06-02"


_AsWritten = argparse.RawDescriptionHelpFormatter


def main() -> int:
    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="partner: %(levelname)s %(name)s: %(message)s")
    try:
        today = date.fromisoformat(os.environ.get("PARTNER_TODAY", DEFAULT_DAY))
    except ValueError:
        print("partner: PARTNER_TODAY is no date: write it as 2026-06-02", file=sys.stderr)
        return 2
    state = arguments.state or os.environ.get("PARTNER_STATE")
    settings = PartnerSettings(today, Path(state) if state else None, arguments.delay, arguments.flood)
    server = VARIANTS[arguments.variant](settings)
    try:
        if arguments.http:
            anyio.run(serve, server.streamable_http_app(host=LOOPBACK), bound_socket(arguments.port))
        else:
            anyio.run(server.run_stdio_async)
    except PortTaken as error:
        print(f"partner: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m servers.partner", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="clean")
    parser.add_argument("--http", action="store_true", help="Streamable HTTP at http://127.0.0.1:PORT/mcp, else stdio")
    parser.add_argument("--port", type=int, default=8932)
    parser.add_argument("--state", help="file in which drifting and dying remember (or PARTNER_STATE)")
    parser.add_argument("--delay", type=float, default=30.0, help="slow: seconds before an answer")
    parser.add_argument("--flood", type=int, default=3_000_000, help="flooding: bytes of the result")
    return parser


if __name__ == "__main__":
    sys.exit(main())
